import { join } from 'node:path';
import { watch } from '../demo/follow.ts';
import { now } from '../demo/time.ts';
import { at, type JsonObject } from '../simulator/kubernetes/objects.ts';
import { distribution } from './figures.ts';
import { cpuMs, residents } from './processes.ts';
import type { Measured, Plan } from './scenario.ts';
import { openWorld, type World } from './world.ts';

const CRDS = ['ipgroups.yaml', 'ips.yaml'].map((name) => join(import.meta.dirname, '../crds', name));
const SEGMENT = '10.0.0.0/16';
const LONGEST_MS = 600_000;
/** At once, and one after another. */
const SIZES = { full: [10_000, 200], round: [1_000, 50], quick: [500, 20] } as const;

/** How long Services of type LoadBalancer take to list an address: many that are there at once, then single ones. Everything but the cluster is real. */
export async function services(plan: Plan): Promise<Measured> {
  const [count, singles] = SIZES[plan.extent];
  const world = await openWorld(plan, { crds: CRDS });
  const listed = followListed(world);
  try {
    world.kubernetes.store.create({
      apiVersion: 'paas.org/v1',
      kind: 'IPGroup',
      metadata: { name: 'bench' },
      spec: { segment: SEGMENT, excludedIPs: [] },
    });
    const { pid } = await world.start(['--controllers=vip']);
    const before = cpuMs(pid);
    const startedAt = now();
    for (let index = 0; index < count; index += 1) wish(world, `many-${index}`);
    await world.until('all have an address', () => listed.at.size === count, LONGEST_MS);
    const seconds = (Math.max(...listed.at.values()) - startedAt) / 1000;
    const cpu = cpuMs(pid) - before;
    const took: number[] = [];
    for (let index = 0; index < singles; index += 1) {
      const [name, askedAt] = [`single-${index}`, now()];
      wish(world, name);
      took.push((await listed.of(name)) - askedAt);
    }
    const reserved = new Set(listed.addresses.values()).size;
    return {
      conditions: [`${count} Services at once, then ${singles} one after another; a group of ${SEGMENT}; default flags, one replica`],
      figures: [
        { what: 'until all list an address', value: seconds, unit: 's', target: { atMost: 60 } },
        { what: 'CPU of the operator for each', value: cpu / count, unit: 'ms' },
        ...distribution('a single one', took),
        { what: 'addresses given to two', value: count + singles - reserved, unit: '', target: { exactly: 0 } },
        ...residents({ pid, redisPid: world.redisPid }),
      ],
    };
  } finally {
    listed.close();
    await world.close();
  }
}

function wish({ kubernetes }: World, name: string): void {
  kubernetes.store.create({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'default' },
    spec: { type: 'LoadBalancer', selector: { app: name }, ports: [{ port: 80, protocol: 'TCP' }] },
  } as unknown as JsonObject);
}

/** When each Service was first seen with an address by a watch, ms since the epoch, and which. */
function followListed({ kubernetes }: World) {
  const seen = new Map<string, number>();
  const addresses = new Map<string, string>();
  const waiting = new Map<string, (at: number) => void>();
  const watching = watch(`${kubernetes.url}/api/v1/namespaces/default/services`, (_, service, seenAt) => {
    const name = service.metadata.name ?? '';
    const ingress = at(service, 'status', 'loadBalancer', 'ingress');
    const address = at(Array.isArray(ingress) ? ingress[0] : undefined, 'ip');
    if (typeof address !== 'string') return;
    addresses.set(name, address);
    if (seen.has(name)) return;
    seen.set(name, seenAt);
    waiting.get(name)?.(seenAt);
  });
  return {
    at: seen,
    addresses,
    of: (name: string): Promise<number> => {
      const known = seen.get(name);
      return known === undefined ? new Promise((resolve) => waiting.set(name, resolve)) : Promise.resolve(known);
    },
    close: watching.close,
  };
}
