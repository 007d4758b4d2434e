import { describe, expect } from 'vitest';
import type { Address, ObjectRef } from '../../../machines/model/types.ts';
import { node, providerIDOf } from '../../support/world.ts';
import { test } from './routedip-test.ts';
import { FIREWALL, MINUTE, type RoutedWorld, SECOND, servicePort } from './world.ts';

const A = '203.0.113.7' as Address;
const B = '203.0.113.8' as Address;
const NODES = ['a', 'b'].map((name, index) => node(name, { createdAt: index }));
const NAMES = NODES.map(({ name }) => name);
const WEB = { port: 8080, protocol: 'TCP' } as const;
/** Longer than from one verification to the next. */
const VERIFIED = 6 * MINUTE;

/** RoutedIP `shop` holds address A on the younger node, `b`, and its port is open there. */
async function serving(world: RoutedWorld, policy: Parameters<RoutedWorld['setClass']>[0] = {}): Promise<ObjectRef> {
  world.setClass(policy);
  world.setNode(...NODES);
  world.address(A);
  world.setWeb('shop', NAMES);
  await world.leader();
  const ref = world.setRoutedIP('shop', { routedIP: A });
  await world.stable(ref, 'b');
  await world.clock.advance(MINUTE);
  expect(world.firewall()).toEqual({ ports: ['tcp/22', 'tcp/8080'], nodes: [providerIDOf('b')] });
  return ref;
}

const conditionOf = (world: RoutedWorld, ref: ObjectRef) =>
  world.cluster.conditions(ref).find(({ type }) => type === 'FirewallReady') ?? { status: '', reason: '', message: '' };
const byHand = (world: RoutedWorld, act: () => void): void => world.rules.firewalls.byHand(act);
const lists = (world: RoutedWorld): number => world.provider.calls.filter(({ verb }) => verb === 'listRoutedIPFirewalls').length;
const assigns = (world: RoutedWorld): number => world.changes().filter((verb) => verb === 'assignRoutedIP').length;

describe('what is taken out of a firewall while it is needed', () => {
  test('by hand, is put back at the next verification, and said to be missing until then', async ({ open }) => {
    const world = open();
    const ref = await serving(world);
    const before = assigns(world);
    byHand(world, () => world.provider.cloud.closePorts(FIREWALL, [WEB]));
    world.provider.faults.next('addRoutedIPFirewallPort', { kind: 'refuse', error: 'Unavailable' }, 1);
    await world.untilReason(ref, 'FirewallClosed', 'FirewallReady', VERIFIED);
    expect(conditionOf(world, ref).status).toBe('False');
    expect(conditionOf(world, ref).message).toContain('tcp/8080 was taken out of edge');
    expect(world.reasonOf(ref), 'the address is where it should be').toBe('Assigned');
    expect(world.reasonOf(ref, 'Degraded')).toBe('FirewallClosed');
    await world.untilReason(ref, 'FirewallOpened', 'FirewallReady', MINUTE);
    expect(world.firewall().ports).toEqual(['tcp/22', 'tcp/8080']);
    expect(world.reasonOf(ref, 'Degraded')).toBe('AsExpected');
    expect(world.eventsOf(ref).filter((reason) => reason === 'FirewallClosed')).toHaveLength(1);
    expect(assigns(world), 'nothing is moved').toBe(before);
  });

  test('a node as well as a port', async ({ open }) => {
    const world = open();
    const ref = await serving(world);
    byHand(world, () => world.provider.cloud.uncoverNodes(FIREWALL, [providerIDOf('b')]));
    await world.clock.runUntil(() => world.firewall().nodes.length === 1, VERIFIED);
    await world.clock.runUntil(() => conditionOf(world, ref).status === 'True', MINUTE);
    expect(world.eventsOf(ref)).toContain('FirewallClosed');
  });

  test('with the firewall, which is made again: it says so, and puts all back into the new one', async ({ open }) => {
    const world = open();
    const ref = await serving(world);
    world.provider.cloud.removeFirewall(FIREWALL);
    await world.clock.runUntil(() => conditionOf(world, ref).message.includes('firewall "edge" does not exist'), VERIFIED);
    expect(conditionOf(world, ref)).toMatchObject({ status: 'False', reason: 'FirewallClosed' });
    world.provider.cloud.addFirewall(FIREWALL, ['tcp/23']);
    await world.clock.runUntil(() => conditionOf(world, ref).status === 'True', VERIFIED);
    expect(world.firewall()).toEqual({ ports: ['tcp/23', 'tcp/8080'], nodes: [providerIDOf('b')] });
  });

  test('and cannot be put back for want of room, is tried again, and keeps nothing else from being opened', async ({ open }) => {
    const world = open();
    const ref = await serving(world);
    byHand(world, () => world.provider.cloud.closePorts(FIREWALL, [WEB]));
    const others = Array.from({ length: 50 }, (_, index) => `tcp/${1000 + index}`);
    world.provider.cloud.addFirewall(FIREWALL, others, [providerIDOf('b')]);
    await world.clock.runUntil(() => conditionOf(world, ref).message.includes('50 are allowed'), VERIFIED);
    world.provider.cloud.addFirewall(FIREWALL, ['tcp/22'], [providerIDOf('b')]);
    await world.clock.runUntil(() => conditionOf(world, ref).status === 'True', VERIFIED);
    expect(world.firewall().ports).toEqual(['tcp/22', 'tcp/8080']);
  });

  test('is put back as soon as somebody else claims something, too', async ({ open }) => {
    const world = open();
    await serving(world);
    byHand(world, () => world.provider.cloud.closePorts(FIREWALL, [WEB]));
    world.setWeb('blog', NAMES, { ports: [servicePort(9090)] });
    world.address(B);
    await world.stable(world.setRoutedIP('blog', { routedIP: B }), 'a');
    expect(world.firewall().ports).toEqual(['tcp/22', 'tcp/8080', 'tcp/9090']);
  });

  test('costs one list call with each verification, and none where nothing is open', async ({ open }) => {
    const world = open();
    await serving(world);
    const before = lists(world);
    await world.clock.advance(50 * MINUTE);
    expect(lists(world) - before).toBeGreaterThan(8);
    expect(lists(world) - before).toBeLessThan(12);
    const without = open();
    without.setClass({ routedIPFirewallName: '' });
    without.setNode(...NODES);
    without.address(A);
    without.setWeb('shop', NAMES);
    await without.leader();
    await without.stable(without.setRoutedIP('shop', { routedIP: A }));
    await without.clock.advance(30 * MINUTE);
    expect(lists(without)).toBe(0);
  });
});

describe('a call to a firewall of which no answer was heard', () => {
  test('and that removes what is claimed again meanwhile: that counts as open only once it is there after all', async ({ open }) => {
    const world = open();
    const ref = await serving(world);
    world.provider.faults.next('deleteRoutedIPFirewallPort', { kind: 'hang', effectAfterMs: 14 * SECOND });
    world.setWeb('shop', NAMES, { ports: [servicePort(9090)] });
    const isClosing = (): boolean => world.provider.calls.some(({ verb }) => verb === 'deleteRoutedIPFirewallPort');
    await world.clock.runUntil(isClosing, MINUTE);
    for (const process of world.processes) process.kill();
    world.lease.delete();
    world.setWeb('shop', NAMES);
    const next = await world.leader();
    await world.clock.runUntil(() => next.supervisor.leading, MINUTE);
    expect(world.firewall().ports, 'what was sent has not arrived yet').toContain('tcp/8080');
    const isOpen = (): boolean => conditionOf(world, ref).reason === 'FirewallOpened' && world.statusOf(ref).state === 'Stable';
    await world.clock.runUntil(() => world.statusOf(ref).state === 'FirewallOpening', MINUTE);
    await world.clock.runUntil(isOpen, MINUTE);
    expect(world.firewall().ports).toContain('tcp/8080');
    await world.clock.advance(30 * SECOND);
    expect(world.firewall().ports, 'and stays so').toContain('tcp/8080');
    expect(world.eventsOf(ref)).not.toContain('FirewallClosed');
  });

  test('and that adds what nobody claims by then: it is removed once it is there', async ({ open }) => {
    const world = open();
    const ref = await serving(world);
    world.provider.faults.next('addRoutedIPFirewallPort', { kind: 'hang', effectAfterMs: 14 * SECOND });
    world.setWeb('shop', NAMES, { ports: [servicePort(8080), servicePort(9090)] });
    const isOpening = (): boolean => world.provider.calls.filter(({ verb }) => verb === 'addRoutedIPFirewallPort').length === 2;
    await world.clock.runUntil(isOpening, MINUTE);
    for (const process of world.processes) process.kill();
    world.lease.delete();
    world.setWeb('shop', NAMES);
    const next = await world.leader();
    await world.clock.runUntil(() => next.supervisor.leading, MINUTE);
    expect(world.firewall().ports, 'what was sent has not arrived yet').not.toContain('tcp/9090');
    await world.stable(ref, 'b', MINUTE);
    await world.clock.advance(30 * SECOND);
    expect(world.firewall().ports).toEqual(['tcp/22', 'tcp/8080']);
  });
});
