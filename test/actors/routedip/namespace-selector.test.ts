import { describe, expect } from 'vitest';
import { node, PROVIDER } from '../../support/world.ts';
import { test } from './routedip-test.ts';
import { MINUTE, type RoutedWorld } from './world.ts';

const SHOPS = { namespaceSelector: { matchLabels: { team: 'shops' } } };

function prepare(world: RoutedWorld, ofClass: Parameters<RoutedWorld['setClass']>[0] = SHOPS): void {
  world.setClass({ routedIPFirewallName: '', ...ofClass });
  world.setNode(node('a'), node('b'));
  world.setWeb('shop', ['a', 'b']);
}

describe('a class for some namespaces', () => {
  test('serves no other one, until its labels match', async ({ open }) => {
    const world = open();
    prepare(world);
    world.namespaces.set('web', { team: 'others' });
    await world.leader();
    const ref = world.setRoutedIP('shop');
    await world.untilReason(ref, 'NamespaceNotSelected');
    expect(world.messageOf(ref)).toContain('ClusterRoutedIPClass floating is not for namespace web');
    expect(world.eventsOf(ref)).toContain('NamespaceNotSelected');
    await world.clock.advance(5 * MINUTE);
    expect(world.changes()).toEqual([]);
    world.namespaces.set('web', { team: 'shops' });
    await world.stable(ref);
  });

  test('serves nobody by an address that he names either', async ({ open }) => {
    const world = open();
    prepare(world);
    world.address('203.0.113.70');
    await world.leader();
    const ref = world.setRoutedIP('shop', { routedIP: '203.0.113.70' });
    await world.untilReason(ref, 'NamespaceNotSelected');
    await world.clock.advance(MINUTE);
    expect(world.holderOf('203.0.113.70')).toBeNull();
  });

  test('leaves who has an address his, with its failover, also after the records were lost', async ({ open }) => {
    const world = open();
    prepare(world);
    world.namespaces.set('web', { team: 'shops' });
    const process = await world.leader();
    const ref = world.setRoutedIP('shop');
    await world.stable(ref);
    const { routedIP, assignedNode } = world.statusOf(ref);
    world.namespaces.set('web', {});
    process.kill();
    world.store.wipe();
    world.queues.wipe();
    world.invariants.forget();
    await world.start();
    await world.stable(ref, String(assignedNode), 2 * MINUTE);
    world.cluster.setNode({ ...node(String(assignedNode)), ready: false });
    await world.stable(ref, assignedNode === 'a' ? 'b' : 'a', 2 * MINUTE);
    expect(world.statusOf(ref).routedIP).toBe(routedIP);
    expect(world.reasonOf(ref)).toBe('Assigned');
  });

  test('is for nobody who comes to it with an address that another issuer has got him', async ({ open }) => {
    const world = open();
    world.setClass({ ...SHOPS, allowCrossNamespace: true });
    world.cluster.setPolicy({ kind: 'RoutedIPIssuer', namespace: 'web', name: 'own', spec: { issuerClass: PROVIDER, region: 'nyc3' } });
    world.setNode(node('a'), node('b'));
    world.setWeb('shop', ['a', 'b']);
    const opened = { 'routedip.io/allow-operator-credentials': 'true' };
    world.namespaces.set('web', { ...opened, team: 'others' });
    await world.leader();
    const ref = world.setRoutedIP('shop', { className: null, issuerRef: { name: 'own' } });
    await world.stable(ref);
    const before = world.firewall();
    world.setRoutedIP('shop');
    await world.untilReason(ref, 'NamespaceNotSelected');
    await world.clock.advance(5 * MINUTE);
    expect(world.firewall()).toEqual(before);
    expect(world.holderOf(String(world.statusOf(ref).routedIP))).not.toBeNull();
    world.namespaces.set('web', { team: 'shops' });
    await world.stable(ref);
    await world.clock.runUntil(() => world.firewall().nodes.length > 0, MINUTE);
  });

  test('waits while the labels cannot be read, and says so', async ({ open }) => {
    const world = open();
    prepare(world);
    world.namespaces.set('web', { team: 'shops' });
    world.namespaces.cut();
    await world.leader();
    const ref = world.setRoutedIP('shop');
    await world.untilReason(ref, 'NamespaceNotSelected');
    expect(world.messageOf(ref)).toContain('it cannot be told whether ClusterRoutedIPClass floating is for namespace web');
    world.namespaces.mend();
    await world.stable(ref);
  });

  test.for([
    ['matchExpressions NotIn', { matchExpressions: [{ key: 'team', operator: 'NotIn', values: ['others'] }] }, 'Assigned'],
    ['matchExpressions Exists', { matchExpressions: [{ key: 'team', operator: 'Exists' }] }, 'Assigned'],
    ['matchExpressions DoesNotExist', { matchExpressions: [{ key: 'team', operator: 'DoesNotExist' }] }, 'NamespaceNotSelected'],
    ['an empty selector', {}, 'Assigned'],
    ['an operator that is none', { matchExpressions: [{ key: 'team', operator: 'Gt', values: ['1'] }] }, 'InvalidSpec'],
    ['a key that is none', { matchLabels: { 'a b': 'c' } }, 'InvalidSpec'],
  ] as const)('goes by %s', async ([_, namespaceSelector, reason], { open }) => {
    const world = open();
    prepare(world, { namespaceSelector: namespaceSelector as never });
    world.namespaces.set('web', { team: 'shops' });
    await world.leader();
    const ref = world.setRoutedIP('shop');
    await world.untilReason(ref, reason);
  });
});
