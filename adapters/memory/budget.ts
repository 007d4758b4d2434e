import { Unreachable } from '../../actors/errors.ts';
import { type Budget, type BudgetOptions, type BudgetReading, budgetFigures, LONGEST_CLOSE_MS } from '../../actors/ports/budget.ts';
import type { Purpose } from '../../actors/ports/provider.ts';
import type { Clock } from '../../actors/ports.ts';

export interface MemoryBudget extends Budget, BudgetReading {
  goDown(): void;
  comeBack(): void;
}

/** Times of the last calls, newest first. */
interface CallLog {
  readonly capacity: number;
  times: readonly number[];
}

const HOUR_MS = 3_600_000;

/** The budget of one token for all processes that are given this object: the calls of the last minute one by one, as a provider counts them, and a bucket
 *  for the hour that fills all the time. */
export const memoryBudget = (clock: Clock, options: BudgetOptions = {}): MemoryBudget => {
  const { perMinute, perHour, createsPerMinute, minuteMs, leaves } = budgetFigures(options);
  const minute: CallLog = { capacity: Math.floor(perMinute), times: [] };
  const creates: CallLog = { capacity: Math.floor(createsPerMinute), times: [] };
  const hour = { left: perHour, filledAt: clock.monotonic() };
  /** When those come back that wait, by purpose. */
  const waiting = new Map<Purpose, readonly number[]>();
  let closedUntil = 0;
  let down = false;

  const fill = (): void => {
    const now = clock.monotonic();
    hour.left = Math.min(perHour, hour.left + ((now - hour.filledAt) * perHour) / HOUR_MS);
    hour.filledAt = now;
  };
  const close = async (ms: number): Promise<void> => {
    if (down) throw new Unreachable('memory budget: switched off');
    closedUntil = Math.max(closedUntil, clock.monotonic() + ms);
  };
  const pay = (purpose: Purpose, wanted: number): number => {
    const now = clock.monotonic();
    const { ofMinute, ofHour } = leaves(purpose);
    const logs = [{ log: minute, usable: minute.capacity - ofMinute }];
    // Creations have a log of their own, which they may fill.
    if (purpose === 'create') logs.push({ log: creates, usable: creates.capacity });
    const calls = Math.min(wanted, Math.max(1, Math.min(perHour - ofHour, ...logs.map(({ usable }) => usable))));
    /** Until the calls are free when so many others are given places first. */
    const waitBehind = (others: number): number => {
      const filled = Math.ceil(((calls + others + ofHour - hour.left) * HOUR_MS) / perHour);
      const freed = logs.map(({ log, usable }) => {
        const at = log.times[Math.max(0, usable - calls - others)];
        return at === undefined ? 0 : at + minuteMs - now;
      });
      return Math.max(0, closedUntil - now, filled, ...freed);
    };
    if (waitBehind(0) > 0) {
      const others = (waiting.get(purpose) ?? []).filter((at) => at > now);
      const wait = waitBehind(others.length);
      waiting.set(purpose, [...others, now + wait]);
      return wait;
    }
    hour.left -= calls;
    for (const { log } of logs) log.times = [...Array<number>(calls).fill(now), ...log.times].slice(0, log.capacity);
    return 0;
  };
  const leftOf = ({ capacity, times }: CallLog): number => capacity - times.filter((at) => at > clock.monotonic() - minuteMs).length;

  return {
    pay: async (purpose, calls = 1) => {
      if (down) throw new Unreachable('memory budget: switched off');
      fill();
      return pay(purpose, calls);
    },
    observe: ({ remaining, resetAtMs }) => {
      fill();
      hour.left = Math.min(hour.left, remaining);
      const wait = Math.min(resetAtMs - clock.now(), LONGEST_CLOSE_MS);
      if (remaining <= 0 && wait > 0) closedUntil = Math.max(closedUntil, clock.monotonic() + wait);
    },
    close,
    left: async () => {
      if (down) throw new Unreachable('memory budget: switched off');
      fill();
      const isClosed = closedUntil > clock.monotonic();
      const reading = (limit: number, left: number) => ({ limit, left: isClosed ? 0 : Math.max(0, Math.floor(left)) });
      return [
        { window: 'minute', ...reading(perMinute, leftOf(minute)) },
        { window: 'hour', ...reading(perHour, hour.left) },
        { window: 'create', ...reading(createsPerMinute, leftOf(creates)) },
      ];
    },
    goDown: () => {
      down = true;
    },
    comeBack: () => {
      down = false;
    },
  };
};
