import { describe, expect } from 'vitest';
import { aways, redisGoes, redisReturns } from '../../support/away-crash.ts';
import { ingress, lose, untilAssigns } from '../../support/setups.ts';
import { test } from '../../support/sound.ts';
import type { World } from '../../support/world.ts';
import { A, B, BOTH, led, MINUTE, SECOND } from './telling.ts';

/** Redis goes right after an assign was sent of which nothing comes. */
async function lostAssign(world: World) {
  const ref = ingress(world, { nodes: ['a', 'b', 'c'], addresses: { [A]: 'a', [B]: 'b' } });
  await world.start();
  await world.untilStates(ref, BOTH);
  await world.clock.advance(20 * SECOND);
  world.provider.faults.next('assignRoutedIP', { kind: 'hang' });
  lose(world, 'a');
  await untilAssigns(world, 1, SECOND);
  redisGoes(world);
  await world.clock.runUntil(() => aways(world) === 1, 5 * SECOND);
  return ref;
}

/** How often the provider was asked about the address, from then on. */
const looksSince = (world: World, at: number): number =>
  world.provider.calls.filter((call) => call.verb === 'findRoutedIP' && call.args[0] === A && call.at >= at).length;

describe('an assign of unknown outcome that was sent when Redis went', () => {
  test('is sent again a call deadline after Redis is back, not as long as others could have sent it while Redis was away', async ({
    open,
  }) => {
    const world = open({ away: true });
    const ref = await lostAssign(world);
    await world.clock.advance(SECOND);
    const before = led(world).length;
    redisReturns(world);
    await world.clock.runUntil(() => led(world).length > before, 5 * SECOND);
    const backAt = world.clock.monotonic();
    await untilAssigns(world, 2, MINUTE);
    const waited = world.clock.monotonic() - backAt;
    const { callDeadlineMs } = world.settings;
    expect([waited >= callDeadlineMs, waited < callDeadlineMs + 3 * SECOND]).toEqual([true, true]);
    // Once every two seconds, and once more to begin with.
    expect(looksSince(world, backAt)).toBeLessThanOrEqual(waited / (2 * SECOND) + 2);
    await world.untilStates(ref, BOTH, MINUTE);
    expect([world.holderOf(A), world.assigns().length]).toEqual(['c', 2]);
  });

  test('is looked at every two seconds until nobody else can send it any more, while Redis stays away', async ({ open }) => {
    // What is in doubt by its own time is settled long before others have to know of a new term.
    const world = open({ away: true, settings: { callDeadlineMs: 5 * SECOND }, provider: { deadlineMs: 5 * SECOND } });
    const ref = await lostAssign(world);
    const awayAt = world.clock.monotonic();
    await world.clock.advance(12 * SECOND);
    const looks = looksSince(world, awayAt);
    expect([world.assigns().length, looks >= 5, looks <= 8]).toEqual([1, true, true]);
    await untilAssigns(world, 2, MINUTE);
    const waited = world.clock.monotonic() - awayAt;
    const { callDeadlineMs, storePatienceMs } = world.settings;
    expect(waited).toBeGreaterThanOrEqual(callDeadlineMs + storePatienceMs);
    await world.untilStates(ref, BOTH, MINUTE);
    expect([world.holderOf(A), world.assigns().length]).toEqual(['c', 2]);
  });
});
