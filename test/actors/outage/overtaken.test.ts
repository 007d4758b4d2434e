import { describe, expect } from 'vitest';
import { Unreachable } from '../../../actors/ports/errors.ts';
import { aways, redisGoes, redisReturns } from '../../support/away-crash.ts';
import { holdTermWrites } from '../../support/replicas.ts';
import { ingress, lose } from '../../support/setups.ts';
import { test } from '../../support/sound.ts';
import { node, type World } from '../../support/world.ts';
import { A, B, BOTH, led, MINUTE, SECOND } from './telling.ts';

const OUT_OF_DATE = 'the stored records are out of date, and are rebuilt from what is shown';
const said = (world: World, message: string): number => world.log.filter((line) => line.message === message).length;

/** One pool that is served, with two spare nodes. */
const serving = async (world: World) => {
  const ref = ingress(world, { nodes: ['a', 'b', 'c', 'd'], addresses: { [A]: 'a', [B]: 'b' } });
  const first = await world.start();
  await world.untilStates(ref, BOTH);
  await world.clock.advance(20 * SECOND);
  return { ref, first };
};

describe('who is about to take the records over when Redis goes or returns', () => {
  test('waits for what may have been sent before, although it had begun with Redis', async ({ open }) => {
    const world = open({ away: true });
    const terms = holdTermWrites(world);
    const { ref, first } = await serving(world);
    first.kill();
    world.invariants.forget();
    terms.hold();
    const second = await world.start();
    await world.clock.runUntil(() => world.lease.holder() === 'process-2', 30 * SECOND);
    await world.clock.advance(SECOND);
    redisGoes(world);
    await world.clock.runUntil(() => aways(world) === 1, 5 * SECOND);
    terms.release();
    const { callDeadlineMs, storePatienceMs } = world.settings;
    const waited = await world.clock.runUntil(() => second.supervisor.leading, 5 * MINUTE);
    expect(waited).toBeGreaterThanOrEqual(callDeadlineMs + storePatienceMs);
    await world.untilStates(ref, BOTH, MINUTE);
    expect([world.holderOf(A), world.assigns()]).toEqual(['a', []]);
  });

  test('takes the records of Redis for what they are when it is back before anything was decided without it', async ({ open }) => {
    const world = open({ away: true });
    const { ref, first } = await serving(world);
    redisGoes(world);
    first.kill();
    world.invariants.forget();
    const second = await world.start();
    await world.clock.runUntil(() => second.supervisor.hindrances().leadership?.includes('takes effect first') === true, 2 * MINUTE);
    await world.clock.advance(5 * SECOND);
    expect([aways(world), second.supervisor.leading]).toEqual([1, false]);
    redisReturns(world);
    await world.clock.runUntil(() => second.supervisor.leading, 10 * SECOND);
    expect([led(world).at(-1), said(world, OUT_OF_DATE)]).toEqual([expect.objectContaining({ records: 'store' }), 0]);
    lose(world, 'a');
    await world.untilOn(A, 'c', 5 * SECOND);
    await world.untilStates(ref, BOTH, MINUTE);
    expect(world.assigns()).toHaveLength(1);
  });

  test('does not go on with the part of the records that it had read', async ({ open }) => {
    const world = open({ away: true });
    const { connect } = world.store;
    const gate: { held: Promise<void> | null; open: () => void } = { held: null, open: () => undefined };
    let loads = 0;
    world.store.connect = () => {
      const store = connect();
      const load: typeof store.load = async (cell) => {
        const found = await store.load(cell);
        loads += 1;
        // One of them is read, the next one takes its time.
        if (loads > 1) await gate.held;
        return found;
      };
      return { ...store, load };
    };
    const { ref, first } = await serving(world);
    const other = world.pool('other', { ips: [world.address('203.0.113.9', 'e')], match: { nodeLabel: 'pool=other' } });
    const labels = { pool: 'other' };
    world.nodes(node('e', { labels }), node('f', { labels }));
    await world.untilStates(other, { '203.0.113.9': 'active' });
    await world.clock.advance(20 * SECOND);
    first.kill();
    world.invariants.forget();
    loads = 0;
    const { promise, resolve } = Promise.withResolvers<void>();
    gate.held = promise;
    const second = await world.start();
    await world.clock.runUntil(() => loads > 1, 30 * SECOND);
    redisGoes(world);
    await world.clock.runUntil(() => aways(world) === 1, 5 * SECOND);
    const before = led(world).length;
    gate.held = null;
    resolve();
    const { callDeadlineMs, storePatienceMs } = world.settings;
    const waited = await world.clock.runUntil(() => led(world).length > before, 5 * MINUTE);
    expect([waited >= callDeadlineMs + storePatienceMs, led(world).at(-1)]).toEqual([true, expect.objectContaining({ records: 'store' })]);
    await world.clock.runUntil(() => second.supervisor.records().size >= 2, MINUTE);
    await world.untilStates(ref, BOTH, MINUTE);
    await world.untilStates(other, { '203.0.113.9': 'active' }, MINUTE);
    expect(world.assigns()).toEqual([]);
  });

  test('still knows what it knew when it loses the Lease before it has gone on without Redis', async ({ open }) => {
    const world = open({ away: true });
    const terms = holdTermWrites(world);
    const { ref, first } = await serving(world);
    terms.hold();
    redisGoes(world);
    await world.clock.runUntil(() => aways(world) === 1, 5 * SECOND);
    first.lease.cut();
    await world.clock.runUntil(() => said(world, 'leads no longer') === 1, 20 * SECOND);
    terms.release();
    first.lease.mend();
    const before = led(world).length;
    const waited = await world.clock.runUntil(() => led(world).length > before, 2 * MINUTE);
    expect([led(world).at(-1), waited < 30 * SECOND]).toEqual([expect.objectContaining({ records: 'memory' }), true]);
    lose(world, 'a');
    await world.untilOn(A, 'c', 5 * SECOND);
    await world.untilStates(ref, BOTH, MINUTE);
    expect(world.assigns()).toHaveLength(1);
  });
});

/** In the very moment in which the operator says so. */
const when = (world: World, message: string, happens: () => void): void => {
  const push = world.log.push.bind(world.log);
  let isOver = false;
  world.log.push = (...lines) => {
    if (!isOver && lines.some((line) => line.message === message)) {
      isOver = true;
      queueMicrotask(happens);
    }
    return push(...lines);
  };
};

describe('what is heard in the moment in which Redis and memory change places', () => {
  for (const [what, message, change] of [
    ['Redis goes', 'goes on without the store', redisGoes],
    ['Redis is back', 'the store is back', redisReturns],
  ] as const) {
    test(`is neither saved in the wrong place nor taken for an answer of it, when ${what}`, async ({ open }) => {
      const world = open({ away: true });
      const { ref, first } = await serving(world);
      if (change === redisReturns) {
        redisGoes(world);
        await world.clock.advance(8 * SECOND);
      }
      const { term } = first.supervisor;
      const before = led(world).length;
      when(world, message, () => lose(world, 'a'));
      change(world);
      await world.clock.runUntil(() => led(world).length > before, 10 * SECOND);
      await world.untilOn(A, 'c', 10 * SECOND);
      await world.untilStates(ref, BOTH, MINUTE);
      expect(led(world).slice(before)).toEqual([expect.objectContaining({ records: 'memory', term: term + 1 })]);
      expect([said(world, 'a cell halted'), said(world, OUT_OF_DATE), world.assigns().length]).toEqual([0, 0, 1]);
    });
  }

  test('a write that was tried again and again when Redis goes is not tried in memory', async ({ open }) => {
    const world = open({ away: true });
    const { connect } = world.store;
    const gate: { isArmed: boolean; open: () => void } = { isArmed: false, open: () => undefined };
    world.store.connect = () => {
      const store = connect();
      const load: typeof store.load = (cell) =>
        gate.isArmed
          ? new Promise((_, reject) => {
              gate.open = () => reject(new Unreachable('nobody answers'));
            })
          : store.load(cell);
      return { ...store, load };
    };
    const { ref } = await serving(world);
    redisGoes(world);
    gate.isArmed = true;
    lose(world, 'a');
    when(world, 'goes on without the store', () => gate.open());
    await world.untilOn(A, 'c', 10 * SECOND);
    await world.untilStates(ref, BOTH, MINUTE);
    const halted = world.log.filter(({ message }) => message === 'a cell halted').map(({ fields }) => fields);
    expect(halted).toEqual([expect.objectContaining({ reason: 'stale' })]);
    expect(world.assigns()).toHaveLength(1);
  });
});
