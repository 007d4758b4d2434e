import { describe, expect } from 'vitest';
import { cutOff, leading, refuseCalls, twoServing } from '../../support/replicas.ts';
import { ingress, lose, untilAssigns } from '../../support/setups.ts';
import { test } from '../../support/sound.ts';
import { node, type World } from '../../support/world.ts';

const A = '203.0.113.207';
const B = '203.0.113.208';
const SECOND = 1000;
const BOTH = { [A]: 'active', [B]: 'active' } as const;

const serving = (world: World) => twoServing(world, { [A]: 'a', [B]: 'b' });

describe('a leader that the store does not answer', () => {
  test('makes room for a process that it does answer, and takes part again once it can', async ({ open }) => {
    const world = open();
    const { ref, first, second } = await serving(world);
    cutOff(first);
    lose(world, 'a');
    let both = 0;
    const takenAfter = await world.clock.runUntil(() => {
      if (leading(world).length > 1) both += 1;
      return second.supervisor.leading;
    }, 60 * SECOND);
    expect([takenAfter > 10 * SECOND, takenAfter < 20 * SECOND, both]).toEqual([true, true, 0]);
    await world.untilOn(A, 'c', 5 * SECOND);
    await world.untilStates(ref, BOTH);
    expect(world.assigns()).toHaveLength(1);

    first.store.mend();
    await world.clock.advance(30 * SECOND);
    expect(leading(world)).toEqual([second]);
    second.kill();
    await world.clock.runUntil(() => first.supervisor.leading, 30 * SECOND);
  });

  test('keeps the lease over a short outage', async ({ open }) => {
    const world = open();
    const { ref, first } = await serving(world);
    const { term } = first.supervisor;
    first.store.cut();
    await world.clock.advance(10 * SECOND);
    first.store.mend();
    lose(world, 'a');
    await world.untilOn(A, 'c', 5 * SECOND);
    await world.untilStates(ref, BOTH);
    expect([leading(world), first.supervisor.term]).toEqual([[first], term]);
  });

  test('does not get the lease before, when it has just been started', async ({ open }) => {
    const world = open();
    const { first, second } = await serving(world);
    second.store.cut();
    await world.clock.advance(5 * SECOND);
    first.kill();
    await world.clock.advance(60 * SECOND);
    expect([leading(world), world.lease.holder()]).toEqual([[], 'process-1']);
    const third = await world.start();
    await world.clock.runUntil(() => third.supervisor.leading, 30 * SECOND);
    expect(leading(world)).toEqual([third]);
  });
});

describe('when the store is away for everybody for a long time', () => {
  test('nobody leads, and somebody does at once when it is back', async ({ open }) => {
    const world = open();
    const { ref } = await serving(world);
    world.store.goDown();
    lose(world, 'a');
    await world.clock.advance(60 * SECOND);
    expect([leading(world), world.lease.holder()]).toEqual([[], null]);
    world.store.comeBack();
    await world.untilOn(A, 'c', 5 * SECOND);
    await world.untilStates(ref, BOTH);
    expect([leading(world).length, world.assigns().length]).toEqual([1, 1]);
  });

  test('and comes back empty, the only process goes on with what it remembers', async ({ open }) => {
    const world = open({ provider: { actionMs: 3_000 } });
    const refusals = refuseCalls(world, 'openTerm');
    const ref = ingress(world, { nodes: ['a', 'b', 'c'], addresses: { [A]: 'a', [B]: 'b' } });
    const only = await world.start();
    await world.untilStates(ref, BOTH);
    lose(world, 'a');
    await untilAssigns(world, 1);
    world.store.goDown();
    await world.clock.advance(60 * SECOND);
    expect(only.supervisor.leading).toBe(false);
    world.store.wipe();
    world.queues.wipe();
    world.invariants.forget();
    refusals.left = 1;
    world.store.comeBack();
    await world.untilStates(ref, BOTH);
    expect([refusals.left, world.log.findLast(({ message }) => message === 'leads')?.fields]).toEqual([
      0,
      expect.objectContaining({ records: 'memory' }),
    ]);
    await world.clock.advance(60 * SECOND);
    expect(world.assigns()).toHaveLength(1);
    lose(world, 'b');
    world.cluster.setNode(node('a'));
    await world.untilOn(B, 'a', 5 * SECOND);
  });

  test('and somebody else led meanwhile, nobody goes by what he remembers', async ({ open }) => {
    const world = open();
    const { first, second } = await serving(world);
    cutOff(first);
    await world.clock.runUntil(() => second.supervisor.leading, 60 * SECOND);
    await world.clock.advance(5 * SECOND);
    second.kill();
    world.store.wipe();
    world.queues.wipe();
    world.invariants.forget();
    first.store.mend();
    await world.clock.runUntil(() => first.supervisor.leading, 60 * SECOND);
    expect(world.log.findLast(({ message }) => message === 'leads')?.fields).toMatchObject({ records: 'store' });
  });
});
