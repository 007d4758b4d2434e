import { describe, expect, test } from 'vitest';
import { refusal } from '../../../../adapters/kubernetes/client/api-error.ts';
import type { Connection } from '../../../../adapters/kubernetes/client/connection.ts';
import type { KubernetesSource } from '../../../../adapters/kubernetes/source/source.ts';
import { readDefinitions } from '../../../../simulator/kubernetes/definitions.ts';
import type { KubernetesSimulator } from '../../../../simulator/kubernetes/server.ts';
import { waitFor } from '../../../support/wait-for.ts';
import {
  addNode,
  CRD,
  connected,
  nodeRef,
  poolObject,
  poolRef,
  RECORD_SETS,
  Recorder,
  recordedLog,
  recordSetObject,
  recordSetRef,
  setReady,
  simulated,
  sourceOn,
  watchesOf,
} from '../support.ts';

const BLUE = { match: { nodeLabel: 'color=blue' } };
const NODES = '/api/v1/nodes';
const IPV4 = 'flipop.digitalocean.com/ipv4-reserved-ip';
const IPV6 = 'flipop.digitalocean.com/ipv6-reserved-ip';

/** A cluster with the blue nodes a and b, which have addresses, and whatever `prepare` adds; a source on it that has not begun. */
const prepared = async (
  prepare: (simulator: KubernetesSimulator) => void = () => undefined,
  { crds = [CRD, RECORD_SETS] }: { readonly crds?: string[] } = {},
) => {
  const simulator = await simulated({ crds });
  addNode(simulator, 'a', { labels: { color: 'blue' }, externalIP: '198.51.100.1', internalIP: '10.0.0.1' });
  addNode(simulator, 'b', { labels: { color: 'blue' }, internalIP: '10.0.0.2' });
  prepare(simulator);
  const log = recordedLog();
  const served: boolean[] = [];
  const seen = new Recorder();
  const sourceWith = (connection: Connection): KubernetesSource =>
    sourceOn(connection, { log, served: (value) => void served.push(value) });
  return { simulator, log, served, seen, sourceWith, connection: connected(simulator.kubeconfig()) };
};

const running = async (prepare?: (simulator: KubernetesSimulator) => void) => {
  const { sourceWith, ...world } = await prepared(prepare);
  const source = sourceWith(world.connection);
  await source.start(world.seen);
  const watching = (plural: string): Promise<void> => waitFor(`a watch of ${plural}`, () => watchesOf(world.simulator, plural) === 1);
  return { ...world, source, watching };
};

const install = (simulator: KubernetesSimulator, crd: string): void => {
  for (const definition of readDefinitions([crd])) simulator.store.create(definition);
};

/** The addresses of a node as the facts about `set` have them. */
const addressesOf = (seen: Recorder, node: string) => {
  const { externalIPs, internalIPs, reservedIPs } = seen.facts.get('set')?.nodes.find(({ name }) => name === node) ?? {};
  return { externalIPs, internalIPs, reservedIPs };
};

const annotate = (simulator: KubernetesSimulator, node: string, annotations: Readonly<Record<string, string>>): void => {
  simulator.store.patch(nodeRef(node), { metadata: { annotations } });
};

const setAddresses = (simulator: KubernetesSimulator, node: string, addresses: readonly { type: string; address: string }[]): void => {
  simulator.store.patch(nodeRef(node), { status: { addresses: [...addresses] } }, { subresource: 'status' });
};

describe('a NodeDNSRecordSet', () => {
  test('is told with its kind, and the nodes that it selects with their addresses', async () => {
    const { seen } = await running((simulator) => {
      annotate(simulator, 'b', { [IPV6]: '2001:DB8::7', [IPV4]: '203.0.113.7' });
      simulator.store.create(recordSetObject('set', BLUE));
    });
    expect(seen.pools.get('set')?.ref).toMatchObject({ kind: 'NodeDNSRecordSet', namespace: 'default', name: 'set' });
    expect(seen.nodes('set')).toEqual(['a', 'b']);
    expect(addressesOf(seen, 'a')).toEqual({ externalIPs: ['198.51.100.1'], internalIPs: ['10.0.0.1'], reservedIPs: [] });
    expect(addressesOf(seen, 'b')).toEqual({
      externalIPs: [],
      internalIPs: ['10.0.0.2'],
      reservedIPs: ['203.0.113.7', '2001:db8::7'],
    });
  });

  test('is told of addresses in their order, without what is none', async () => {
    const { seen, simulator } = await running((cluster) => cluster.store.create(recordSetObject('set', BLUE)));
    setAddresses(simulator, 'a', [
      { type: 'ExternalIP', address: '198.51.100.9' },
      { type: 'Hostname', address: '198.51.100.5' },
      { type: 'ExternalIP', address: 'a.example.com' },
      { type: 'ExternalIP', address: '2001:db8::1' },
      { type: 'ExternalIP', address: '198.51.100.2' },
    ]);
    annotate(simulator, 'a', { [IPV4]: 'none' });
    await waitFor('the addresses', () => addressesOf(seen, 'a').externalIPs?.length === 3);
    expect(addressesOf(seen, 'a')).toEqual({
      externalIPs: ['198.51.100.9', '2001:db8::1', '198.51.100.2'],
      internalIPs: [],
      reservedIPs: [],
    });
  });

  test('is told of a node whose address changed, and a pool with the same selectors is not', async () => {
    const { seen, simulator } = await running((cluster) => {
      cluster.store.create(poolObject('pool', BLUE));
      cluster.store.create(recordSetObject('set', BLUE));
    });
    const before = seen.told.length;
    setAddresses(simulator, 'a', [{ type: 'ExternalIP', address: '198.51.100.9' }]);
    await waitFor('the address', () => addressesOf(seen, 'a').externalIPs?.[0] === '198.51.100.9');
    annotate(simulator, 'b', { [IPV4]: '203.0.113.7' });
    await waitFor('the annotation', () => addressesOf(seen, 'b').reservedIPs?.[0] === '203.0.113.7');
    expect(seen.told.slice(before)).toEqual(['fact set', 'fact set']);
    setReady(simulator, 'b', false);
    await waitFor('both know', () => seen.nodes('set')?.join() === 'a,!b' && seen.nodes('pool')?.join() === 'a,!b');
  });

  test('that is gone, also while its watch is cut, is told with its kind', async () => {
    const { seen, simulator, watching } = await running((cluster) => {
      cluster.store.create(poolObject('pool', BLUE));
      cluster.store.create(recordSetObject('set', BLUE));
    });
    await watching('nodednsrecordsets');
    const gone: string[] = [];
    seen.poolGone = ({ kind, name }) => void gone.push(`${kind} ${name}`);
    simulator.faults.outage('reset');
    simulator.store.delete(recordSetRef('set'));
    simulator.faults.compact();
    simulator.faults.endOutage();
    await waitFor('it is gone', () => gone.length > 0);
    expect(gone).toEqual(['NodeDNSRecordSet set']);
  });

  test('goes on when its watches expire', async () => {
    const { seen, simulator, watching } = await running((cluster) => cluster.store.create(recordSetObject('set', BLUE)));
    await watching('nodes');
    await watching('nodednsrecordsets');
    simulator.faults.rejectWatches(3);
    expect(simulator.faults.expireWatches()).toBeGreaterThanOrEqual(2);
    setAddresses(simulator, 'a', [{ type: 'ExternalIP', address: '198.51.100.9' }]);
    simulator.store.patch(recordSetRef('set'), { spec: { addressType: 'InternalIP' } });
    await waitFor('the address', () => addressesOf(seen, 'a').externalIPs?.[0] === '198.51.100.9');
    await waitFor('the spec', () => seen.count('observed set') === 2);
    expect(seen.count('gone')).toBe(0);
  });
});

describe('a watch that pools and NodeDNSRecordSets share', () => {
  test('is one, whatever they select and read, and ends with the last of them', async () => {
    const { seen, simulator, source, watching } = await running((cluster) => cluster.store.create(poolObject('pool', BLUE)));
    await watching('nodes');
    addNode(simulator, 'c', { labels: { color: 'red' } });
    simulator.store.create(recordSetObject('set', { match: { nodeLabel: 'color!=blue' } }));
    await waitFor('the facts', () => seen.nodes('set')?.join() === 'c');
    expect([...source.nodes()]).toHaveLength(3);
    simulator.store.delete(recordSetRef('set'));
    await waitFor('the set is gone', () => seen.count('gone set') === 1);
    setReady(simulator, 'a', false);
    await waitFor('the pool goes on', () => seen.nodes()?.join() === '!a,b');
    const watches = simulator.requests.filter(({ path, query }) => path === NODES && query.includes('watch=true'));
    expect(watches).toHaveLength(1);
    simulator.store.delete(poolRef('pool'));
    await waitFor('no watch', () => watchesOf(simulator, 'nodes') === 0);
  });
});

describe('a kind whose CRD is not served', () => {
  test.each([
    ['NodeDNSRecordSets', CRD, RECORD_SETS, 'pool', 'set'],
    ['FloatingIPPools', RECORD_SETS, CRD, 'set', 'pool'],
  ] as const)('such as %s holds nothing up, and joins when it is', async (_kind, present, late, first, second) => {
    const objects = { pool: poolObject('pool', BLUE), set: recordSetObject('set', BLUE) };
    const { simulator, seen, served, log, sourceWith, connection } = await prepared((cluster) => cluster.store.create(objects[first]), {
      crds: [present],
    });
    const source = sourceWith(connection);
    await source.start(seen);
    expect(seen.nodes(first)).toEqual(['a', 'b']);
    expect(source.missing()).toEqual([]);
    expect(served).toEqual([true]);
    const kinds = ['FloatingIPPool', 'NodeDNSRecordSet'];
    expect(kinds.filter((kind) => source.knows(kind))).toEqual([seen.pools.get(first)?.ref.kind]);
    expect(log.lines.filter((line) => line.startsWith('warn'))).toEqual([]);
    install(simulator, late);
    simulator.store.create(objects[second]);
    await waitFor('the other kind', () => seen.nodes(second)?.join() === 'a,b');
    expect(served).toEqual([true]);
    expect(kinds.every((kind) => source.knows(kind))).toBe(true);
  });
});

test('that a kind is not served is told once, and again only after it was', async () => {
  const { simulator, seen, log, sourceWith, connection } = await prepared(undefined, { crds: [CRD] });
  await sourceWith(connection).start(seen);
  const said = (level: string) =>
    log.lines.filter((line) => line.startsWith(`${level} not served`) && line.includes('nodednsrecordsets')).length;
  await waitFor('it is looked for again and again', () => said('debug') >= 3);
  expect(said('info')).toBe(1);
  install(simulator, RECORD_SETS);
  await waitFor('it is served', () => log.lines.some((line) => /^info watch restored.*nodednsrecordsets/.test(line)));
  simulator.store.delete({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    name: 'nodednsrecordsets.flipop.digitalocean.com',
  });
  simulator.faults.expireWatches();
  await waitFor('it is missed again', () => said('info') === 2);
});

test('a kind whose CRD is not served is not missed while the server is away either', async () => {
  const { simulator, seen, log, sourceWith, connection } = await prepared((cluster) => cluster.store.create(poolObject('pool', BLUE)), {
    crds: [CRD],
  });
  const source = sourceWith(connection);
  await source.start(seen);
  expect(source.missing()).toEqual([]);
  simulator.faults.outage('reset');
  await waitFor('it was looked for in vain', () => log.lines.some((line) => /watch interrupted.*nodednsrecordsets.*no answer/.test(line)));
  expect(source.missing()).toEqual([]);
  simulator.faults.endOutage();
  install(simulator, RECORD_SETS);
  await waitFor('it is served', () => source.knows('NodeDNSRecordSet'));
});

/** A connection whose ServiceAccount may not list what is named so, until `allow` is called. */
const barred = (connection: Connection, plural: string) => {
  let allowed = false;
  const list: Connection['list'] = (request, item) =>
    !allowed && request.path.endsWith(`/${plural}`)
      ? Promise.reject(refusal({ verb: 'list', path: request.path }, 403, 'User "operator" cannot do that'))
      : connection.list(request, item);
  return {
    connection: { ...connection, list },
    allow: () => {
      allowed = true;
    },
  };
};

describe('a kind that may not be listed', () => {
  const both = (simulator: KubernetesSimulator): void => {
    simulator.store.create(poolObject('pool', BLUE));
    simulator.store.create(recordSetObject('set', BLUE));
  };

  test('is named, and NodeDNSRecordSets hold no pools up', async () => {
    const { seen, sourceWith, connection } = await prepared(both);
    const limited = barred(connection, 'nodednsrecordsets');
    const source = sourceWith(limited.connection);
    await source.start(seen);
    expect(seen.nodes('pool')).toEqual(['a', 'b']);
    expect(seen.pools.has('set')).toBe(false);
    expect(source.missing()).toEqual([expect.stringContaining('may not list nodednsrecordsets')]);
    limited.allow();
    await waitFor('the set', () => seen.nodes('set')?.join() === 'a,b');
    expect(source.missing()).toEqual([]);
  });

  test('such as FloatingIPPools is waited for: they are not taken for deleted', async () => {
    const { seen, sourceWith, connection } = await prepared(both);
    const limited = barred(connection, 'floatingippools');
    const source = sourceWith(limited.connection);
    let started = false;
    const start = source.start(seen).then(() => {
      started = true;
    });
    await waitFor('the set', () => seen.nodes('set')?.join() === 'a,b');
    await waitFor('the other kinds, and the refusal', () => source.missing().length === 1 && source.missing().join().includes('may not'));
    expect(source.missing()).toEqual([expect.stringContaining('may not list floatingippools')]);
    expect(started).toBe(false);
    limited.allow();
    await start;
    expect(seen.nodes('pool')).toEqual(['a', 'b']);
  });
});
