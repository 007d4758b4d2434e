import { describe, expect } from 'vitest';
import type { Address, ObjectRef } from '../../../machines/model/types.ts';
import { node, providerIDOf } from '../../support/world.ts';
import { test } from '../routedip/routedip-test.ts';
import { MINUTE, type RoutedWorld, SECOND } from '../routedip/world.ts';

const A = '203.0.113.7' as Address;
const B = '203.0.113.8' as Address;
const NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k'];
const NODES = NAMES.map((name, index) => node(name, { createdAt: index }));

const lost = (name: string) => ({ ...node(name), ready: false });
const stick = (world: RoutedWorld, name: string, stuck = true): void => world.provider.cloud.setFirewallStuck(providerIDOf(name), stuck);

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
  return world.setRoutedIP('shop', { routedIP: A });
}
const assigns = (world: RoutedWorld): number => world.changes().filter((verb) => verb === 'assignRoutedIP').length;

describe('a firewall whose changes are never applied', () => {
  test('on none of 6 nodes: an address that serves nowhere is not left so for half a minute per node', async ({ open }) => {
    const world = open();
    const names = NAMES.slice(0, 6);
    const ref = await ready(world, names);
    await world.stable(ref, 'f');
    for (const name of names) stick(world, name);
    world.cluster.setNode(lost('f'));
    const after = await world.clock.runUntil(() => !['f', null].includes(world.holderOf(A)), 30 * MINUTE);
    expect(after).toBeLessThan(75 * SECOND);
  });

  test('on none of 11 nodes: an address that serves nowhere comes to one of them all the same', async ({ open }) => {
    const world = open();
    const ref = await ready(world, NAMES);
    await world.stable(ref, 'k');
    for (const name of NAMES) stick(world, name);
    world.cluster.setNode(lost('k'));
    await world.clock.runUntil(() => !['k', null].includes(world.holderOf(A)), 30 * MINUTE);
  });

  test('a node that was given up is taken out of the firewall again, and keeps no room there', async ({ open }) => {
    const world = open();
    const ref = await ready(world, NAMES.slice(0, 4));
    await world.stable(ref, 'd');
    for (const name of ['a', 'b', 'c']) stick(world, name);
    world.cluster.setNode(lost('d'));
    await world.clock.advance(45 * SECOND);
    expect(world.firewall().nodes, 'c was given up').toEqual([providerIDOf('b'), providerIDOf('d')]);
  });

  test('an address that serves on a node which works stays there, also when the node that hangs was away for a moment', async ({
    open,
  }) => {
    const world = open();
    const ref = await ready(world, ['c', 'd'], { drainPolicy: 'OnCordon' });
    await world.stable(ref, 'd');
    stick(world, 'c');
    world.cluster.setNode({ ...node('d', { createdAt: 3 }), unschedulable: true });
    await world.clock.advance(5 * MINUTE);
    expect(world.holderOf(A)).toBe('d');
    world.cluster.removeNode('c');
    await world.clock.advance(5 * SECOND);
    world.cluster.setNode(node('c', { createdAt: 2 }));
    await world.clock.advance(5 * MINUTE);
    expect([world.holderOf(A), assigns(world)]).toEqual(['d', 1]);
  });

  test('the same, of two nodes that hang, while the second one is waited for', async ({ open }) => {
    const world = open();
    const ref = await ready(world, ['b', 'c', 'd'], { drainPolicy: 'OnCordon' });
    await world.stable(ref, 'd');
    stick(world, 'b');
    stick(world, 'c');
    world.cluster.setNode({ ...node('d', { createdAt: 3 }), unschedulable: true });
    await world.clock.advance(45 * SECOND);
    world.cluster.removeNode('c');
    await world.clock.advance(5 * SECOND);
    world.cluster.setNode(node('c', { createdAt: 2 }));
    await world.clock.advance(10 * MINUTE);
    expect([world.holderOf(A), assigns(world)]).toEqual(['d', 1]);
  });

  test('on a node that is ours and has its address long since: holds up nobody else', async ({ open }) => {
    const world = open();
    const ref = await ready(world, ['c', 'd']);
    await world.stable(ref, 'd');
    stick(world, 'd');
    const blog = world.setRoutedIP('blog', { routedIP: B });
    const from = world.clock.now();
    await world.stable(blog, 'a', 10 * MINUTE);
    expect(world.clock.now() - from).toBeLessThan(3 * SECOND);
  });

  test('and are tried again and again by an address that could stay: it is Ready nearly all the time', async ({ open }) => {
    const world = open();
    const ref = await ready(world, ['c', 'd'], { drainPolicy: 'OnCordon' });
    await world.stable(ref, 'd');
    stick(world, 'c');
    world.cluster.setNode({ ...node('d', { createdAt: 3 }), unschedulable: true });
    await world.clock.advance(5 * MINUTE);
    let notReady = 0;
    for (let second = 0; second < 3600; second += 1) {
      await world.clock.advance(SECOND);
      if (world.reasonOf(ref) !== 'Assigned') notReady += 1;
    }
    expect(notReady).toBeLessThan(60);
  });

  test('on the node of a claimant that took its RoutedIP away: nobody looks for it for ever', async ({ open }) => {
    const world = open();
    const ref = await ready(world, ['c', 'd']);
    await world.stable(ref, 'd');
    stick(world, 'c');
    world.cluster.setNode(lost('d'));
    await world.clock.advance(5 * SECOND);
    world.cluster.markDeleting(ref);
    await world.clock.runUntil(() => world.cluster.pool(ref) === null, MINUTE);
    await world.clock.advance(MINUTE);
    const calls = world.provider.calls.length;
    await world.clock.advance(4 * MINUTE);
    expect(world.provider.calls.length - calls).toBeLessThan(6);
    expect(world.firewall().nodes).toEqual([]);
  });

  test('after a takeover while an address stands where its firewall hangs: it stays, and is told the same', async ({ open }) => {
    const world = open();
    const ref = await ready(world, ['c', 'd']);
    await world.stable(ref, 'd');
    stick(world, 'c');
    world.cluster.setNode(lost('d'));
    await world.clock.runUntil(() => world.holderOf(A) === 'c', MINUTE);
    for (const wipes of [false, true]) {
      for (const process of world.processes) process.kill();
      if (wipes) {
        world.store.wipe();
        world.queues.wipe();
        world.invariants.forget();
      }
      await world.start();
      await world.clock.advance(3 * MINUTE);
      expect([wipes, world.holderOf(A), assigns(world), world.reasonOf(ref)]).toEqual([wipes, 'c', 2, 'FirewallNotReady']);
    }
    stick(world, 'c', false);
    await world.stable(ref, 'c', 6 * MINUTE);
  });
});
