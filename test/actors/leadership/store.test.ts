import { describe, expect } from 'vitest';
import type { Address, ObjectRef } from '../../../machines/model/types.ts';
import { gaps, ingress, killAll, lose, untilAssigns } from '../../support/setups.ts';
import { test } from '../../support/sound.ts';
import { node, PROVIDER, type World } from '../../support/world.ts';

const A = '203.0.113.207' as Address;
const B = '203.0.113.208' as Address;
const SECOND = 1000;
const BOTH = { [A]: 'active', [B]: 'active' } as const;

/** A pool with A on node a and B on node b, and node c to spare. */
const serving = async (world: World, spec: { readonly desiredIPs?: number } = {}): Promise<ObjectRef> => {
  const ref = ingress(world, { nodes: ['a', 'b', 'c'], addresses: { [A]: 'a', [B]: 'b' }, ...spec });
  await world.start();
  await world.untilStates(ref, BOTH);
  await world.clock.advance(20 * SECOND);
  return ref;
};

describe('while the record store is away', () => {
  for (const seconds of [5, 30]) {
    test(`for ${seconds} s, what happens meanwhile is done when it is back`, async ({ open }) => {
      const world = open();
      const ref = await serving(world);
      world.store.goDown();
      lose(world, 'a');
      await world.clock.advance(seconds * SECOND);
      expect(world.assigns()).toEqual([]);
      world.store.comeBack();
      await world.untilOn(A, 'c', 3 * SECOND);
      await world.untilStates(ref, BOTH);
      expect(world.assigns()).toHaveLength(1);
    });

    test(`for ${seconds} s in the middle of an assign, it ends and is not repeated`, async ({ open }) => {
      const world = open({ provider: { actionMs: 3_000 } });
      const ref = await serving(world);
      lose(world, 'a');
      await untilAssigns(world, 1, SECOND);
      world.store.goDown();
      await world.clock.advance(seconds * SECOND);
      expect(world.holderOf(A)).toBe('c');
      world.store.comeBack();
      await world.untilStates(ref, BOTH);
      await world.clock.advance(60 * SECOND);
      expect(world.assigns()).toHaveLength(1);
    });
  }

  test('together with the queues, everything goes on when both are back', async ({ open }) => {
    const world = open();
    const ref = await serving(world);
    lose(world, 'a');
    await untilAssigns(world, 1, SECOND);
    world.store.goDown();
    world.queues.goDown();
    await world.clock.advance(30 * SECOND);
    world.store.comeBack();
    world.queues.comeBack();
    await world.untilStates(ref, BOTH, 60 * SECOND);
    expect(world.holderOf(A)).toBe('c');
    await world.clock.advance(60 * SECOND);
    expect(world.assigns()).toHaveLength(1);
  });

  test('from the start, the process waits for it', async ({ open }) => {
    const world = open();
    const ref = ingress(world, { nodes: ['a'], addresses: { [A]: null } });
    world.store.goDown();
    await world.start();
    await world.clock.advance(30 * SECOND);
    world.store.comeBack();
    await world.untilStates(ref, { [A]: 'active' }, 30 * SECOND);
  });
});

describe('when replies of the record store are lost', () => {
  for (const count of [1, 2, 5]) {
    test(`${count} in a row, each write counts once`, async ({ open }) => {
      const world = open();
      const ref = await serving(world);
      world.store.loseReplies(count);
      lose(world, 'a');
      await world.untilOn(A, 'c', 10 * SECOND);
      await world.untilStates(ref, BOTH);
      lose(world, 'b');
      world.cluster.setNode(node('a'));
      await world.untilOn(B, 'a', 10 * SECOND);
      await world.untilStates(ref, BOTH);
      expect(world.assigns()).toHaveLength(2);
    });
  }

  test('of the write that creates the records, the pool starts all the same', async ({ open }) => {
    const world = open();
    const ref = ingress(world, { nodes: ['a'], addresses: { [A]: null } });
    world.store.loseReplies(3);
    await world.start();
    await world.untilStates(ref, { [A]: 'active' });
    expect(world.assigns()).toHaveLength(1);
  });

  test('of the write that ends a pool, it is gone all the same', async ({ open }) => {
    const world = open();
    const ref = await serving(world);
    world.store.loseReplies(1);
    world.cluster.removePool(ref);
    await world.clock.advance(20 * SECOND);
    expect((await world.store.cells()).filter((cell) => cell.startsWith('pool/'))).toEqual([]);
    expect(world.cluster.annotations()).toEqual({});
  });
});

describe('when the store restarts without its last writes', () => {
  test('nothing that was done since is forgotten or done again', async ({ open }) => {
    const world = open();
    const ref = await serving(world);
    const before = world.store.checkpoint();
    lose(world, 'a');
    await world.untilOn(A, 'c');
    await world.untilStates(ref, BOTH);
    world.store.restart(before);
    await world.clock.advance(30 * SECOND);
    expect(world.holderOf(A)).toBe('c');
    expect(world.states(ref)).toEqual(BOTH);
    lose(world, 'b');
    world.cluster.setNode(node('a'));
    await world.untilOn(B, 'a', 5 * SECOND);
    expect(world.assigns()).toHaveLength(2);
  });

  test('in the middle of an assign, it is not repeated', async ({ open }) => {
    const world = open({ provider: { actionMs: 5_000 } });
    const ref = await serving(world);
    const before = world.store.checkpoint();
    lose(world, 'a');
    await untilAssigns(world, 1, SECOND);
    await world.clock.advance(SECOND);
    world.store.restart(before);
    await world.untilStates(ref, BOTH, 60 * SECOND);
    await world.clock.advance(60 * SECOND);
    expect(world.holderOf(A)).toBe('c');
    expect(world.assigns()).toHaveLength(1);
  });

  test('while no process runs, nothing that sits right is moved', async ({ open }) => {
    const world = open();
    const ref = await serving(world);
    const before = world.store.checkpoint();
    lose(world, 'a');
    await world.untilOn(A, 'c');
    await world.untilStates(ref, BOTH);
    killAll(world);
    world.store.restart(before);
    await world.start();
    await world.clock.advance(60 * SECOND);
    expect(world.holderOf(A)).toBe('c');
    expect(world.states(ref)).toEqual(BOTH);
    expect(world.assigns()).toHaveLength(1);
  });

  test('while no process runs, in the middle of a former assign, nothing that sits right is moved', async ({ open }) => {
    const world = open({ provider: { actionMs: 2_000 } });
    const ref = await serving(world);
    lose(world, 'a');
    await untilAssigns(world, 1, SECOND);
    const before = world.store.checkpoint();
    await world.untilStates(ref, BOTH);
    world.nodes(node('d'));
    lose(world, 'c');
    await world.untilOn(A, 'd');
    await world.untilStates(ref, BOTH);
    world.cluster.setNode(node('c'));
    killAll(world);
    world.store.restart(before);
    world.queues.wipe();
    await world.start();
    await world.clock.advance(120 * SECOND);
    expect(world.states(ref)).toEqual(BOTH);
    expect(world.holderOf(A)).toBe('d');
    expect(world.assigns()).toHaveLength(2);
  });

  test('before the creation that it made, no second address is created', async ({ open }) => {
    const world = open();
    const ref = await serving(world);
    const before = world.store.checkpoint();
    world.nodes(node('d'));
    world.pool('ingress', { ips: [A, B], desiredIPs: 3 });
    await world.clock.runUntil(() => world.status(ref).activeIPs === 3, 30 * SECOND);
    killAll(world);
    world.store.restart(before);
    await world.start();
    await world.clock.advance(120 * SECOND);
    expect(world.provider.cloud.addresses()).toHaveLength(3);
    expect(world.status(ref).activeIPs).toBe(3);
  });
});

describe('when the store is emptied', () => {
  for (const [what, wipe] of Object.entries({
    'with its queues': (world: World) => {
      world.store.wipe();
      world.queues.wipe();
    },
    'without its queues': (world: World) => world.store.wipe(),
  })) {
    test(`${what} while an assign is under way, it ends and is not repeated`, async ({ open }) => {
      const world = open({ provider: { actionMs: 5_000 } });
      const ref = await serving(world);
      lose(world, 'a');
      await untilAssigns(world, 1, SECOND);
      await world.clock.advance(SECOND);
      wipe(world);
      await world.untilStates(ref, BOTH, 60 * SECOND);
      await world.clock.advance(60 * SECOND);
      expect(world.holderOf(A)).toBe('c');
      expect(world.assigns()).toHaveLength(1);
    });

    test(`${what} at rest, the next failover is as quick as ever`, async ({ open }) => {
      const world = open();
      const ref = await serving(world);
      wipe(world);
      await world.clock.advance(20 * SECOND);
      expect(world.provider.writes()).toEqual([]);
      lose(world, 'a');
      await world.untilOn(A, 'c', SECOND);
      await world.untilStates(ref, BOTH);
    });

    test(`${what} and a node is lost at the same moment, the address moves`, async ({ open }) => {
      const world = open();
      const ref = await serving(world);
      wipe(world);
      lose(world, 'a');
      await world.untilOn(A, 'c', 5 * SECOND);
      await world.untilStates(ref, BOTH);
      expect(world.assigns()).toHaveLength(1);
    });

    test(`${what} while no process runs, everything is rebuilt, nothing moves and nothing is created`, async ({ open }) => {
      const world = open();
      const ref = await serving(world, { desiredIPs: 3 });
      await world.clock.runUntil(() => world.status(ref).activeIPs === 3, 60 * SECOND);
      const held = world.provider.cloud.addresses();
      const writes = world.provider.writes().length;
      killAll(world);
      wipe(world);
      await world.start();
      await world.clock.advance(60 * SECOND);
      expect(world.provider.cloud.addresses()).toEqual(held);
      expect(world.provider.writes()).toHaveLength(writes);
      expect(world.status(ref).activeIPs).toBe(3);
      lose(world, 'a');
      world.nodes(node('d'));
      await world.untilOn(A, 'd', SECOND);
    });
  }

  test('while a creation is under way and no process runs, no second address is created', async ({ open }) => {
    const world = open();
    const ref = ingress(world, { nodes: ['a'], desiredIPs: 1 });
    world.provider.faults.next('createRoutedIP', { kind: 'hang', effectAfterMs: 9_000 });
    const first = await world.start();
    await world.clock.runUntil(() => world.provider.writes().length === 1, 5 * SECOND);
    first.kill();
    world.store.wipe();
    world.queues.wipe();
    world.lease.delete();
    await world.start();
    await world.clock.runUntil(() => world.status(ref).activeIPs === 1, 120 * SECOND);
    await world.clock.advance(120 * SECOND);
    expect(world.provider.cloud.addresses()).toHaveLength(1);
  });

  test('the cool-off is kept', async ({ open }) => {
    const world = open();
    const ref = ingress(world, { nodes: ['a', 'b'], addresses: { [A]: null, [B]: null }, assignmentCoolOffSeconds: 60 });
    const first = await world.start();
    await world.untilStates(ref, { [A]: 'active', [B]: 'unassigned' });
    first.kill();
    world.store.wipe();
    world.queues.wipe();
    await world.start();
    await world.untilOn(B, 'b', 90 * SECOND);
    expect(gaps(world)[0]).toBeGreaterThanOrEqual(60 * SECOND);
    expect(gaps(world)[0]).toBeLessThan(63 * SECOND);
  });

  test('a pool that was deleted meanwhile leaves no annotation behind once its addresses are another pool’s', async ({ open }) => {
    const world = open();
    const ref = await serving(world);
    killAll(world);
    world.store.wipe();
    world.queues.wipe();
    world.invariants.forget();
    world.cluster.removePool(ref);
    const again = world.pool('other', { ips: [A] });
    await world.start();
    await world.untilStates(again, { [A]: 'active' });
    expect(world.cluster.annotations().a).toBe(A);
  });
});

describe('when the queues', () => {
  test('are away for 30 s, what happens meanwhile is done when they are back', async ({ open }) => {
    const world = open();
    const ref = await serving(world);
    world.queues.goDown();
    lose(world, 'a');
    await world.clock.advance(30 * SECOND);
    expect(world.assigns()).toEqual([]);
    world.queues.comeBack();
    await world.untilOn(A, 'c', 10 * SECOND);
    await world.untilStates(ref, BOTH);
    expect(world.assigns()).toHaveLength(1);
  });

  test('are away while an assign ends, its outcome is told when they are back', async ({ open }) => {
    const world = open({ provider: { actionMs: 3_000 } });
    const ref = await serving(world);
    lose(world, 'a');
    await untilAssigns(world, 1, SECOND);
    world.queues.goDown();
    await world.clock.advance(30 * SECOND);
    world.queues.comeBack();
    await world.untilStates(ref, BOTH, 30 * SECOND);
    expect(world.assigns()).toHaveLength(1);
  });

  test('are emptied alone while an assign is under way, its outcome is heard all the same', async ({ open }) => {
    const world = open({ provider: { actionMs: 3_000, callMs: 1_000 } });
    const ref = await serving(world);
    lose(world, 'a');
    await untilAssigns(world, 1, 2 * SECOND);
    world.queues.wipe();
    await world.untilStates(ref, { [A]: 'in-progress', [B]: 'active' }, SECOND);
    await world.untilStates(ref, BOTH, 900 * SECOND);
    expect(world.holderOf(A)).toBe('c');
    expect(world.assigns()).toHaveLength(1);
  });

  test('are emptied alone while an address waits after an error, it is tried again', async ({ open }) => {
    const world = open();
    const ref = await serving(world);
    world.provider.faults.next('assignRoutedIP', { kind: 'refuse', error: 'InProgress' }, 6);
    lose(world, 'a');
    await untilAssigns(world, 6);
    await world.clock.advance(SECOND);
    expect(world.queues.jobs(PROVIDER).length).toBeGreaterThan(0);
    world.queues.wipe();
    await world.untilStates(ref, BOTH, 900 * SECOND);
  });

  test('are emptied alone, the verification goes on', async ({ open }) => {
    const world = open();
    const ref = await serving(world);
    world.queues.wipe();
    world.provider.cloud.moveByHand(A, null);
    await world.untilOn(A, 'a', 900 * SECOND);
    await world.untilStates(ref, BOTH);
  });
});
