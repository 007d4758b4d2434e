import { setTimeout as sleep } from 'node:timers/promises';
import { at, type JsonObject } from '../simulator/kubernetes/objects.ts';
import { cpuMs, memoryOf } from './processes.ts';
import type { Measured, Plan } from './scenario.ts';
import { openWorld, type World } from './world.ts';

const NODES = 1_000;
const PODS = 5_000;
const BYTES = 8 * 1024;
const FEW = 100;
const ADDRESSES = 10;
const MB = 1e6;

/** Resident memory of the operator with an empty cluster, and with a large one of which all or a tenth of the nodes match. */
export async function memory(plan: Plan): Promise<Measured> {
  const restMs = plan.extent === 'full' ? 60_000 : 10_000;
  const empty = await weigh(plan, restMs, null);
  const all = await weigh(plan, restMs, { nodeLabel: 'pool=work', podNamespace: 'default', podLabel: 'app=ingress' }, NODES);
  const few = await weigh(plan, restMs, { nodeLabel: 'few=yes', podNamespace: 'default', podLabel: 'few=yes' }, FEW);
  const megabytes = (what: string, bytes: number, atMost?: number) =>
    ({ what, value: bytes / MB, unit: 'MB', ...(atMost !== undefined && { target: { atMost } }) }) as const;
  return {
    conditions: [
      `${NODES} nodes and ${PODS} pods of ${BYTES} bytes each, one pool with ${ADDRESSES} addresses; default flags, dashboards off; ${restMs / 1000} s after all were active`,
      `${FEW} matching: ${FEW} nodes bear the pool's label, and ${FEW} pods, one on each of them`,
    ],
    figures: [
      megabytes('RSS, empty cluster without a pool', empty.resident, 180),
      megabytes('RSS, all nodes and pods matching', all.resident, 260),
      megabytes('RSS, all matching, above empty', all.resident - empty.resident, 80),
      megabytes(`RSS, ${FEW} matching`, few.resident),
      megabytes(`RSS, ${FEW} matching, above empty`, few.resident - empty.resident, 30),
      megabytes('highest RSS, empty', empty.peak),
      megabytes('highest RSS, all matching', all.peak),
      megabytes(`highest RSS, ${FEW} matching`, few.peak),
      megabytes('RSS of Redis, empty', empty.redis.resident),
      megabytes('RSS of Redis, all matching', all.redis.resident),
      megabytes('highest RSS of Redis, all matching', all.redis.peak),
      { what: 'CPU of the operator at rest, of one core, all matching', value: all.cpu * 100, unit: '%' },
      { what: 'CPU of Redis at rest, of one core, all matching', value: all.redis.cpu * 100, unit: '%' },
    ],
  };
}

interface Weight extends ReturnType<typeof memoryOf> {
  /** Of one core, while it rests. */
  readonly cpu: number;
}

async function weigh(plan: Plan, restMs: number, match: JsonObject | null, matching = 0): Promise<Weight & { readonly redis: Weight }> {
  const world = await openWorld(plan);
  try {
    if (match !== null) furnish(world, match);
    const { pid } = await world.start();
    if (match !== null)
      await world.until('all addresses are active and the other nodes are spare', () => isServed(world, matching), 120_000);
    const pids = [pid, world.redisPid] as const;
    const before = pids.map(cpuMs);
    await sleep(restMs);
    const [operator, redis] = pids.map((each, index) => ({ ...memoryOf(each), cpu: (cpuMs(each) - (before[index] ?? 0)) / restMs }));
    if (!operator || !redis) throw new Error('nothing was weighed');
    return { ...operator, redis };
  } finally {
    await world.close();
  }
}

function furnish(world: World, match: JsonObject): void {
  for (let index = 0; index < NODES; index += 1) {
    world.addNode(`node-${index}`, { labels: { pool: 'work', ...(index < FEW && { few: 'yes' }) }, bytes: BYTES });
  }
  for (let index = 0; index < PODS; index += 1) {
    world.addPod(`pod-${index}`, {
      node: `node-${index % NODES}`,
      labels: { app: 'ingress', ...(index < FEW && { few: 'yes' }) },
      bytes: BYTES,
    });
  }
  const ips = world.addresses(
    ADDRESSES,
    Array.from({ length: ADDRESSES }, (_, index) => `node-${index}`),
  );
  world.pool('ingress', { ips: [...ips], match });
}

/** The premise: the operator has seen what it is to be weighed with. */
function isServed({ kubernetes, statuses }: World, matching: number): boolean {
  const pool = kubernetes.store.get({ apiVersion: 'flipop.digitalocean.com/v1alpha1', kind: 'FloatingIPPool', name: 'ingress' });
  const spare = at(pool, 'status', 'assignableNodes');
  return statuses.active().length === ADDRESSES && Array.isArray(spare) && spare.length === matching - ADDRESSES;
}
