import { describe, expect } from 'vitest';
import type { Address, ObjectRef } from '../../../machines/model/types.ts';
import { node, providerIDOf } from '../../support/world.ts';
import { test } from '../routedip/routedip-test.ts';
import { FIREWALL, MINUTE, type RoutedWorld, SECOND } from '../routedip/world.ts';

const A = '203.0.113.7' as Address;
const B = '203.0.113.8' as Address;
const NODES = ['a', 'b', 'c', 'd'].map((name, index) => node(name, { createdAt: index }));

const lost = (name: string) => ({ ...node(name), ready: false });
const stick = (world: RoutedWorld, name: string, stuck = true): void => world.provider.cloud.setFirewallStuck(providerIDOf(name), stuck);

/** RoutedIPs `shop` (on nodes `served`) and `blog`; nodes are younger in the order of their names, and the youngest comes first. */
async function ready(
  world: RoutedWorld,
  served: readonly string[],
  policy: Parameters<RoutedWorld['setClass']>[0] = {},
): Promise<ObjectRef> {
  world.setClass(policy);
  world.setNode(...NODES);
  world.address(A);
  world.address(B);
  world.setWeb('shop', served);
  world.setWeb('blog', ['a']);
  await world.leader();
  const ref = world.setRoutedIP('shop', { routedIP: A });
  return ref;
}

describe('a firewall whose changes are never applied on a machine', () => {
  test('of somebody else holds up nobody', async ({ open }) => {
    const world = open();
    stick(world, 'foreign');
    const ref = await ready(world, ['c', 'd']);
    world.provider.cloud.addFirewall(FIREWALL, ['tcp/22'], [providerIDOf('foreign')]);
    await world.stable(ref, 'd', 3 * SECOND);
    world.cluster.setNode(lost('d'));
    await world.stable(ref, 'c', 3 * SECOND);
  });

  test('that was granted: the address goes to another one after half a minute, and the condition has said why', async ({ open }) => {
    const world = open();
    const ref = await ready(world, ['b', 'c', 'd']);
    await world.stable(ref, 'd');
    stick(world, 'c');
    world.cluster.setNode(lost('d'));
    await world.clock.advance(29 * SECOND);
    expect(world.holderOf(A), 'nothing moves before its ports are open').toBe('d');
    await world.stable(ref, 'b', 10 * SECOND);
    expect(world.eventsOf(ref)).toContain('FirewallNotReady');
    expect(world.reasonOf(ref, 'FirewallReady')).toBe('FirewallOpened');
    expect(world.firewall().nodes, 'and the one that hangs is left').toEqual([providerIDOf('b')]);
  });

  test('that is the only one: an address that serves nowhere goes there all the same, says so, and is well once it is applied', async ({
    open,
  }) => {
    const world = open();
    const ref = await ready(world, ['c', 'd']);
    await world.stable(ref, 'd');
    stick(world, 'c');
    world.cluster.setNode(lost('d'));
    await world.clock.runUntil(() => world.holderOf(A) === 'c', 40 * SECOND);
    await world.untilReason(ref, 'FirewallNotReady', 'Ready', 40 * SECOND);
    expect(world.messageOf(ref)).toContain('its changes were not applied on c within 30 s');
    expect(world.reasonOf(ref, 'FirewallReady')).toBe('FirewallNotReady');
    await world.clock.advance(10 * MINUTE);
    expect([world.reasonOf(ref), world.reasonOf(ref, 'FirewallReady')]).toEqual(['FirewallNotReady', 'FirewallNotReady']);
    expect(
      world.changes().filter((verb) => verb === 'assignRoutedIP'),
      'it is not sent to and fro',
    ).toHaveLength(2);
    stick(world, 'c', false);
    await world.stable(ref, 'c', 6 * MINUTE);
    expect(world.reasonOf(ref, 'FirewallReady')).toBe('FirewallOpened');
    stick(world, 'd');
    world.cluster.setNode(node('d', { createdAt: 3 }), lost('c'));
    await world.clock.advance(29 * SECOND);
    expect(world.holderOf(A), 'the next one waits anew').toBe('c');
  });

  test('keeps no other address that uses the firewall waiting', async ({ open }) => {
    const world = open();
    const shop = await ready(world, ['c', 'd']);
    await world.stable(shop, 'd');
    stick(world, 'c');
    world.cluster.setNode(lost('d'));
    await world.clock.advance(5 * SECOND);
    const blog = world.setRoutedIP('blog', { routedIP: B });
    await world.stable(blog, 'a', 3 * SECOND);
    expect(world.holderOf(A)).toBe('d');
    world.cluster.markDeleting(blog);
    await world.clock.runUntil(() => world.cluster.pool(blog) === null && !world.firewall().nodes.includes(providerIDOf('a')), 3 * SECOND);
  });

  test('is no place for an address that serves on a node which works', async ({ open }) => {
    const world = open();
    const ref = await ready(world, ['c', 'd'], { drainPolicy: 'OnCordon' });
    await world.stable(ref, 'd');
    stick(world, 'c');
    world.cluster.setNode({ ...node('d', { createdAt: 3 }), unschedulable: true });
    await world.clock.advance(30 * MINUTE);
    expect([world.holderOf(A), world.changes().filter((verb) => verb === 'assignRoutedIP')]).toEqual(['d', ['assignRoutedIP']]);
    world.cluster.setNode(lost('d'));
    await world.clock.runUntil(() => world.holderOf(A) === 'c', 2 * MINUTE);
  });

  test('after a takeover in the middle of the wait goes on as before', async ({ open }) => {
    const world = open();
    const ref = await ready(world, ['c', 'd']);
    await world.stable(ref, 'd');
    stick(world, 'c');
    world.cluster.setNode(lost('d'));
    await world.clock.advance(10 * SECOND);
    const [process] = world.processes;
    if (process) await world.restart(process);
    await world.clock.runUntil(() => world.holderOf(A) === 'c', 60 * SECOND);
    stick(world, 'c', false);
    await world.stable(ref, 'c', 2 * MINUTE);
  });
});
