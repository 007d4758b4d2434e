import { describe, expect, test } from 'vitest';
import type { ActorRecord, Waiting } from '../../../actors/ports/records.ts';
import { Waits } from '../../../actors/runtime/lost-commands.ts';
import { virtualClock } from '../../../adapters/memory/clock.ts';

const SECOND = 1_000;

/** An address that waits for this, looked at after so many seconds. */
function waiting(waited: Partial<Waiting> = { queue: 'digitalocean' }) {
  const clock = virtualClock();
  const record: ActorRecord = {
    chart: 'ip',
    chartVersion: 1,
    snapshot: { value: 'Assigning', context: {} },
    waiting: { assign: { commandId: 'ip.1.1.0', ...waited } },
    version: 1,
    term: 1,
  };
  const waits = new Waits(clock);
  const overdueAfter = async (seconds: number) => {
    await clock.advance(seconds * SECOND);
    return (await waits.overdue([['pool/a/b/ip/192.0.2.1', record]])).length === 1;
  };
  return { waits, overdueAfter };
}

describe('a job that is waited for', () => {
  test('is overdue after ten seconds, when its queue is to be asked how it stands', async () => {
    const { overdueAfter } = waiting();
    expect([await overdueAfter(0), await overdueAfter(9.9), await overdueAfter(0.1)]).toEqual([false, false, true]);
  });

  test('is asked for again after as long as it was waited for, up to five minutes, however often it is started anew or not at all', async () => {
    const { waits, overdueAfter } = waiting();
    await overdueAfter(0);
    await overdueAfter(10);
    const stands = [0, 1, 1, 2, 700, 701, 702].map((starts, index) => ({ isRunning: index % 2 === 1, starts }));
    for (const [index, seconds] of [10, 20, 40, 80, 160, 300, 300].entries()) {
      expect(waits.goesOn('ip.1.1.0', stands[index] ?? null)).toBe(true);
      expect([await overdueAfter(seconds - 0.1), await overdueAfter(0.1)], `after ${seconds} s more`).toEqual([false, true]);
    }
  });

  test('goes on no more when one start of it has lasted for five minutes, or when the queue does not have it', async () => {
    const { waits, overdueAfter } = waiting();
    await overdueAfter(0);
    await overdueAfter(10);
    const running = { isRunning: true, starts: 3 };
    expect(waits.goesOn('ip.1.1.0', running)).toBe(true);
    await overdueAfter(299.9);
    expect(waits.goesOn('ip.1.1.0', running)).toBe(true);
    await overdueAfter(0.1);
    expect(waits.goesOn('ip.1.1.0', running)).toBe(false);
    expect(waits.goesOn('ip.1.1.0', null)).toBe(false);
  });
});

test('an answer to a send is overdue after five minutes: whoever is asked may have to wait for much', async () => {
  const { overdueAfter } = waiting({});
  expect([await overdueAfter(0), await overdueAfter(299.9), await overdueAfter(0.1)]).toEqual([false, false, true]);
});
