import { describe, expect, test } from 'vitest';
import { type HostRow, routedRow } from '../../demo/routed-view.ts';
import { reservationOf, withService, withWarning } from '../../demo/service-view.ts';
import {
  ANNOTATION,
  changes,
  EMPTY,
  type RecordRow,
  withNode,
  withOutside,
  withoutNode,
  withPool,
  withReservation,
  withRouted,
  withServices,
} from '../../demo/view.ts';
import type { JsonObject, KubeObject } from '../../simulator/kubernetes/objects.ts';

const ADDRESS = '203.0.113.1';

const pool = (ips: readonly string[], status: JsonObject = {}): KubeObject => ({
  apiVersion: 'flipop.digitalocean.com/v1alpha1',
  kind: 'FloatingIPPool',
  metadata: { name: 'ingress-pool' },
  spec: { ips: [...ips] },
  status,
});

const node = (name: string, { ready = true, cordoned = false, annotation = '' } = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, ...(annotation && { annotations: { [ANNOTATION]: annotation } }) },
  spec: cordoned ? { unschedulable: true } : {},
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
    const withRecord = (view: typeof EMPTY, record: RecordRow) => withOutside(view, { ...view, record });
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

describe('the view of a RoutedIP', () => {
  const routed = (status: JsonObject): KubeObject => ({
    apiVersion: 'routedip.io/v1alpha1',
    kind: 'RoutedIP',
    metadata: { name: 'shop', namespace: 'default' },
    status,
  });
  const seen = (status: JsonObject, seenAt: number, before = EMPTY) => withRouted(before, routedRow(routed(status), before.routed, seenAt));
  const stable = { state: 'Stable', routedIP: ADDRESS, assignedNode: 'a', electedNode: 'a' };

  test('shows where it goes to while it moves, where it is, and since when it has been like this', () => {
    expect(seen({}, 5).routed).toMatchObject({ name: 'shop', address: '', state: 'new', node: '', since: 5 });
    const before = seen(stable, 10);
    const moving = seen({ ...stable, state: 'Assigning', electedNode: 'b' }, 20, before);
    expect(moving.routed).toMatchObject({ address: ADDRESS, state: 'Assigning', node: 'b', holder: 'a', since: 20 });
    expect(seen({ ...stable, ports: [] }, 30, before).routed?.since).toBe(10);
  });

  test('is told in sentences: its states, what is open, where the address is, who answers', () => {
    const before = seen(stable, 10);
    const moving = seen({ ...stable, state: 'Assigning', electedNode: 'b' }, 20, before);
    expect(changes(before, moving)).toEqual(['RoutedIP shop is Assigning on b']);
    expect(changes(before, withRouted(before, null))).toEqual(['RoutedIP shop is gone']);
    const host = (change: Partial<HostRow>): HostRow => ({ name: 'b', open: ['tcp/22'], changing: '', address: '', moving: '', ...change });
    const row = { address: ADDRESS, port: 80, by: '', answered: 0, inTransit: 0, nodeDown: 0, refused: 0, reason: '' };
    const looked = (hosts: readonly HostRow[], by: string) => withOutside(before, { record: null, hosts, traffic: [{ ...row, by }] });
    const quiet = looked([host({})], '');
    expect(changes(quiet, looked([host({ open: ['tcp/22', 'tcp/80'] })], ''))).toEqual(['b: open are tcp/22, tcp/80']);
    expect(changes(quiet, looked([host({ address: ADDRESS, moving: 'arriving' })], ''))).toEqual([`${ADDRESS} is arriving at b`]);
    expect(changes(quiet, looked([host({ address: ADDRESS })], 'b'))).toEqual([`b has ${ADDRESS}`, `${ADDRESS}:80: b answers`]);
    expect(changes(looked([host({ address: ADDRESS })], 'b'), quiet)).toEqual([
      `b no longer has ${ADDRESS}`,
      `${ADDRESS}:80: nobody answers`,
    ]);
  });

  test('tells of nodes that are cordoned', () => {
    const before = withNode(EMPTY, node('a'), 0);
    expect(changes(before, withNode(before, node('a', { cordoned: true }), 1))).toEqual(['a is cordoned']);
    expect(changes(withNode(before, node('a', { cordoned: true }), 1), before)).toEqual(['a is no longer cordoned']);
  });
});

describe('the view of Services', () => {
  const service = (address: string, type = 'LoadBalancer'): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'edge' },
    spec: { type },
    status: { loadBalancer: address === '' ? {} : { ingress: [{ ip: address }] } },
  });
  const warning = (message: string, type = 'Warning'): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'web.1' },
    type,
    message,
    involvedObject: { kind: 'Service', name: 'web' },
  });

  test('says why a Service waits until it is served, and since when it has its address', () => {
    const waiting = withWarning(withService([], service(''), 10), warning('no IP could be allocated'));
    expect(waiting).toEqual([{ name: 'web', address: '', why: 'no IP could be allocated', since: 10 }]);
    const served = withService(waiting, service('198.51.100.8'), 20);
    expect(served).toEqual([{ name: 'web', address: '198.51.100.8', why: '', since: 20 }]);
    expect(withService(served, service('198.51.100.8'), 30)).toEqual(served);
    expect(withWarning(served, warning('too late'))).toEqual(served);
    expect(withWarning(withService([], service(''), 10), warning('all is well', 'Normal'))[0]?.why).toBe('');
    expect(changes(withServices(EMPTY, waiting), withServices(EMPTY, served))).toEqual(['Service web has 198.51.100.8']);
    expect(changes(withServices(EMPTY, served), EMPTY)).toEqual(['Service web is gone']);
  });

  test('leaves out what is no load balancer, also one that is none any more', () => {
    expect(withService([], service('', 'ClusterIP'), 10)).toEqual([]);
    expect(withService(withService([], service(''), 10), service('', 'ClusterIP'), 20)).toEqual([]);
  });

  test('tells what is reserved for whom, and what is free', () => {
    const ip: KubeObject = {
      apiVersion: 'paas.org/v1',
      kind: 'IP',
      metadata: { name: '198.51.100.8', annotations: { 'virtualips.paas.il/owner': 'edge/web' } },
    };
    const reserved = withReservation(EMPTY, reservationOf(ip, 10));
    expect(changes(EMPTY, reserved)).toEqual(['198.51.100.8 is reserved for edge/web']);
    expect(changes(reserved, withReservation(reserved, { address: '198.51.100.8', owner: '', at: 20 }))).toEqual(['198.51.100.8 is free']);
  });
});
