import { describe, expect, test } from 'vitest';
import { Waits } from '../../actors/overdue.ts';
import type { ActorRecord } from '../../actors/ports.ts';
import { virtualClock } from '../../adapters/memory/clock.ts';

const MINUTE = 60_000;

/** An address that waits for its assign, looked at after so many minutes. */
function waiting() {
  const clock = virtualClock();
  const record: ActorRecord = {
    chart: 'ip',
    chartVersion: 1,
    snapshot: { value: 'Assigning', context: {} },
    waiting: { assign: { commandId: 'ip.1.1.0' } },
    version: 1,
    term: 1,
  };
  const waits = new Waits(clock);
  const overdueAfter = async (minutes: number) => {
    await clock.advance(minutes * MINUTE);
    return (await waits.overdue([['pool/a/b/ip/192.0.2.1', record]])).map(({ commandId }) => commandId);
  };
  return { waits, overdueAfter };
}

describe('a job that is waited for', () => {
  test('is overdue after five minutes, when the queue is to be asked how it stands', async () => {
    const { overdueAfter } = waiting();
    expect([await overdueAfter(0), await overdueAfter(4.9), await overdueAfter(0.1)]).toEqual([[], [], ['ip.1.1.0']]);
  });

  test('has five minutes more as often as it was started anew meanwhile, or has not been started', async () => {
    const { waits, overdueAfter } = waiting();
    await overdueAfter(0);
    for (const stand of [
      { isRunning: false, starts: 0 },
      { isRunning: false, starts: 0 },
      { isRunning: true, starts: 1 },
      { isRunning: true, starts: 700 },
      { isRunning: false, starts: 700 },
    ]) {
      expect(await overdueAfter(5)).toEqual(['ip.1.1.0']);
      expect(waits.goesOn('ip.1.1.0', stand)).toBe(true);
      expect(await overdueAfter(0)).toEqual([]);
    }
  });

  test('goes on no more when one start of it has lasted as long, or when the queue does not have it', async () => {
    const { waits, overdueAfter } = waiting();
    await overdueAfter(0);
    await overdueAfter(5);
    expect(waits.goesOn('ip.1.1.0', { isRunning: true, starts: 3 })).toBe(true);
    await overdueAfter(5);
    expect(waits.goesOn('ip.1.1.0', { isRunning: true, starts: 3 })).toBe(false);
    expect(waits.goesOn('ip.1.1.0', null)).toBe(false);
  });
});
