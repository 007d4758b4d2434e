import { describe, expect, test } from 'vitest';
import { virtualClock } from '../../adapters/memory/clock.ts';
import { endableClock, systemClock } from '../../adapters/system/clock.ts';
import { waitFor } from '../support/wait-for.ts';
import { describeClock } from './clock.ts';

describeClock('of this machine', () => ({ clock: systemClock(), until: (holds, maxMs) => waitFor('the timers ran', holds, maxMs) }));

describeClock('of tests', () => {
  const clock = virtualClock();
  return { clock, until: async (holds, maxMs) => void (await clock.runUntil(holds, maxMs)) };
});

test('the clock of this machine waits for longer than one timer of Node can', async () => {
  const clock = systemClock();
  const ran: string[] = [];
  // Node runs a timer that is too long for it after 1 ms.
  const cancel = clock.after(2 ** 31, () => ran.push('in 25 days'));
  clock.after(20, () => ran.push('soon'));
  await waitFor('the short timer ran', () => ran.includes('soon'));
  cancel();
  expect(ran).toEqual(['soon']);
});

test('timers that are ended together never run, nor do those that are set afterwards; others of the same clock do', async () => {
  const clock = virtualClock();
  const own = endableClock(clock);
  const ran: string[] = [];
  own.after(10, () => ran.push('before the end'));
  own.after(30, () => ran.push('ended'));
  own.after(20, () => ran.push('cancelled'))();
  clock.after(40, () => ran.push('of others'));
  await clock.advance(20);
  own.end();
  own.after(10, () => ran.push('too late'));
  expect(clock.pending()).toBe(1);
  await clock.advance(60);
  expect(ran).toEqual(['before the end', 'of others']);
});

describe('the clock of tests', () => {
  test('waits for all promises of a timer before it runs the next', async () => {
    const clock = virtualClock();
    const ran: string[] = [];
    clock.after(10, async () => {
      for (let turn = 0; turn < 50; turn++) await Promise.resolve();
      ran.push(`first at ${clock.monotonic()}`);
    });
    clock.after(10, () => ran.push(`second at ${clock.monotonic()}`));
    await clock.advance(20);
    expect(ran).toEqual(['first at 10', 'second at 10']);
  });

  test('fails when what is waited for does not happen, and has waited as long as it was told', async () => {
    const clock = virtualClock();
    await expect(clock.runUntil(() => false, 500)).rejects.toThrow('500 ms');
    expect(clock.monotonic()).toBe(500);
  });

  test('lets the wall clock jump alone', async () => {
    const clock = virtualClock({ startAt: 1_000_000 });
    let ran = false;
    clock.after(10, () => {
      ran = true;
    });
    clock.jump(3_600_000);
    await clock.settle();
    expect({ now: clock.now(), monotonic: clock.monotonic(), ran }).toEqual({ now: 4_600_000, monotonic: 0, ran: false });
  });
});
