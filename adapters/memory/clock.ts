import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../actors/ports/records.ts';

/** Time that passes only on request. */
export interface VirtualClock extends Clock {
  /** Lets `ms` pass: runs due timers by time, then by creation, and after each waits until all promises have settled. */
  advance(ms: number): Promise<void>;
  /** Advances from timer to timer until `condition` holds; resolves with the ms that passed. @throws Error when it does not hold within `maxMs`. */
  runUntil(condition: () => boolean, maxMs: number): Promise<number>;
  /** Waits until all promises have settled and nothing is due now. */
  settle(): Promise<void>;
  /** The wall clock jumps by `ms`; timers and the monotonic clock do not. */
  jump(ms: number): void;
  /** Number of pending timers. */
  pending(): number;
}

interface Timer {
  readonly dueAt: number;
  readonly order: number;
  readonly run: () => void;
}

/** The first timer by time, then by creation. Few are pending at once, so a linear search is fast enough. */
const firstOf = (timers: ReadonlySet<Timer>): Timer | null => {
  let first: Timer | null = null;
  for (const timer of timers) {
    if (first === null || timer.dueAt < first.dueAt || (timer.dueAt === first.dueAt && timer.order < first.order)) first = timer;
  }
  return first;
};

/** A clock that starts at `startAt` (ms since the epoch; a fixed day unless given). */
export const virtualClock = ({ startAt = Date.UTC(2026, 0, 1) }: { readonly startAt?: number } = {}): VirtualClock => {
  const timers = new Set<Timer>();
  let elapsed = 0;
  let jumped = 0;
  let created = 0;

  const after = (ms: number, run: () => void): (() => void) => {
    created += 1;
    const timer = { dueAt: elapsed + Math.max(0, ms), order: created, run };
    timers.add(timer);
    return () => void timers.delete(timer);
  };
  const clock: Clock = { now: () => startAt + elapsed + jumped, monotonic: () => elapsed, after };

  // A turn of the event loop comes only after every promise that can settle has settled.
  const quiet = async (): Promise<void> => {
    await nextTurn();
  };
  const runNext = async (until: number): Promise<boolean> => {
    const timer = firstOf(timers);
    if (timer === null || timer.dueAt > until) return false;
    timers.delete(timer);
    elapsed = Math.max(elapsed, timer.dueAt);
    timer.run();
    await quiet();
    return true;
  };
  const advance = async (ms: number): Promise<void> => {
    const until = elapsed + ms;
    await quiet();
    while (await runNext(until));
    elapsed = until;
  };

  return {
    ...clock,
    advance,
    settle: () => advance(0),
    jump: (ms) => {
      jumped += ms;
    },
    runUntil: async (condition, maxMs) => {
      const start = elapsed;
      await quiet();
      while (!condition()) {
        if (await runNext(start + maxMs)) continue;
        elapsed = start + maxMs;
        if (condition()) break;
        throw new Error(`what was waited for did not happen within ${maxMs} ms of virtual time`);
      }
      return elapsed - start;
    },
    pending: () => timers.size,
  };
};
