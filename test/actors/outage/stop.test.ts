import { describe, expect } from 'vitest';
import { aways, redisGoes, redisReturns } from '../../support/away-crash.ts';
import { aroundTermWrites } from '../../support/replicas.ts';
import { ingress, lose } from '../../support/setups.ts';
import { test } from '../../support/sound.ts';
import type { World } from '../../support/world.ts';
import { A, B, BOTH, MINUTE, SECOND } from './telling.ts';

/** So many microtasks after a term was written: by then all that it begins with in memory has begun. */
const MOMENTS = 40;

/** Calls `act` that many microtasks after the next term is written on the Lease, once it is armed. */
function afterNextTerm(world: World, moment: number): { act: (() => void) | null } {
  const armed: { act: (() => void) | null } = { act: null };
  const later = (left: number): void => {
    if (left > 0) queueMicrotask(() => later(left - 1));
    else {
      armed.act?.();
      armed.act = null;
    }
  };
  aroundTermWrites(world, async (write) => {
    await write();
    if (armed.act) later(moment);
  });
  return armed;
}

const goes = async (world: World): Promise<void> => {
  redisGoes(world);
  await world.clock.runUntil(() => aways(world) === 1, 5 * SECOND);
  await world.clock.advance(2 * SECOND);
};

describe('a process that is stopped in the moment in which it changes place', () => {
  test.for([
    { when: 'Redis goes', before: async () => undefined, now: redisGoes },
    { when: 'Redis returns', before: goes, now: redisReturns },
  ])('when $when, is gone soon, and its successor goes on', async ({ before, now }, { open }) => {
    for (let moment = 0; moment < MOMENTS; moment += 1) {
      const world = open({ away: true });
      const armed = afterNextTerm(world, moment);
      const ref = ingress(world, { nodes: ['a', 'b', 'c'], addresses: { [A]: 'a', [B]: 'b' } });
      const first = await world.start();
      await world.untilStates(ref, BOTH);
      await world.clock.advance(20 * SECOND);
      await before(world);
      let isOver = false;
      let stoppedAt = 0;
      armed.act = () => {
        stoppedAt = world.clock.monotonic();
        void first.supervisor.stop().then(() => {
          isOver = true;
        });
      };
      now(world);
      await world.clock.runUntil(() => isOver, MINUTE);
      expect(world.clock.monotonic() - stoppedAt, `moment ${moment}`).toBeLessThan(5 * SECOND);
      first.kill();
      redisReturns(world);
      lose(world, 'a');
      await world.start();
      await world.untilOn(A, 'c', 2 * MINUTE);
      await world.untilStates(ref, BOTH);
      expect(world.assigns()).toHaveLength(1);
    }
  });

  test('before it has read anything, with nothing to go by and without Redis, is gone soon', async ({ open }) => {
    for (let moment = 0; moment < MOMENTS; moment += 1) {
      const world = open({ away: true });
      const armed = afterNextTerm(world, moment);
      ingress(world, { nodes: ['a', 'b'], addresses: { [A]: 'a' } });
      redisGoes(world);
      let isOver = false;
      let stoppedAt: number | null = null;
      const first = await world.start();
      armed.act = () => {
        stoppedAt = world.clock.monotonic();
        void first.supervisor.stop().then(() => {
          isOver = true;
        });
      };
      await world.clock.runUntil(() => isOver, 2 * MINUTE);
      expect(world.clock.monotonic() - (stoppedAt ?? 0), `moment ${moment}`).toBeLessThan(5 * SECOND);
      first.kill();
    }
  });
});
