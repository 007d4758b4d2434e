import { describe, expect } from 'vitest';
import type { Address, ObjectRef } from '../../../machines/model/types.ts';
import { killAll } from '../../support/setups.ts';
import { test } from '../../support/sound.ts';
import { node, providerIDOf, type World } from '../../support/world.ts';

const A = '203.0.113.7' as Address;
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const WINDOW_MS = 20 * MINUTE;

const contendedUntil = (world: World, ref: ObjectRef): string | undefined => world.status(ref).ips?.[A]?.contendedUntil;

/** The pool leaves its address where somebody else has put it, for the second time within the window; answers since when. */
async function left(world: World, takeover: 'Yield' | 'Reclaim') {
  world.nodes(node('a'));
  world.provider.cloud.addNode(providerIDOf('foreign'));
  world.address(A, 'a');
  const contention = { moves: 2, windowSeconds: WINDOW_MS / SECOND, takeover };
  const ref = world.pool('ingress', { ips: [A], contention });
  await world.start();
  await world.untilStates(ref, { [A]: 'active' });
  await world.clock.advance(5 * SECOND);
  for (let times = 1; contendedUntil(world, ref) === undefined; times += 1) {
    expect(times).toBeLessThanOrEqual(2);
    world.provider.cloud.moveByHand(A, providerIDOf('foreign'));
    const isSettled = () => contendedUntil(world, ref) !== undefined || world.assigns().length === times;
    await world.clock.runUntil(isSettled, 2 * MINUTE);
    await world.clock.advance(5 * SECOND);
  }
  expect([world.holderOf(A), world.assigns().length]).toEqual(['foreign', 1]);
  return { ref, until: Date.parse(contendedUntil(world, ref) ?? '') };
}

/** Every process ends, nothing is left of the records, and another process begins. */
async function rebuilt(world: World): Promise<void> {
  killAll(world);
  world.store.wipe();
  world.queues.wipe();
  world.invariants.forget();
  await world.clock.advance(30 * SECOND);
  const next = await world.start();
  await world.clock.runUntil(() => next.supervisor.leading, MINUTE);
}

describe('an address that is left to somebody else, when the records are lost', () => {
  test.for(['Yield', 'Reclaim'] as const)(
    'stays there for the rest of its window, and is tried again then: %s',
    async (takeover, { open }) => {
      const world = open({ settings: { verifyEveryMs: MINUTE } });
      const { ref, until } = await left(world, takeover);
      await world.clock.advance(5 * MINUTE);
      await rebuilt(world);
      await world.clock.runUntil(() => contendedUntil(world, ref) !== undefined, MINUTE);
      expect(Math.abs(Date.parse(contendedUntil(world, ref) ?? '') - until)).toBeLessThanOrEqual(SECOND);
      await world.clock.advance(until - world.clock.now() - 2 * SECOND);
      expect([world.holderOf(A), world.assigns().length]).toEqual(['foreign', 1]);
      await world.untilOn(A, 'a', MINUTE);
      expect(world.assigns()).toHaveLength(2);
    },
  );

  test('is taken back at once when nothing says any more that it is to be left', async ({ open }) => {
    const world = open({ settings: { verifyEveryMs: MINUTE } });
    await left(world, 'Yield');
    killAll(world);
    world.pool('ingress', { ips: [A] });
    await rebuilt(world);
    await world.untilOn(A, 'a', MINUTE);
    expect(world.assigns()).toHaveLength(2);
  });
});
