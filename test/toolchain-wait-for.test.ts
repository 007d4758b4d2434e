import { describe, expect, test } from 'vitest';
import { waitFor } from './support/wait-for.ts';

/** As a process does that the machine has no time for. */
const standStill = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

describe('waiting for a condition', () => {
  test('goes on after the machine stood still for longer than the deadline', async () => {
    let looks = 0;
    const third = (): boolean => {
      looks += 1;
      if (looks === 2) standStill(1_500);
      return looks === 3;
    };
    await waitFor('the third look', third, 1_000);
    expect(looks).toBe(3);
  });

  test('ends at its deadline with what was waited for', async () => {
    let looks = 0;
    const never = (): boolean => {
      looks += 1;
      return false;
    };
    await expect(waitFor('what never comes', never, 60)).rejects.toThrow('not within 60 ms: what never comes');
    expect(looks).toBeGreaterThan(1);
  });
});
