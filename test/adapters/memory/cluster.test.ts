import { describe, expect, test } from 'vitest';
import type { ClusterListener, PoolObject, PoolProjection } from '../../../actors/ports/cluster.ts';
import { memoryCluster } from '../../../adapters/memory/cluster.ts';
import type { ClusterFact } from '../../../machines/events.ts';
import { queryOf } from '../../../machines/model/matching.ts';
import type { Address, ObjectRef } from '../../../machines/model/types.ts';
import { node } from '../../support/world.ts';

const IPV4 = '203.0.113.7' as Address;
const IPV6 = '2001:db8::7' as Address;

const kindAndName = ({ kind, name }: ObjectRef): string => `${kind} ${name}`;

const projectionOf = (ref: ObjectRef): PoolProjection => ({
  ref,
  generation: 1,
  status: {},
  conditions: [],
  annotated: {},
  addresses: [IPV4, IPV6],
  events: [],
});

/** A cluster with the node a, a pool and a NodeDNSRecordSet of one name, and one process that watches it. */
const watched = async () => {
  const cluster = memoryCluster({ queryOf });
  cluster.setNode(node('a', { externalIPs: [IPV4] }));
  const pool = cluster.setPool({ name: 'one', spec: {} });
  const set = cluster.setPool({ kind: 'NodeDNSRecordSet', name: 'one', spec: { match: { nodeLabel: 'a=b' } } });
  const told: string[] = [];
  const facts = new Map<string, ClusterFact>();
  const listener: ClusterListener = {
    poolObserved: ({ ref }: PoolObject) => void told.push(`observed ${kindAndName(ref)}`),
    poolGone: (ref) => void told.push(`gone ${kindAndName(ref)}`),
    clusterObserved: (ref, fact) => {
      told.push(`fact ${kindAndName(ref)}`);
      facts.set(ref.kind, fact);
    },
  };
  const process = cluster.process();
  await process.start(listener);
  const write = async (change: Partial<PoolProjection>) => {
    process.project({ ...projectionOf(pool), ...change });
    await process.flush(0);
  };
  return { cluster, process, pool, set, told, facts, write };
};

describe('a cluster in memory', () => {
  test('has objects of two kinds under one name, each with its own spec, status and end', async () => {
    const { cluster, told, pool, set, facts, write } = await watched();
    expect(told.splice(0)).toEqual([
      'observed FloatingIPPool one',
      'observed NodeDNSRecordSet one',
      'fact FloatingIPPool one',
      'fact NodeDNSRecordSet one',
    ]);
    expect(facts.get('NodeDNSRecordSet')?.query).toBe(queryOf({ nodeLabel: 'a=b' }));
    expect(facts.get('NodeDNSRecordSet')?.nodes[0]?.externalIPs).toEqual([IPV4]);
    await write({ ref: set, status: { state: 'active' }, addresses: [] });
    expect(cluster.pool(set)?.status).toEqual({ state: 'active' });
    expect(cluster.pool(pool)?.status).toEqual({});
    cluster.removePool(pool);
    expect(told).toEqual(['gone FloatingIPPool one']);
    expect(cluster.pool(set)).not.toBeNull();
  });

  test('annotates a node with one address of each family, and tells it to NodeDNSRecordSets alone', async () => {
    const { cluster, told, facts, write } = await watched();
    told.length = 0;
    await write({ annotated: { a: [IPV6, IPV4] } });
    expect(cluster.annotations()).toEqual({ a: IPV4 });
    expect(cluster.annotations(6)).toEqual({ a: IPV6 });
    await Promise.resolve();
    expect(told).toEqual(['fact NodeDNSRecordSet one']);
    expect(facts.get('NodeDNSRecordSet')?.nodes[0]?.reservedIPs).toEqual([IPV4, IPV6]);
    expect(facts.get('FloatingIPPool')?.nodes[0]?.reservedIPs).toBeUndefined();
    await write({ annotated: { a: IPV6 } });
    expect(cluster.annotations()).toEqual({});
    expect(cluster.annotations(6)).toEqual({ a: IPV6 });
  });

  test('keeps an intent that another process has recorded until projections of this one have carried it', async () => {
    const { cluster, process, pool, write } = await watched();
    const startedAt = '2026-11-01T00:00:00.123Z';
    await cluster.process().recordIntent(pool, { knownAddresses: [], listedAt: Date.parse(startedAt), region: '', term: 1 });
    await write({ status: { term: 1 } });
    expect(cluster.pool(pool)?.status).toMatchObject({ pendingCreate: { startedAt } });
    process.project({ ...projectionOf(pool), status: { term: 1, pendingCreate: { startedAt } } });
    await write({ status: { term: 1 } });
    expect(cluster.pool(pool)?.status).toEqual({ term: 1 });
  });

  test('keeps an address that a job has bound until projections have carried it, anew after another process has led', async () => {
    const { cluster, process, pool, write } = await watched();
    await process.bindAddress(pool, IPV4, 'Created');
    await write({ status: { state: 'CoolOff' } });
    const bound = { state: 'CoolOff', routedIP: IPV4, addressOrigin: 'Created' };
    expect(cluster.pool(pool)?.status).toEqual(bound);
    await write({ status: bound });
    process.forget();
    await write({ status: { state: 'Electing' } });
    expect(cluster.pool(pool)?.status).toEqual({ ...bound, state: 'Electing' });
    await write({ status: bound });
    await write({ status: { state: 'Unassigned' } });
    expect(cluster.pool(pool)?.status).toEqual({ state: 'Unassigned' });
  });
});
