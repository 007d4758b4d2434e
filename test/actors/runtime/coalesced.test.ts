import { describe, expect, test } from 'vitest';
import { coalesced } from '../../../actors/runtime/debounce.ts';
import { virtualClock } from '../../../adapters/memory/clock.ts';

describe('work that is asked for often', () => {
  test('is done once for all requests of its time, counted from the first', async () => {
    const clock = virtualClock();
    const doneAt: number[] = [];
    const request = coalesced(clock, 100, () => void doneAt.push(clock.monotonic()));
    for (let asked = 0; asked < 5; asked += 1) {
      request();
      await clock.advance(30);
    }
    await clock.advance(1_000);
    // Asked for at 0, 30, 60 and 90, and once more at 120.
    expect(doneAt).toEqual([100, 220]);
    expect(clock.pending()).toBe(0);
  });

  test('is not done unasked', async () => {
    const clock = virtualClock();
    let done = 0;
    const request = coalesced(clock, 100, () => {
      done += 1;
    });
    await clock.advance(1_000);
    expect(done).toBe(0);
    request();
    await clock.advance(1_000);
    expect(done).toBe(1);
  });

  test('is done again when it asks for itself', async () => {
    const clock = virtualClock();
    let done = 0;
    const request = coalesced(clock, 100, () => {
      done += 1;
      if (done < 3) request();
    });
    request();
    await clock.advance(1_000);
    expect(done).toBe(3);
  });

  test('is not begun anew before it has ended', async () => {
    const clock = virtualClock();
    const begunAt: number[] = [];
    const request = coalesced(clock, 10, () => {
      begunAt.push(clock.monotonic());
      return new Promise((resolve) => void clock.after(100, resolve));
    });
    request();
    await clock.advance(20);
    request();
    await clock.advance(1_000);
    expect(begunAt).toEqual([10, 120]);
  });

  test('is done no more often than it may be, and at once after a quiet time', async () => {
    const clock = virtualClock();
    const doneAt: number[] = [];
    const request = coalesced(clock, 10, () => void doneAt.push(clock.monotonic()), 250);
    for (let asked = 0; asked < 40; asked += 1) {
      request();
      await clock.advance(10);
    }
    await clock.advance(1_000);
    request();
    await clock.advance(10);
    expect(doneAt).toEqual([10, 260, 510, 1_410]);
  });
});
