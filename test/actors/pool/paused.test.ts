import { describe, expect } from 'vitest';
import type { ObjectRef } from '../../../machines/model/types.ts';
import { killAll } from '../../support/setups.ts';
import { node, type World } from '../../support/world.ts';
import { test } from '../routedip/routedip-test.ts';
import type { RoutedWorld } from '../routedip/world.ts';

const A = '203.0.113.7';
const B = '203.0.113.8';
const PAUSED = { 'routedip.io/paused': 'true' };

const condition = (world: World, ref: ObjectRef, type: string) => world.cluster.conditions(ref).find((each) => each.type === type);
const eventsOf = (world: World, reason: string) =>
  world.cluster.projections.flatMap(({ events }) => events).filter((event) => event.reason === reason);

/** The pool holds A on a; b and c are free. Then it is paused. */
async function paused(world: RoutedWorld, spec: Parameters<World['pool']>[1] = {}): Promise<ObjectRef> {
  world.nodes(node('a'), node('b'), node('c'));
  world.address(A, 'a');
  const ref = world.pool('ingress', { ips: [A], ...spec });
  await world.start();
  await world.untilStates(ref, { [A]: 'active' });
  world.cluster.annotate(ref, PAUSED);
  await world.clock.runUntil(() => condition(world, ref, 'Paused')?.status === 'True', 1_000);
  return ref;
}

const resume = (world: World, ref: ObjectRef) => world.cluster.annotate(ref, {});

describe('a pool that is paused', () => {
  test('says so, once, and leaves its addresses where they are when their node fails; it moves them as soon as it is resumed', async ({
    open,
  }) => {
    const world = open();
    const ref = await paused(world);
    expect(eventsOf(world, 'Paused')).toHaveLength(1);
    expect(condition(world, ref, 'Ready')?.status).toBe('True');
    world.cluster.setNode(node('a', { ready: false }));
    await world.clock.advance(600_000);
    expect([world.holderOf(A), world.provider.writes(), world.states(ref), world.cluster.annotations()]).toEqual([
      'a',
      [],
      { [A]: 'active' },
      { a: A },
    ]);
    expect(condition(world, ref, 'Ready')).toMatchObject({
      status: 'False',
      reason: 'Paused',
      message: expect.stringContaining(`${A} is on a, which does not match any more`),
    });
    resume(world, ref);
    expect(await world.untilOn(A, 'b', 1_000)).toBeLessThan(500);
    await world.untilStates(ref, { [A]: 'active' });
    await world.clock.runUntil(() => eventsOf(world, 'Resumed').length === 1 && !condition(world, ref, 'Paused'), 1_000);
  });

  test('does at once what was missed although the node had time to come back', async ({ open }) => {
    const world = open();
    const ref = await paused(world, { recoveryGraceSeconds: 60 });
    world.cluster.setNode(node('a', { ready: false }));
    await world.clock.advance(30_000);
    world.cluster.setNode(node('b'));
    await world.clock.advance(120_000);
    expect([world.holderOf(A), world.states(ref)]).toEqual(['a', { [A]: 'active' }]);
    resume(world, ref);
    expect(await world.untilOn(A, 'b', 1_000)).toBeLessThan(500);
  });

  test('moves nothing when the node is back before the end of the pause', async ({ open }) => {
    const world = open();
    const ref = await paused(world);
    world.cluster.setNode(node('a', { ready: false }));
    await world.clock.advance(60_000);
    world.cluster.setNode(node('a'));
    await world.clock.advance(1_000);
    resume(world, ref);
    await world.clock.advance(60_000);
    expect([world.holderOf(A), world.provider.writes()]).toEqual(['a', []]);
  });

  test('creates nothing although it was about to: the addresses that there are were being read', async ({ open }) => {
    const world = open({ provider: { callMs: 2_000 } });
    world.nodes(node('a'), node('b'));
    world.address(A, 'a');
    const ref = world.pool('ingress', { ips: [A] });
    await world.start();
    await world.untilStates(ref, { [A]: 'active' }, 30_000);
    const read = world.provider.calls.length;
    world.pool('ingress', { ips: [A], desiredIPs: 2 });
    await world.clock.runUntil(
      () => world.provider.calls.slice(read).some(({ verb, result }) => verb === 'listRoutedIPs' && result === 'sent'),
      5_000,
    );
    world.cluster.annotate(ref, PAUSED);
    await world.clock.advance(600_000);
    expect(world.provider.writes()).toEqual([]);
    expect((world.status(ref) as { readonly pendingCreate?: unknown }).pendingCreate).toBeUndefined();
    resume(world, ref);
    await world.clock.runUntil(() => Object.keys(world.states(ref)).length === 2, 30_000);
    expect(world.provider.writes().map(({ verb }) => verb)).toContain('createRoutedIP');
  });

  test('drains no node, creates no address, gives none up and starts none until it is resumed', async ({ open }) => {
    const world = open();
    const ref = await paused(world, { drainPolicy: 'OnCordon' });
    world.address(B);
    world.cluster.setNode(node('a', { unschedulable: true }));
    world.pool('ingress', { ips: [B], desiredIPs: 2, drainPolicy: 'OnCordon' });
    await world.clock.advance(300_000);
    expect([world.holderOf(A), world.holderOf(B), world.provider.writes()]).toEqual(['a', null, []]);
    expect(condition(world, ref, 'Degraded')).toMatchObject({ status: 'True', reason: 'Paused' });
    resume(world, ref);
    await world.clock.runUntil(() => Object.values(world.states(ref)).filter((state) => state === 'active').length === 2, 60_000);
    expect(world.states(ref)).not.toHaveProperty([A]);
    expect(world.provider.writes().map(({ verb }) => verb)).toContain('createRoutedIP');
  });

  test('takes its annotation off an address that it lists no more, once it is resumed, also when another process leads by then', async ({
    open,
  }) => {
    const world = open();
    const ref = await paused(world);
    world.address(B);
    world.pool('ingress', { ips: [B] });
    await world.clock.advance(1_000);
    expect(world.cluster.annotations()).toEqual({ a: A });
    killAll(world);
    const next = await world.start();
    await world.clock.runUntil(() => next.supervisor.leading, 60_000);
    await world.clock.advance(60_000);
    expect(world.cluster.annotations()).toEqual({ a: A });
    resume(world, ref);
    await world.untilStates(ref, { [B]: 'active' }, 60_000);
    await world.clock.runUntil(() => !Object.values(world.cluster.annotations()).map(String).includes(A), 60_000);
    expect(Object.values(world.cluster.annotations())).toEqual([B]);
  });

  test('finishes a call that was sent, and tries no other one', async ({ open }) => {
    const world = open();
    const ref = await paused(world);
    resume(world, ref);
    await world.clock.advance(1_000);
    world.cluster.setNode(node('a', { ready: false }));
    await world.clock.runUntil(() => world.assigns().length === 1, 1_000);
    world.cluster.annotate(ref, PAUSED);
    await world.untilOn(A, 'b', 1_000);
    await world.untilStates(ref, { [A]: 'active' }, 5_000);
    await world.clock.advance(60_000);
    expect([world.assigns().length, world.cluster.annotations()]).toEqual([1, { b: A }]);
  });

  test('tries nothing again that has failed', async ({ open }) => {
    const world = open();
    const ref = await paused(world);
    resume(world, ref);
    await world.clock.advance(1_000);
    world.provider.faults.next('assignRoutedIP', { kind: 'refuse', error: 'Unavailable' }, 1);
    world.cluster.setNode(node('a', { ready: false }));
    await world.clock.runUntil(() => world.states(ref)[A as never] === 'error', 5_000);
    world.cluster.annotate(ref, PAUSED);
    await world.clock.advance(600_000);
    expect([world.holderOf(A), world.assigns().length]).toEqual(['a', 1]);
    resume(world, ref);
    await world.untilOn(A, 'b', 5_000);
  });

  test('takes an address that is moved by hand for where it is, and keeps it there', async ({ open }) => {
    const world = open();
    const ref = await paused(world, { contention: { moves: 1, windowSeconds: 600 } });
    world.provider.cloud.moveByHand(A as never, 'digitalocean://c' as never);
    await world.clock.runUntil(() => world.cluster.annotations().c === A, 600_000);
    resume(world, ref);
    await world.clock.advance(60_000);
    expect([world.holderOf(A), world.assigns()]).toEqual(['c', []]);
  });

  test('stays so under another leader, also one that remembers nothing, and keeps its annotation on the node', async ({ open }) => {
    const world = open();
    const ref = await paused(world);
    for (const process of world.processes) process.kill();
    world.store.wipe();
    world.cluster.setNode(node('a'), node('b', { ready: false }));
    await world.start();
    await world.clock.advance(120_000);
    expect([world.states(ref), world.cluster.annotations(), world.provider.writes()]).toEqual([{ [A]: 'active' }, { a: A }, []]);
    world.cluster.setNode(node('a', { ready: false }), node('b'));
    await world.clock.advance(60_000);
    expect(world.provider.writes()).toEqual([]);
    resume(world, ref);
    await world.untilOn(A, 'c', 1_000);
  });

  test('goes when it is deleted: its addresses stay where they are in any case', async ({ open }) => {
    const world = open();
    const ref = await paused(world);
    world.cluster.removePool(ref);
    await world.clock.runUntil(() => Object.keys(world.cluster.annotations()).length === 0, 5_000);
    expect([world.holderOf(A), world.provider.writes()]).toEqual(['a', []]);
  });
});

describe('an annotation with another value', () => {
  test('counts as not paused, and is said to be wrong in the condition and by one Event', async ({ open }) => {
    const world = open();
    const ref = await paused(world);
    world.cluster.annotate(ref, { 'routedip.io/paused': 'yes' });
    await world.clock.runUntil(() => condition(world, ref, 'Paused')?.reason === 'InvalidAnnotation', 1_000);
    expect(condition(world, ref, 'Paused')).toMatchObject({
      status: 'False',
      message: 'routedip.io/paused is "yes", which is neither "true" nor "false": it counts as "false"',
    });
    world.cluster.setNode(node('a', { ready: false }));
    await world.untilOn(A, 'b', 1_000);
    expect(eventsOf(world, 'InvalidAnnotation')).toHaveLength(1);
    world.cluster.annotate(ref, { 'routedip.io/paused': 'false' });
    await world.clock.runUntil(() => condition(world, ref, 'Paused')?.reason === 'NotPaused', 1_000);
  });
});

describe('a RoutedIP that is paused', () => {
  /** `shop` is served on a and b, by an address that was created. */
  const served = async (world: RoutedWorld): Promise<ObjectRef> => {
    world.setClass({ routedIPReclaimPolicy: 'Delete' });
    world.setNode(node('a'), node('b'));
    world.setWeb('shop', ['a']);
    const ref = world.setRoutedIP('shop');
    await world.start();
    await world.stable(ref, 'a');
    world.cluster.annotate(ref, PAUSED);
    await world.untilReason(ref, 'Paused', 'Paused');
    return ref;
  };

  test('is neither moved nor is a firewall changed for it; both are made up for at the end', async ({ open }) => {
    const world = open();
    const ref = await served(world);
    const before = [world.changes().length, world.firewall()];
    world.setWeb('shop', ['b'], { ports: [] });
    await world.clock.advance(300_000);
    expect([world.changes().length, world.firewall()]).toEqual(before);
    expect(world.reasonOf(ref)).toBe('Paused');
    resume(world, ref);
    await world.stable(ref, 'b');
    await world.clock.runUntil(() => world.firewall().ports.join() === 'tcp/22', 10_000);
  });

  test('is not released when it is deleted before it is resumed, and says so', async ({ open }) => {
    const world = open();
    const ref = await served(world);
    const before = world.changes().length;
    world.cluster.markDeleting(ref);
    await world.clock.runUntil(() => world.messageOf(ref, 'Paused').includes('deleted'), 5_000);
    await world.clock.advance(300_000);
    expect([world.changes().length, world.cluster.pool(ref)?.deleting]).toEqual([before, true]);
    resume(world, ref);
    await world.clock.runUntil(() => world.cluster.pool(ref) === null, 10_000);
    expect(world.changes()).toContain('deleteRoutedIP');
  });

  test('is let go at once by force', async ({ open }) => {
    const world = open();
    const ref = await served(world);
    world.cluster.markDeleting(ref);
    await world.clock.advance(10_000);
    expect(world.cluster.pool(ref)).not.toBeNull();
    world.cluster.annotate(ref, { ...PAUSED, 'routedip.io/force-release': 'true' });
    await world.clock.runUntil(() => world.cluster.pool(ref) === null, 10_000);
    expect(world.changes()).not.toContain('deleteRoutedIP');
  });

  test('is not released by another leader either', async ({ open }) => {
    const world = open();
    const ref = await served(world);
    world.cluster.markDeleting(ref);
    for (const process of world.processes) process.kill();
    await world.start();
    await world.clock.advance(120_000);
    expect(world.cluster.pool(ref)?.deleting).toBe(true);
    expect(world.changes()).not.toContain('deleteRoutedIP');
  });
});
