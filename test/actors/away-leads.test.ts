import { describe, expect } from 'vitest';
import type { RecordStore } from '../../actors/ports.ts';
import { aways, redisGoes, redisIsEmptied, redisReturns } from '../support/away-crash.ts';
import { leading } from '../support/replicas.ts';
import { ingress, lose, untilAssigns } from '../support/setups.ts';
import { test } from '../support/sound.ts';
import { node, type World } from '../support/world.ts';

const A = '203.0.113.207';
const B = '203.0.113.208';
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const BOTH = { [A]: 'active', [B]: 'active' } as const;

const warned = (world: World, message: string): number => world.log.filter((line) => line.message === message).length;

/** Two processes, the first of which leads, and a pool with spare nodes. */
const serving = async (world: World) => {
  const ref = ingress(world, { nodes: ['a', 'b', 'c', 'd'], addresses: { [A]: 'a', [B]: 'b' } });
  const [first, second] = [await world.start(), await world.start()];
  await world.untilStates(ref, BOTH);
  await world.clock.advance(20 * SECOND);
  expect(leading(world)).toEqual([first]);
  return { ref, first, second };
};

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

/** Calls to the store, by any process that is started from now on, that are let pass once Redis is back; the process ends at the next one. */
function endsAtCall(world: World, call: number): { armed: boolean; ended: boolean } {
  const state = { armed: false, ended: false, calls: 0 };
  const { connect } = world.store;
  world.store.connect = () => {
    const store = connect();
    const counted = ['drop', 'openTerm', 'save', 'resetClaims'] as const satisfies readonly (keyof RecordStore)[];
    const watched = counted.map((name) => {
      const run = store[name] as (...args: readonly unknown[]) => Promise<unknown>;
      return [
        name,
        (...args: readonly unknown[]) => {
          if (state.armed && !state.ended) state.calls += 1;
          if (!state.armed || state.ended || state.calls < call) return run(...args);
          state.ended = true;
          for (const process of world.processes) process.kill();
          return new Promise(() => undefined);
        },
      ] as const;
    });
    return { ...store, ...Object.fromEntries(watched) } as typeof store;
  };
  return state;
}

describe('a process that ends while it takes its memory back to Redis', () => {
  test('leaves nothing that its successor would take for newer than it is, wherever it ends', async ({ open }) => {
    let ended = 0;
    for (let call = 1; call <= 8; call += 1) {
      const world = open({ away: true });
      const state = endsAtCall(world, call);
      const ref = ingress(world, { nodes: ['a', 'b', 'c', 'd'], addresses: { [A]: 'a', [B]: 'b' } });
      const other = world.pool('other', { ips: [world.address('203.0.113.9', 'e')], match: { nodeLabel: 'pool=other' } });
      world.nodes(node('e', { labels: { pool: 'other' } }), node('f', { labels: { pool: 'other' } }));
      await world.start();
      await world.untilStates(ref, BOTH);
      await world.untilStates(other, { '203.0.113.9': 'active' });
      await world.clock.advance(20 * SECOND);
      redisGoes(world);
      await world.clock.runUntil(() => aways(world) === 1, 5 * SECOND);
      lose(world, 'a');
      world.cluster.setNode(node('e', { labels: { pool: 'other' }, ready: false }));
      await world.untilOn(A, 'c', 5 * SECOND);
      await world.untilOn('203.0.113.9', 'f', 5 * SECOND);
      await world.untilStates(ref, BOTH);
      await world.untilStates(other, { '203.0.113.9': 'active' });
      state.armed = true;
      redisReturns(world);
      await world.clock.advance(5 * SECOND);
      if (state.ended) ended += 1;
      state.armed = false;
      world.cluster.setNode(node('a'), node('e', { labels: { pool: 'other' } }));
      const next = await world.start();
      await world.clock.runUntil(() => next.supervisor.leading || leading(world).length > 0, 30 * SECOND);
      await world.clock.advance(MINUTE);
      await world.untilStates(ref, BOTH);
      expect([world.holderOf(A), world.holderOf(B), world.holderOf('203.0.113.9'), world.assigns().length]).toEqual(['c', 'b', 'f', 2]);
    }
    expect(ended).toBe(8);
  });
});
