import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { trimVipService } from '../../../../adapters/kubernetes/cache/trim-vip.ts';
import { refusal } from '../../../../adapters/kubernetes/client/api-error.ts';
import type { Connection } from '../../../../adapters/kubernetes/client/connection.ts';
import type { VipSourceOptions } from '../../../../adapters/kubernetes/source/vip-source.ts';
import { readDefinitions } from '../../../../simulator/kubernetes/definitions.ts';
import type { JsonObject } from '../../../../simulator/kubernetes/objects.ts';
import { VipRecorder } from '../../../contracts/vip-harness.ts';
import { VIP_CRDS, vipSourceOn } from '../../../contracts/vip-kubernetes.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { connected, recordedLog, simulated, watchesOf } from '../support.ts';

const API = 'paas.org/v1';

const service = (name: string, spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: 'default', ...metadata },
  spec: { type: 'LoadBalancer', ports: [{ port: 80 }], ...spec },
});

const group = (name: string): JsonObject => ({
  apiVersion: API,
  kind: 'IPGroup',
  metadata: { name },
  spec: { segment: '192.0.2.0/29', excludedIPs: [] },
});

const ip = (name: string): JsonObject => ({ apiVersion: API, kind: 'IP', metadata: { name } });

const serviceRef = (name: string) => ({ apiVersion: 'v1', kind: 'Service', namespace: 'default', name });

/** A cluster, and a source of it that was not started. */
const prepared = async (options: Partial<VipSourceOptions> & { readonly crds?: readonly string[] } = {}) => {
  const { crds = VIP_CRDS, ...more } = options;
  const simulator = await simulated({ crds });
  const log = recordedLog();
  const connection = connected(simulator.kubeconfig());
  const source = vipSourceOn(more.connection ?? connection, { log, ...more });
  return { simulator, connection, source, log, seen: new VipRecorder() };
};

const install = (simulator: Awaited<ReturnType<typeof prepared>>['simulator'], crds: readonly string[]): void => {
  for (const definition of readDefinitions(crds)) simulator.store.create(definition);
};

describe('a cluster without the definitions', () => {
  test('is not watched for Services, holds nobody up, and is joined when they are installed', async () => {
    const served: boolean[] = [];
    const { simulator, source, seen } = await prepared({ crds: [], served: (is) => void served.push(is) });
    simulator.store.create(service('web'));
    await source.start(seen);
    expect(seen.told).toEqual([]);
    expect(source.missing()).toEqual([]);
    expect(source.caches()).toEqual([]);
    expect(served).toEqual([false]);
    const [groups = '', ips = ''] = VIP_CRDS;
    install(simulator, [groups]);
    await waitFor('groups are watched', () => watchesOf(simulator, 'ipgroups') === 1);
    expect(watchesOf(simulator, 'services')).toBe(0);
    install(simulator, [ips]);
    simulator.store.create(group('a'));
    await waitFor('all is told', () => seen.synced === 1);
    expect([...seen.services.keys()]).toEqual(['web']);
    await waitFor('the group is told', () => seen.groups.has('a'));
    expect(served).toEqual([false, true]);
    expect(source.caches().map(({ kind, synced }) => `${kind} ${synced}`)).toEqual(['IP true', 'IPGroup true', 'Service true']);
  });
});

describe('a source that may not see something', () => {
  test.each(['services', 'ips'])('says so of %s, holds nobody up, and goes on when it may', async (plural) => {
    const simulator = await simulated({ crds: VIP_CRDS });
    const connection = connected(simulator.kubeconfig());
    let allowed = false;
    const list: Connection['list'] = (request, item) =>
      !allowed && request.path.endsWith(`/${plural}`)
        ? Promise.reject(refusal({ verb: 'list', path: request.path }, 403, 'User "operator" cannot do that'))
        : connection.list(request, item);
    const log = recordedLog();
    const source = vipSourceOn({ ...connection, list }, { log });
    const seen = new VipRecorder();
    simulator.store.create(service('web'));
    await source.start(seen);
    expect(seen.synced).toBe(0);
    expect(source.missing()).toEqual([expect.stringContaining(`may not list ${plural}`)]);
    expect(log.lines.join()).toContain(`may not list ${plural}`);
    allowed = true;
    await waitFor('all is told', () => seen.synced === 1);
    expect(seen.services.has('web')).toBe(true);
    expect(source.missing()).toEqual([]);
  });
});

describe('what is told of Services', () => {
  test('is only of those of no class and of the one that is served, and of all that bear our finalizer', async () => {
    const { simulator, source, seen } = await prepared({ loadBalancerClass: 'example.com/ours' });
    simulator.store.create(service('classless'));
    simulator.store.create(service('ours', { loadBalancerClass: 'example.com/ours' }));
    simulator.store.create(service('theirs', { loadBalancerClass: 'example.com/theirs' }));
    simulator.store.create(service('once-ours', { loadBalancerClass: 'example.com/theirs' }, { finalizers: ['ips.paas.org/finalizer'] }));
    simulator.store.create(service('inner', { type: 'ClusterIP' }));
    await source.start(seen);
    const told = [...seen.services].map(([name, { wanting, guarded }]) => `${name} ${wanting} ${guarded}`);
    expect(told.sort()).toEqual(['classless true false', 'once-ours false true', 'ours true false']);
  });

  test('is the family that they ask for first', async () => {
    const { simulator, source, seen } = await prepared();
    simulator.store.create(service('six', { ipFamilies: ['IPv6'] }));
    simulator.store.create(service('dual', { ipFamilyPolicy: 'PreferDualStack', ipFamilies: ['IPv6', 'IPv4'] }));
    simulator.store.create(service('four', { ipFamilies: ['IPv4', 'IPv6'] }));
    await source.start(seen);
    expect(['six', 'dual', 'four'].map((name) => seen.services.get(name)?.family)).toEqual([6, 6, 4]);
  });

  test('is nothing of what does not concern the allocator', async () => {
    const { simulator, source, seen } = await prepared();
    simulator.store.create(service('web'));
    simulator.store.create(service('inner', { type: 'ClusterIP' }));
    await source.start(seen);
    const before = seen.told.length;
    for (const name of ['web', 'inner']) simulator.store.patch(serviceRef(name), { spec: { ports: [{ port: 81 }] } });
    simulator.store.patch(serviceRef('web'), { metadata: { annotations: { 'ips.paas.org/ipgroup': 'a' } } });
    await waitFor('the pin', () => seen.services.get('web')?.pinnedGroup === 'a');
    expect(seen.told.slice(before)).toEqual(['service web']);
  });
});

describe('a watch that was interrupted', () => {
  test('tells what changed meanwhile, and what is gone', async () => {
    const { simulator, source, seen } = await prepared();
    for (const name of ['stays', 'goes', 'turns']) simulator.store.create(service(name));
    simulator.store.create(ip('192.0.2.1'));
    simulator.store.create(group('a'));
    await source.start(seen);
    expect(seen.services.size).toBe(3);
    simulator.faults.outage('reset');
    simulator.faults.resetWatches();
    simulator.store.delete(serviceRef('goes'));
    simulator.store.patch(serviceRef('turns'), { spec: { type: 'ClusterIP' } });
    simulator.store.delete({ apiVersion: API, kind: 'IP', name: '192.0.2.1' });
    simulator.store.delete({ apiVersion: API, kind: 'IPGroup', name: 'a' });
    simulator.faults.compact();
    simulator.faults.endOutage();
    await waitFor('all of it', () => seen.services.size === 1 && seen.ips.size === 0 && seen.groups.size === 0);
    expect(seen.services.has('stays')).toBe(true);
    expect(seen.synced).toBe(1);
  });

  test('is not believed when it shows nothing at all for once', async () => {
    const { simulator, source, seen } = await prepared();
    simulator.store.create(service('web'));
    await source.start(seen);
    await waitFor('Services are watched', () => watchesOf(simulator, 'services') === 1);
    simulator.faults.emptyLists('services', 1);
    simulator.faults.expireWatches('services');
    const lists = () => simulator.requests.filter(({ path, query }) => path === '/api/v1/services' && !query.includes('watch=')).length;
    await waitFor('it is listed twice more', () => lists() >= 3 && watchesOf(simulator, 'services') === 1);
    expect(seen.services.has('web')).toBe(true);
    expect(seen.told.some((line) => line.startsWith('service gone'))).toBe(false);
  });
});

describe('ten thousand Services', () => {
  const COUNT = 10_000;
  const LONG = 'x'.repeat(500);
  const listed = (type: string): readonly JsonObject[] =>
    Array.from({ length: COUNT }, (_, index) =>
      service(`s-${index}`, { type, externalName: LONG }, { uid: `uid-of-${index}`, annotations: { LONG } }),
    );

  /** Bytes that are kept of all of them. */
  const keptOf = (type: string): number => {
    const texts = listed(type).map((object) => JSON.stringify(object));
    const gc = globalThis.gc as () => void;
    gc();
    const before = process.memoryUsage().heapUsed;
    const kept = texts.map((text) => trimVipService(JSON.parse(text), { loadBalancerClass: null }));
    gc();
    const bytes = process.memoryUsage().heapUsed - before;
    expect(kept).toHaveLength(COUNT);
    return bytes;
  };

  test('take less than 400 bytes each, those that are nobody’s business here', () => {
    setFlagsFromString('--expose-gc');
    globalThis.gc ??= runInNewContext('gc') as NodeJS.GCFunction;
    expect(keptOf('LoadBalancer')).toBeGreaterThan(keptOf('ClusterIP'));
    expect(keptOf('ClusterIP') / COUNT).toBeLessThan(400);
    expect(keptOf('LoadBalancer') / COUNT).toBeLessThan(1_000);
  });
});
