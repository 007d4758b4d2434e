import { describe, expect } from 'vitest';
import type { RecordStore } from '../../../actors/ports/records.ts';
import { aways, redisGoes, redisIsEmptied, redisReturns } from '../../support/away-crash.ts';
import { leading } from '../../support/replicas.ts';
import { ingress, lose, untilAssigns } from '../../support/setups.ts';
import { test } from '../../support/sound.ts';
import { node, type World } from '../../support/world.ts';
import { A, B, BOTH, MINUTE, SECOND } from './telling.ts';

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

  for (const [how, first, returns, freed] of [
    ['its Lease runs out', 1, redisReturns, () => undefined],
    ['its Lease is deleted', 1, redisReturns, (world: World) => world.lease.delete()],
    // Before anything is written there, nobody can tell such a Redis from one that was there all the time.
    ['Redis has nothing any more', 2, (world: World) => [redisIsEmptied(world), redisReturns(world)], () => undefined],
  ] as const) {
    test(`keeps the node of an assign that is on its way from others, wherever it ends, when ${how}`, async ({ open }) => {
      let ended = 0;
      for (let call: number = first; call < first + 6; call += 1) {
        // The provider would put both on it.
        const world = open({
          away: true,
          settings: { callDeadlineMs: 40 * SECOND },
          provider: { addressesPerNode: 2, deadlineMs: 40 * SECOND },
        });
        const state = endsAtCall(world, call);
        const ref = ingress(world, { nodes: ['a', 'b', 'c', 'd'], addresses: { [A]: 'a', [B]: 'b' } });
        await world.start();
        await world.untilStates(ref, BOTH);
        await world.clock.advance(20 * SECOND);
        redisGoes(world);
        await world.clock.runUntil(() => aways(world) === 1, 5 * SECOND);
        lose(world, 'd');
        await world.clock.advance(SECOND);
        world.provider.faults.next('assignRoutedIP', { kind: 'hang', effectAfterMs: 39_900 });
        lose(world, 'a');
        await untilAssigns(world, 1, 5 * SECOND);
        state.armed = true;
        returns(world);
        await world.clock.advance(5 * SECOND);
        if (state.ended) ended += 1;
        state.armed = false;
        lose(world, 'b');
        freed(world);
        const next = await world.start();
        await world.clock.runUntil(() => leading(world).length > 0, 30 * SECOND);
        await world.clock.advance(10 * SECOND);
        expect([next.dead, world.holderOf(A), world.assigns().map(({ what }) => what)]).toEqual([false, 'a', [`${A} → c`]]);
        await world.untilOn(A, 'c', MINUTE);
        world.cluster.setNode(node('d'));
        await world.untilOn(B, 'd', 2 * MINUTE);
        await world.untilStates(ref, BOTH, MINUTE);
        expect(world.assigns()).toHaveLength(2);
      }
      expect(ended).toBe(6);
    });
  }
});
