import { describe, expect } from 'vitest';
import type { Address } from '../../../machines/model/types.ts';
import { node, providerIDOf } from '../../support/world.ts';
import { test } from './routedip-test.ts';
import { endpoint, MINUTE, type RoutedWorld, SECOND, service } from './world.ts';

const A = '203.0.113.7';
const OLD = node('old', { createdAt: 1 });
const YOUNG = node('young', { createdAt: 2 });

/** Two nodes, an address on nothing, a class and a leader. */
async function ready(world: RoutedWorld, policy: Parameters<RoutedWorld['setClass']>[0] = {}) {
  world.setClass(policy);
  world.setNode(OLD, YOUNG);
  world.address(A);
  return world.leader();
}

describe('the Service of a RoutedIP', () => {
  test('that is missing is said to be, and the address is led to it as soon as it appears', async ({ open }) => {
    const world = open();
    await ready(world);
    const ref = world.setRoutedIP('shop', { routedIP: A });
    await world.untilReason(ref, 'ServiceNotFound');
    await world.clock.advance(10 * MINUTE);
    expect(world.reasonOf(ref, 'Degraded')).toBe('ServiceNotFound');
    expect(world.statusOf(ref).error).toContain('there is no Service web/shop');
    expect(world.eventsOf(ref).filter((reason) => reason === 'ServiceNotFound')).toHaveLength(1);
    expect(world.changes()).toEqual([]);
    world.setWeb('shop', ['old']);
    await world.stable(ref, 'old', 5 * SECOND);
    await world.untilReason(ref, 'Assigned', 'Ready', SECOND);
    expect(world.statusOf(ref)).not.toHaveProperty('error');
  });

  test('that is missing costs no new address either', async ({ open }) => {
    const world = open();
    await ready(world);
    const ref = world.setRoutedIP('shop');
    await world.untilReason(ref, 'ServiceNotFound');
    await world.clock.advance(10 * MINUTE);
    expect(world.changes()).toEqual([]);
    world.setWeb('shop', ['old']);
    await world.stable(ref, 'old', 5 * SECOND);
  });

  test('that has no ready endpoint costs none either, and is led to as soon as it has one', async ({ open }) => {
    const world = open();
    await ready(world);
    world.setWeb('shop', []);
    const ref = world.setRoutedIP('shop');
    await world.untilReason(ref, 'NoEligibleNode');
    await world.clock.advance(10 * MINUTE);
    expect([world.changes(), world.statusOf(ref).routedIP]).toEqual([[], undefined]);
    expect(world.messageOf(ref, 'Degraded')).toBe(
      'no eligible node is free for an address, and none is created: old (no ready endpoint of the Service is on it), young (no ready endpoint of the Service is on it)',
    );
    world.setWeb('shop', ['old']);
    await world.stable(ref, 'old', 5 * SECOND);
  });

  test('costs none in a region in which no node of it is: a class that says the wrong one is mended by changing it', async ({ open }) => {
    const world = open();
    await ready(world, { region: 'ams3' });
    for (const each of [OLD, YOUNG]) world.setNode({ ...each, region: 'nyc3' });
    world.setWeb('shop', ['old', 'young']);
    const ref = world.setRoutedIP('shop');
    await world.untilReason(ref, 'NoEligibleNode');
    expect(world.messageOf(ref, 'Degraded')).toContain('old (it is in region nyc3, not in ams3)');
    await world.clock.advance(10 * MINUTE);
    expect(world.changes()).toEqual([]);
    world.setClass({ region: 'nyc3' });
    await world.stable(ref, 'young', 5 * SECOND);
  });

  test('that goes takes nothing away: the address stays where it is, with its ports open', async ({ open }) => {
    const world = open();
    await ready(world);
    world.setWeb('shop', ['old']);
    const ref = world.setRoutedIP('shop', { routedIP: A });
    await world.stable(ref, 'old');
    const before = world.changes().length;
    world.cluster.setService('web', 'shop', null);
    await world.untilReason(ref, 'ServiceNotFound', 'Degraded');
    await world.clock.advance(10 * MINUTE);
    expect(world.holderOf(A)).toBe('old');
    expect(world.firewall()).toEqual({ ports: ['tcp/22', 'tcp/8080'], nodes: [providerIDOf('old')] });
    expect(world.changes().slice(before)).toEqual([]);
    world.setWeb('shop', ['young']);
    await world.stable(ref, 'young');
    expect(world.firewall().nodes).toEqual([providerIDOf('young')]);
  });

  test('without a ready endpoint has no eligible node: an attached address stays, and moves when an endpoint is ready', async ({
    open,
  }) => {
    const world = open();
    await ready(world);
    world.setWeb('shop', ['old']);
    const ref = world.setRoutedIP('shop', { routedIP: A });
    await world.stable(ref, 'old');
    const before = world.changes().length;
    world.setWeb('shop', ['old'], { endpoints: [endpoint('old', { ready: false }), endpoint('young', { ready: false })] });
    await world.untilReason(ref, 'NoEligibleNode');
    await world.clock.advance(10 * MINUTE);
    expect(world.holderOf(A)).toBe('old');
    expect(world.statusOf(ref)).toMatchObject({ state: 'Unassigned', assignedNode: 'old' });
    expect(world.reasonOf(ref, 'Degraded')).toBe('NoEligibleNode');
    expect(world.changes().slice(before)).toEqual([]);
    world.setWeb('shop', ['old'], { endpoints: [endpoint('old', { ready: false }), endpoint('young')] });
    await world.stable(ref, 'young', 5 * SECOND);
  });

  test('whose endpoint comes back on the holder gets its address back without an assign', async ({ open }) => {
    const world = open();
    await ready(world);
    world.setWeb('shop', ['old']);
    const ref = world.setRoutedIP('shop', { routedIP: A });
    await world.stable(ref, 'old');
    world.setWeb('shop', [], { endpoints: [endpoint('old', { ready: false })] });
    await world.untilReason(ref, 'NoEligibleNode');
    world.setWeb('shop', ['old']);
    await world.stable(ref, 'old', 5 * SECOND);
    expect(world.assigns()).toHaveLength(1);
  });

  test('of another namespace is not exposed unless the class allows it', async ({ open }) => {
    const world = open();
    await ready(world);
    world.cluster.setService('bank', 'vault', service(['old', 'young']));
    const ref = world.setRoutedIP('shop', { routedIP: A, serviceRef: { serviceName: 'vault', namespace: 'bank' } });
    await world.untilReason(ref, 'InvalidSpec');
    await world.clock.advance(10 * MINUTE);
    expect(world.statusOf(ref).error).toContain('allowCrossNamespace');
    expect(world.changes()).toEqual([]);
    expect(world.holderOf(A)).toBeNull();
    world.setClass({ allowCrossNamespace: true });
    await world.stable(ref, 'young', 5 * SECOND);
  });

  test('of another namespace is exposed no further once the class allows it no more: what is assigned stays, and nothing new is opened', async ({
    open,
  }) => {
    const world = open();
    await ready(world, { allowCrossNamespace: true });
    world.cluster.setService('bank', 'vault', service(['old', 'young']));
    const ref = world.setRoutedIP('shop', { routedIP: A, serviceRef: { serviceName: 'vault', namespace: 'bank' } });
    await world.stable(ref, 'young');
    const before = world.changes().length;
    world.setClass({});
    await world.untilReason(ref, 'InvalidSpec');
    world.cluster.setNode({ ...YOUNG, ready: false });
    await world.clock.advance(10 * MINUTE);
    expect(world.changes().slice(before)).toEqual([]);
    expect(world.holderOf(A)).toBe('young');
  });

  test('named by its own namespace is the same as by none', async ({ open }) => {
    const world = open();
    await ready(world);
    world.setWeb('shop', ['old']);
    const ref = world.setRoutedIP('shop', { routedIP: A, serviceRef: { name: 'shop', namespace: 'web' } });
    await world.stable(ref, 'old');
  });

  test.for([
    ['of type ExternalName', { type: 'ExternalName' as const, hasSelector: false, endpoints: [] }],
    ['without a selector', { hasSelector: false }],
  ] as const)('%s is not supported, and its nodes get no address', async ([, change], { open }) => {
    const world = open();
    await ready(world);
    world.setWeb('shop', ['old'], change);
    const ref = world.setRoutedIP('shop', { routedIP: A });
    await world.untilReason(ref, 'ServiceNotSupported');
    await world.clock.advance(10 * MINUTE);
    expect(world.reasonOf(ref, 'Degraded')).toBe('ServiceNotSupported');
    expect(world.eventsOf(ref)).toContain('ServiceNotSupported');
    expect(world.changes()).toEqual([]);
    expect(world.provider.cloud.find(A as Address).providerID).toBeNull();
    world.setWeb('shop', ['old']);
    await world.stable(ref, 'old', 5 * SECOND);
  });

  test.for(['ClusterIP', 'NodePort', 'LoadBalancer'] as const)('of type %s is served', async (type, { open }) => {
    const world = open();
    await ready(world);
    world.setWeb('shop', ['old'], { type });
    await world.stable(world.setRoutedIP('shop', { routedIP: A }), 'old');
  });
});
