import { Unreachable } from '../../actors/errors.ts';
import type { Budget, BudgetReading, Clock, Purpose } from '../../actors/ports.ts';

export interface MemoryBudgetOptions {
  /** Calls in any minute. Default 250, as DigitalOcean allows. */
  readonly perMinute?: number;
  /** Calls per hour. Default 5000, as DigitalOcean allows. */
  readonly perHour?: number;
  /** Creations in any minute. Default 12. */
  readonly createsPerMinute?: number;
  /** The share of minute and hour that a purpose leaves to others, 0 to 1. Default: failover, its confirmation and firewall nothing, create and
   *  intend a tenth, verify and dns 0.3. */
  readonly reserve?: Readonly<Partial<Record<Purpose, number>>>;
  /** How long a call counts as one of the last minute. Default 62000: calls are for different times on their way to the provider. */
  readonly minuteMs?: number;
}

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

const RESERVE: Readonly<Record<Purpose, number>> = {
  failover: 0,
  confirm: 0,
  firewall: 0,
  create: 0.1,
  intend: 0.1,
  verify: 0.3,
  dns: 0.3,
};

/** The share of a minute that assigns leave to their confirmations: many at once would else not be known to be done before the minute is over. */
const CONFIRMATIONS = 0.06;

/** The longest that a reply saying "nothing left" closes the budget, ms: its reset time is by the provider's clock, which may be wrong. */
const LONGEST_CLOSE_MS = 60_000;

/** The budget of one token for all processes that are given this object: the calls of the last minute one by one, as a provider counts them, and a bucket
 *  for the hour that fills all the time. */
export const memoryBudget = (
  clock: Clock,
  { perMinute = 250, perHour = 5_000, createsPerMinute = 12, reserve = {}, minuteMs = 62_000 }: MemoryBudgetOptions = {},
): MemoryBudget => {
  const minute: CallLog = { capacity: Math.floor(perMinute), times: [] };
  const creates: CallLog = { capacity: Math.floor(createsPerMinute), times: [] };
  const hour = { left: perHour, filledAt: clock.monotonic() };
  const reserves = { ...RESERVE, ...reserve };
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
    const leaveOfMinute = Math.floor(perMinute * (purpose === 'failover' ? CONFIRMATIONS : reserves[purpose]));
    const leaveOfHour = Math.floor(perHour * reserves[purpose]);
    const logs = [{ log: minute, usable: minute.capacity - leaveOfMinute }];
    // Creations have a log of their own, which they may fill.
    if (purpose === 'create') logs.push({ log: creates, usable: creates.capacity });
    const calls = Math.min(wanted, Math.max(1, Math.min(perHour - leaveOfHour, ...logs.map(({ usable }) => usable))));
    /** Until the calls are free when so many others are given places first. */
    const waitBehind = (others: number): number => {
      const filled = Math.ceil(((calls + others + leaveOfHour - hour.left) * HOUR_MS) / perHour);
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
