import { Unreachable } from '../../actors/errors.ts';
import type { Budget, BudgetReading, Clock, Purpose } from '../../actors/ports.ts';

export interface MemoryBudgetOptions {
  /** Calls per minute. Default 250, as DigitalOcean allows. */
  readonly perMinute?: number;
  /** Calls per hour. Default 5000, as DigitalOcean allows. */
  readonly perHour?: number;
  /** Creations per minute. Default 12. */
  readonly createsPerMinute?: number;
  /** The share of both buckets that a purpose leaves to others, 0 to 1. Default: failover and firewall nothing, create a tenth, verify and dns 0.3. */
  readonly reserve?: Readonly<Partial<Record<Purpose, number>>>;
}

export interface MemoryBudget extends Budget, BudgetReading {
  goDown(): void;
  comeBack(): void;
}

interface Bucket {
  readonly capacity: number;
  /** Time in which an empty bucket fills, ms. */
  readonly fillMs: number;
  left: number;
}

const RESERVE: Readonly<Record<Purpose, number>> = { failover: 0, firewall: 0, create: 0.1, verify: 0.3, dns: 0.3 };

/** The longest that a reply saying "nothing left" closes the budget, ms: its reset time is by the provider's clock, which may be wrong. */
const LONGEST_CLOSE_MS = 60_000;

/** The budget of one token for all processes that are given this object: buckets that fill all the time. */
export const memoryBudget = (
  clock: Clock,
  { perMinute = 250, perHour = 5_000, createsPerMinute = 12, reserve = {} }: MemoryBudgetOptions = {},
): MemoryBudget => {
  const minute: Bucket = { capacity: perMinute, fillMs: 60_000, left: perMinute };
  const hour: Bucket = { capacity: perHour, fillMs: 3_600_000, left: perHour };
  const creates: Bucket = { capacity: createsPerMinute, fillMs: 60_000, left: createsPerMinute };
  const reserves = { ...RESERVE, ...reserve };
  let filledAt = clock.monotonic();
  let closedUntil = 0;
  let down = false;

  const fill = (): void => {
    const elapsed = clock.monotonic() - filledAt;
    filledAt += elapsed;
    for (const bucket of [minute, hour, creates]) {
      bucket.left = Math.min(bucket.capacity, bucket.left + (elapsed * bucket.capacity) / bucket.fillMs);
    }
  };
  const waitFor = ({ capacity, fillMs, left }: Bucket, share: number): number =>
    Math.max(0, Math.ceil(((1 + Math.floor(capacity * share) - left) * fillMs) / capacity));
  const close = async (ms: number): Promise<void> => {
    if (down) throw new Unreachable('memory budget: switched off');
    closedUntil = Math.max(closedUntil, clock.monotonic() + ms);
  };

  return {
    pay: async (purpose) => {
      if (down) throw new Unreachable('memory budget: switched off');
      fill();
      const buckets = purpose === 'create' ? [minute, hour, creates] : [minute, hour];
      // Creations have a bucket of their own, which they may empty.
      const waits = buckets.map((bucket) => waitFor(bucket, bucket === creates ? 0 : reserves[purpose]));
      const wait = Math.max(0, closedUntil - clock.monotonic(), ...waits);
      if (wait === 0) for (const bucket of buckets) bucket.left -= 1;
      return wait;
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
      const reading = ({ capacity, left }: Bucket) => ({ limit: capacity, left: isClosed ? 0 : Math.max(0, Math.floor(left)) });
      return [
        { window: 'minute', ...reading(minute) },
        { window: 'hour', ...reading(hour) },
        { window: 'create', ...reading(creates) },
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
