import { describe, expect, test } from 'vitest';
import { ANNOTATION, changes, EMPTY, withNode, withoutNode, withPool, withRecord } from '../../demo/view.ts';
import type { JsonObject, KubeObject } from '../../simulator/kubernetes/objects.ts';

const ADDRESS = '203.0.113.1';

const pool = (ips: readonly string[], status: JsonObject = {}): KubeObject => ({
  apiVersion: 'flipop.digitalocean.com/v1alpha1',
  kind: 'FloatingIPPool',
  metadata: { name: 'ingress-pool' },
  spec: { ips: [...ips] },
  status,
});

const node = (name: string, { ready = true, annotation = '' } = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, ...(annotation && { annotations: { [ANNOTATION]: annotation } }) },
  status: { conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
});

const active = (nodeName: string) => ({ ips: { [ADDRESS]: { state: 'active', machineState: 'Stable', nodeName } } });
const moving = (from: string, to: string) => ({
  ips: { [ADDRESS]: { state: 'in-progress', machineState: 'Assigning', nodeName: from, electedNode: to } },
});

describe('the view of a pool', () => {
  test('keeps since when an address has been as it is', () => {
    const first = withPool(EMPTY, pool([ADDRESS], active('a')), 10);
    const again = withPool(first, pool([ADDRESS], { ...active('a'), activeIPs: 1 }), 20);
    expect(again.addresses[0]?.since).toBe(10);
    const moved = withPool(again, pool([ADDRESS], active('b')), 30);
    expect(moved.addresses[0]).toMatchObject({ node: 'b', since: 30 });
  });

  test('shows where an address goes to while it moves', () => {
    expect(withPool(EMPTY, pool([ADDRESS], moving('a', 'b')), 0).addresses[0]?.node).toBe('b');
  });

  test('shows an address that is only listed yet', () => {
    expect(withPool(EMPTY, pool([ADDRESS]), 0).addresses).toMatchObject([{ address: ADDRESS, state: 'listed', node: '' }]);
  });

  test('tells a failover in sentences', () => {
    const before = withNode(
      withNode(withPool(EMPTY, pool([ADDRESS], active('a')), 0), node('a', { annotation: ADDRESS }), 0),
      node('b'),
      0,
    );
    const failed = withNode(before, node('a', { ready: false, annotation: ADDRESS }), 1);
    expect(changes(before, failed)).toEqual(['a is NotReady']);
    const assigning = withPool(failed, pool([ADDRESS], moving('a', 'b')), 2);
    expect(changes(failed, assigning)).toEqual([`${ADDRESS} is in-progress (Assigning) on b`]);
    const done = withNode(withPool(assigning, pool([ADDRESS], active('b')), 3), node('a', { ready: false }), 3);
    expect(changes(assigning, done)).toEqual([`${ADDRESS} is active on b`, `a is no longer annotated with ${ADDRESS}`]);
    expect(changes(done, done)).toEqual([]);
  });

  test('tells what the name lists in DNS when that changes', () => {
    const empty = withRecord(EMPTY, { name: 'www.example.com', addresses: [] });
    const listed = withRecord(empty, { name: 'www.example.com', addresses: [ADDRESS] });
    expect([changes(EMPTY, empty), changes(listed, listed)]).toEqual([[], []]);
    expect(changes(empty, listed)).toEqual([`www.example.com lists ${ADDRESS}`]);
    expect(changes(listed, empty)).toEqual(['www.example.com lists nothing']);
  });

  test('tells of new addresses, of errors and of nodes that are gone', () => {
    const before = withNode(EMPTY, node('a'), 0);
    const after = withPool(withoutNode(before, 'a'), pool([ADDRESS], { error: 'no quota left' }), 1);
    expect(changes(before, after)).toEqual([`${ADDRESS} is listed in spec.ips`, 'a is gone', 'the pool says: no quota left']);
  });
});
