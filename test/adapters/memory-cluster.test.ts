import { describe, expect, test } from 'vitest';
import type { ClusterFact, ClusterListener, PoolObject, PoolProjection } from '../../actors/ports/cluster.ts';
import { memoryCluster } from '../../adapters/memory/cluster.ts';
import type { ObjectRef } from '../../machines/jobs.ts';
import { queryOf } from '../../machines/match.ts';
import type { Address } from '../../machines/types.ts';
import { node } from '../support/world.ts';

const IPV4 = '203.0.113.7' as Address;
const IPV6 = '2001:db8::7' as Address;

const kindAndName = ({ kind, name }: ObjectRef): string => `${kind} ${name}`;

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
  const projection = (change: Partial<PoolProjection>): PoolProjection => ({
    ref: pool,
    generation: 1,
    status: {},
    conditions: [],
    annotated: {},
    addresses: [IPV4, IPV6],
    events: [],
    ...change,
  });
  const write = async (change: Partial<PoolProjection>) => {
    process.project(projection(change));
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
});
