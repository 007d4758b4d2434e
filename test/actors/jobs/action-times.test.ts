import { describe, expect, test } from 'vitest';
import { actionTimes } from '../../../actors/jobs/action-times.ts';
import { ASSIGN_STEPS, pollStep } from '../../../actors/jobs/job.ts';
import { seededRandom } from '../../../adapters/memory/random.ts';

const CALL_MS = 50;

interface Watched {
  /** Looks, and the call that was looked after. */
  readonly calls: number;
  /** From the end of the action until a look had told of it, ms. */
  readonly overshoot: number;
}

/** Watches actions that take so long, one after another, as the job does: each look is a call. */
function watch(durations: readonly number[]): readonly Watched[] {
  const times = actionTimes();
  return durations.map((duration) => {
    let [elapsed, looked, polls] = [0, 0, 0];
    for (;;) {
      elapsed += times.nextLook(elapsed) ?? pollStep(ASSIGN_STEPS, polls);
      polls += 1;
      if (elapsed + CALL_MS / 2 >= duration) break;
      looked = elapsed;
      elapsed += CALL_MS;
    }
    times.note(looked, elapsed);
    return { calls: polls + 1, overshoot: elapsed + CALL_MS - duration };
  });
}

const part = (values: readonly number[], at: number): number =>
  [...values].sort((a, b) => a - b)[Math.floor(at * (values.length - 1))] ?? Number.NaN;

const of = (watched: readonly Watched[], what: keyof Watched, at: number): number =>
  part(
    watched.map((each) => each[what]),
    at,
  );

describe('how long actions take is learnt:', () => {
  test('those that take a second are seen by one or two looks', () => {
    const watched = watch(Array.from({ length: 300 }, () => 1_000)).slice(2);
    expect(Math.max(...watched.map(({ calls }) => calls))).toBeLessThanOrEqual(3);
    expect(of(watched, 'overshoot', 0.5)).toBeLessThanOrEqual(60);
    expect(of(watched, 'overshoot', 1)).toBeLessThanOrEqual(130);
  });

  test.each([1, 2, 3])('those that take 0.6 to 6 s, log-normal, are seen soon, by few looks (seed %i)', (seed) => {
    const random = seededRandom(seed);
    const normal = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    const durations = Array.from({ length: 2_000 }, () => Math.min(6_000, Math.max(600, 1_900 * Math.exp(0.59 * normal()))));
    const watched = watch(durations).slice(50);
    expect(of(watched, 'calls', 0.5)).toBeLessThanOrEqual(4);
    expect(of(watched, 'overshoot', 0.5)).toBeLessThanOrEqual(150);
    expect(of(watched, 'overshoot', 0.95)).toBeLessThanOrEqual(500 + CALL_MS);
  });

  test.each([
    { from: 1_000, to: 5_000 },
    { from: 5_000, to: 1_000 },
    { from: 1_000, to: 60_000 },
  ])('a change from $from to $to ms is learnt', ({ from, to }) => {
    const durations = [...Array.from({ length: 80 }, () => from), ...Array.from({ length: 400 }, () => to)];
    const late = watch(durations).slice(80 + 192);
    expect(of(late, 'overshoot', 0.5)).toBeLessThanOrEqual(0.05 * to + CALL_MS);
    // No pause is longer than two seconds.
    expect(of(late, 'calls', 0.5)).toBeLessThanOrEqual(4 + to / 2_000);
  });

  test('one that takes a minute when others take a second costs few looks', () => {
    const [long] = watch([...Array.from({ length: 40 }, () => 1_000), 60_000]).slice(40);
    expect(long?.calls).toBeLessThan(60);
  });

  test('nothing is said before two of them were watched, nor of what cannot be', () => {
    const times = actionTimes();
    times.note(0, 1_000);
    times.note(0, -5);
    times.note(0, Number.NaN);
    expect(times.nextLook(0)).toBeNull();
    times.note(900, 1_100);
    expect(times.nextLook(0)).toBeGreaterThan(800);
  });
});
