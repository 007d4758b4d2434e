import { describe, expect } from 'vitest';
import { aways, redisGoes, redisIsEmptied, redisReturns } from '../../support/away-crash.ts';
import { leading, twoServing } from '../../support/replicas.ts';
import { lose, untilAssigns } from '../../support/setups.ts';
import { test } from '../../support/sound.ts';
import type { World } from '../../support/world.ts';

const A = '203.0.113.207';
const B = '203.0.113.208';
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const BOTH = { [A]: 'active', [B]: 'active' } as const;

const warned = (world: World, message: string): number => world.log.filter((line) => line.message === message).length;

const serving = (world: World) => twoServing(world, { [A]: 'a', [B]: 'b' });

describe('while a leader has no Redis', () => {
  test('it goes on at once, and makes room for a process that has: nothing that it decided is done again', async ({ open }) => {
    const world = open({ away: true });
    const { ref, first, second } = await serving(world);
    first.store.cut();
    await world.clock.runUntil(() => aways(world) === 1, 5 * SECOND);
    lose(world, 'a');
    await world.untilOn(A, 'c', 2 * SECOND);
    expect([leading(world), world.assigns().length]).toEqual([[first], 1]);
    await world.clock.runUntil(() => second.supervisor.leading, 20 * SECOND);
    await world.untilStates(ref, BOTH);
    expect([world.holderOf(A), warned(world, 'the stored records are out of date, and are rebuilt from what is shown')]).toEqual(['c', 1]);
    await world.clock.advance(MINUTE);
    expect([leading(world), aways(world), world.assigns().length]).toEqual([[second], 1, 1]);
    first.store.mend();
    second.kill();
    await world.clock.runUntil(() => first.supervisor.leading, 30 * SECOND);
    lose(world, 'c');
    await world.untilOn(A, 'd', 30 * SECOND);
    await world.untilStates(ref, BOTH);
    expect(world.assigns()).toHaveLength(2);
  });

  test('for long, and another one has again, it makes room once more within ten minutes', async ({ open }) => {
    const world = open({ away: true });
    const { first, second } = await serving(world);
    redisGoes(world);
    await world.clock.runUntil(() => leading(world).length === 0, 20 * SECOND);
    await world.clock.runUntil(() => first.supervisor.leading, 20 * SECOND);
    first.store.cut();
    redisReturns(world);
    await world.clock.runUntil(() => second.supervisor.leading, 11 * MINUTE);
    expect(leading(world)).toEqual([second]);
  });

  test('and nobody has one, it makes room for some seconds, and goes on with what it knows', async ({ open }) => {
    const world = open({ away: true });
    const { ref, first } = await serving(world);
    redisGoes(world);
    await world.clock.runUntil(() => leading(world).length === 0, 20 * SECOND);
    lose(world, 'a');
    const vacant = await world.clock.runUntil(() => first.supervisor.leading, 20 * SECOND);
    expect([vacant > 4 * SECOND, vacant < 9 * SECOND]).toEqual([true, true]);
    await world.untilOn(A, 'c', 5 * SECOND);
    const { term } = first.supervisor;
    await world.clock.advance(9 * MINUTE);
    await world.untilStates(ref, BOTH);
    expect([leading(world), first.supervisor.term, world.assigns().length]).toEqual([[first], term, 1]);
  });

  test('and ends, one that knows nothing goes on within about a minute, and sends nothing before it knows what was sent', async ({
    open,
  }) => {
    const world = open({ away: true, lagMs: 5_000, provider: { actionMs: 1_500 } });
    const { ref, first, second } = await serving(world);
    redisGoes(world);
    await world.clock.runUntil(() => aways(world) === 1, 5 * SECOND);
    lose(world, 'a');
    await untilAssigns(world, 1, 10 * SECOND);
    first.kill();
    const takenAfter = await world.clock.runUntil(() => second.supervisor.leading, 90 * SECOND);
    expect(takenAfter).toBeLessThan(70 * SECOND);
    await world.untilStates(ref, BOTH, MINUTE);
    expect([world.holderOf(A), world.assigns().length]).toEqual(['c', 1]);
    lose(world, 'c');
    await world.untilOn(A, 'd', 10 * SECOND);
  });

  for (const [what, returns] of [
    ['with its old records', redisReturns],
    ['empty', (world: World) => [redisIsEmptied(world), redisReturns(world)]],
    ['as another server that has lost its last writes', (world: World) => [world.store.restart(), redisReturns(world)]],
  ] as const) {
    test(`and ends while an assign is under way, with Redis back ${what}: its successor does not send it again`, async ({ open }) => {
      const world = open({ away: true, lagMs: 5_000, provider: { actionMs: 4_000 } });
      const { ref, first, second } = await serving(world);
      redisGoes(world);
      await world.clock.runUntil(() => aways(world) === 1, 5 * SECOND);
      lose(world, 'a');
      await untilAssigns(world, 1, 10 * SECOND);
      first.kill();
      returns(world);
      await world.clock.runUntil(() => second.supervisor.leading, MINUTE);
      await world.untilStates(ref, BOTH, 2 * MINUTE);
      await world.clock.advance(MINUTE);
      expect([world.holderOf(A), world.assigns().length]).toEqual(['c', 1]);
    });
  }
});
