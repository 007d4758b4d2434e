import { describe, expect } from 'vitest';
import type { ObjectRef } from '../../../machines/model/types.ts';
import { node, type World } from '../../support/world.ts';
import { test } from '../routedip/routedip-test.ts';
import type { RoutedWorld } from '../routedip/world.ts';

const A = '203.0.113.7';
const B = '203.0.113.8';
const MOVE_TO = 'routedip.io/move-to';

const ask = (world: World, ref: ObjectRef, moveTo: string, others: Readonly<Record<string, string>> = {}) =>
  world.cluster.annotate(ref, { ...others, [MOVE_TO]: moveTo });
const asked = (world: World, ref: ObjectRef) => world.cluster.pool(ref)?.marks?.annotations[MOVE_TO];
const told = (world: World, reason: string) =>
  world.cluster.projections.flatMap(({ events }) => events.filter((event) => event.reason === reason).map(({ message }) => message));
const answered = (world: World, ref: ObjectRef, withinMs = 5_000) => world.clock.runUntil(() => asked(world, ref) === undefined, withinMs);

/** The pool holds A on a and B on b; c and d are free. */
async function served(world: World, spec: Parameters<World['pool']>[1] = {}): Promise<ObjectRef> {
  world.nodes(node('a'), node('b'), node('c'), node('d'));
  world.address(A, 'a');
  world.address(B, 'b');
  const ref = world.pool('ingress', { ips: [A, B], ...spec });
  await world.start();
  await world.clock.runUntil(() => world.states(ref)[A] === 'active' && world.states(ref)[B] === 'active', 10_000);
  return ref;
}

describe('an address that is asked to go to a node', () => {
  test('goes there, and to no other one; the request is taken off, and the address stays', async ({ open }) => {
    const world = open();
    const ref = await served(world);
    ask(world, ref, `${A}=d`);
    await world.untilOn(A, 'd', 1_000);
    await answered(world, ref);
    await world.untilStates(ref, { [A]: 'active', [B]: 'active' });
    await world.clock.advance(60_000);
    expect(world.assigns().map(({ what }) => what)).toEqual([`${A} → d`]);
    expect([told(world, 'Moved'), told(world, 'MoveRefused')]).toEqual([[`${A} is on d, as was asked for`], []]);
    expect(world.provider.cloud.history(A as never).map(({ providerID }) => providerID)).toEqual(['digitalocean://a', 'digitalocean://d']);
  });

  test('goes with others that are asked in the same annotation', async ({ open }) => {
    const world = open();
    const ref = await served(world);
    ask(world, ref, ` ${A}=d , ${B}=c,`);
    await answered(world, ref);
    expect([world.holderOf(A), world.holderOf(B), told(world, 'Moved').length]).toEqual(['d', 'c', 2]);
  });

  test('is refused in one Event with all others, when more than a hundred are asked for at once, or the text is longer than those can be', async ({
    open,
  }) => {
    const world = open();
    const ref = await served(world);
    const many = Array.from({ length: 18_000 }, (_, index) => `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}=n`).join(',');
    for (const text of [many, `${A}=${'d'.repeat(250_000)}`]) {
      ask(world, ref, text);
      await answered(world, ref);
    }
    expect(told(world, 'MoveRefused')).toEqual([
      'routedip.io/move-to has 241649 characters and asks for 18000 moves: at most 100 are looked at at once',
      'routedip.io/move-to has 250012 characters and asks for 1 move: at most 32768 are read',
    ]);
    expect(world.assigns()).toEqual([]);
    ask(world, ref, `${A}=d`);
    await world.untilOn(A, 'd', 1_000);
  });

  const refusals: Readonly<Record<string, readonly [(world: World) => void, string, string]>> = {
    'a node that is not there': [() => undefined, `${A}=x`, `${A} is not moved to x: no node of that name is Ready and matches`],
    'a node that is not Ready': [
      (world) => world.cluster.setNode(node('c', { ready: false })),
      `${A}=c`,
      `${A} is not moved to c: no node of that name is Ready and matches`,
    ],
    'a node that is to be evacuated': [
      (world) => world.cluster.setNode(node('c', { evacuating: true })),
      `${A}=c`,
      `${A} is not moved to c: the node is to be evacuated`,
    ],
    'a node that has an address of the pool': [() => undefined, `${A}=b`, `${A} is not moved to b: ${B} is on it, or on its way to it`],
    'an address of somebody else': [() => undefined, '203.0.113.99=c', '203.0.113.99 is no address of this pool'],
    'something else': [() => undefined, 'c', '"c" in routedip.io/move-to is not <address>=<node>'],
    'two nodes at once': [
      (world) => world.cluster.setNode(node('c', { ready: false })),
      `${A}=c,${A}=d`,
      `"${A}=d" in routedip.io/move-to comes after another node for the same address`,
    ],
  };
  for (const [what, [prepare, moveTo, message]] of Object.entries(refusals)) {
    test(`is refused ${what}: nothing moves, an Event says why, and the request is taken off`, async ({ open }) => {
      const world = open();
      const ref = await served(world);
      prepare(world);
      await world.clock.advance(1_000);
      ask(world, ref, moveTo);
      await answered(world, ref);
      await world.clock.advance(60_000);
      expect([world.assigns(), world.holderOf(A), world.holderOf(B)]).toEqual([[], 'a', 'b']);
      expect(told(world, 'MoveRefused')).toContain(message);
    });
  }

  test('is refused while an older pool has it, and while the pool wants fewer than it lists', async ({ open }) => {
    const world = open();
    const ref = await served(world, { ips: [A, B, '203.0.113.9'], desiredIPs: 2 });
    const younger = world.pool('younger', { ips: [A] });
    await world.clock.advance(1_000);
    ask(world, younger, `${A}=c`);
    ask(world, ref, '203.0.113.9=c');
    await answered(world, younger);
    await answered(world, ref);
    expect(told(world, 'MoveRefused')).toEqual([
      `${A} belongs to pool default/ingress, which keeps it`,
      '203.0.113.9 is disabled: as many as desiredIPs come before it',
    ]);
    expect(world.assigns()).toEqual([]);
  });

  test('is said to be there already when it is', async ({ open }) => {
    const world = open();
    const ref = await served(world);
    ask(world, ref, `${A}=a`);
    await answered(world, ref);
    expect([world.assigns(), told(world, 'Moved')]).toEqual([[], [`${A} is on a already`]]);
  });

  test('stays where it is when the node refuses it, and is not asked again', async ({ open }) => {
    const world = open();
    const ref = await served(world);
    world.provider.faults.next('assignRoutedIP', { kind: 'refuse', error: 'NodeInUse' }, 1);
    ask(world, ref, `${A}=d`);
    await answered(world, ref, 30_000);
    await world.untilStates(ref, { [A]: 'active', [B]: 'active' });
    await world.clock.advance(120_000);
    expect([world.holderOf(A), world.assigns().length]).toEqual(['a', 1]);
    expect(told(world, 'MoveRefused').join()).toContain(`${A} is not moved to d: it is left alone until`);
  });

  test('waits for the cool-off, and for the end of a pause', async ({ open }) => {
    const world = open();
    const ref = await served(world, { assignmentCoolOffSeconds: 20 });
    ask(world, ref, `${A}=c,${B}=d`, { 'routedip.io/paused': 'true' });
    await world.clock.advance(120_000);
    expect([world.assigns(), asked(world, ref)]).toEqual([[], `${A}=c,${B}=d`]);
    ask(world, ref, `${A}=c,${B}=d`);
    await world.clock.runUntil(() => world.assigns().length === 1, 30_000);
    await world.clock.runUntil(() => world.cluster.conditions(ref).some(({ reason }) => reason === 'MoveRequested'), 5_000);
    await answered(world, ref, 60_000);
    const [first = 0, second = 0] = world.assigns().map(({ at }) => at);
    expect(second - first).toBeGreaterThanOrEqual(20_000);
    expect([world.holderOf(A), world.holderOf(B)]).toEqual(['c', 'd']);
  });

  test('is answered once, also when the leader is killed on the way and nothing is remembered', async ({ open }) => {
    const world = open();
    const ref = await served(world);
    ask(world, ref, `${A}=d`);
    await world.clock.runUntil(() => world.assigns().length === 1, 1_000);
    for (const process of world.processes) process.kill();
    world.store.wipe();
    await world.start();
    await answered(world, ref, 120_000);
    await world.untilStates(ref, { [A]: 'active', [B]: 'active' });
    expect(world.holderOf(A)).toBe('d');
  });

  test('leaves a request alone that is newer than what was answered', async ({ open }) => {
    const world = open();
    const ref = await served(world);
    world.cluster.failWrites();
    ask(world, ref, `${A}=d`);
    await world.untilOn(A, 'd', 1_000);
    await world.clock.advance(2_000);
    ask(world, ref, `${A}=c`);
    world.cluster.mendWrites();
    await world.untilOn(A, 'c', 5_000);
    await answered(world, ref);
  });
});

describe('a RoutedIP that is asked to go to a node', () => {
  const routed = async (world: RoutedWorld): Promise<{ readonly ref: ObjectRef; readonly to: string }> => {
    world.setClass();
    world.setNode(node('a'), node('b'), node('c'));
    world.setWeb('shop', ['a', 'b']);
    const ref = world.setRoutedIP('shop');
    await world.start();
    await world.stable(ref);
    return { ref, to: world.statusOf(ref).assignedNode === 'a' ? 'b' : 'a' };
  };

  test('goes there, its firewall opened first', async ({ open }) => {
    const world = open();
    const { ref, to } = await routed(world);
    const before = world.changes().length;
    ask(world, ref, to);
    await world.stable(ref, to);
    await answered(world, ref);
    expect(world.changes().slice(before)).toEqual(['addRoutedIPFirewallNode', 'assignRoutedIP', 'deleteRoutedIPFirewallNode']);
    expect(world.eventsOf(ref)).toContain('Moved');
  });

  test('is refused one on which its Service does not run', async ({ open }) => {
    const world = open();
    const { ref } = await routed(world);
    const before = world.changes().length;
    ask(world, ref, 'c');
    await answered(world, ref);
    expect(world.changes().length).toBe(before);
    expect(world.eventsOf(ref)).toContain('MoveRefused');
  });

  test('is refused when the address that it names is an older pool’s', async ({ open }) => {
    const world = open();
    world.setClass();
    world.setNode(node('a'), node('b'));
    world.setWeb('shop', ['a', 'b']);
    world.address(A, 'a');
    const older = world.pool('ingress', { ips: [A] });
    await world.start();
    await world.untilStates(older, { [A]: 'active' });
    const ref = world.setRoutedIP('shop', { routedIP: A });
    await world.untilReason(ref, 'AddressConflict');
    ask(world, ref, 'b');
    await answered(world, ref);
    expect(told(world, 'MoveRefused')).toEqual([`${A} belongs to FloatingIPPool default/ingress, which keeps it`]);
    expect(world.assigns()).toEqual([]);
  });
});
