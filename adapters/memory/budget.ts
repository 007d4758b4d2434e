import {
  type Budget,
  type BudgetOptions,
  type BudgetReading,
  budgetFigures,
  LONGEST_CLOSE_MS,
  TURN_KEPT_MS,
} from '../../actors/ports/budget.ts';
import { Unreachable } from '../../actors/ports/errors.ts';
import type { Purpose } from '../../actors/ports/provider.ts';
import type { Clock } from '../../actors/ports/records.ts';

export interface MemoryBudget extends Budget, BudgetReading {
  goDown(): void;
  comeBack(): void;
}

/** Times of the last calls, newest first. */
interface CallLog {
  readonly capacity: number;
  times: readonly number[];
}

/** The turn of a namespace in one of the lines. */
interface Turn {
  readonly hadAt: number;
  /** When the waiting callers return. */
  readonly waiting: readonly number[];
  /** Number of calls of the latest request. */
  readonly calls: number;
  /** Number of calls made, and since when they are counted. */
  readonly made: { readonly since: number; readonly calls: number };
}

const NEVER = Number.NEGATIVE_INFINITY;
const NO_TURN: Turn = { hadAt: NEVER, waiting: [], calls: 0, made: { since: NEVER, calls: 0 } };

/** Placeholder for calls without a namespace. */
const NOBODY = '';

const HOUR_MS = 3_600_000;

/** The budget of one token for all processes that share this object: a log of the calls of the last minute, as a provider counts them, and a bucket
 *  for the hour that refills continuously. */
export const memoryBudget = (clock: Clock, options: BudgetOptions = {}): MemoryBudget => {
  const { perMinute, perHour, createsPerMinute, minuteMs, leaves, keptForQuiet, lineOf } = budgetFigures(options);
  const minute: CallLog = { capacity: Math.floor(perMinute), times: [] };
  const creates: CallLog = { capacity: Math.floor(createsPerMinute), times: [] };
  const hour = { left: perHour, filledAt: clock.monotonic() };
  /** By line, then by namespace. */
  const lines = new Map<string, Map<string, Turn>>();
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
  const pay = (purpose: Purpose, wanted: number, namespaces: readonly string[]): number => {
    const now = clock.monotonic();
    const { ofMinute, ofHour } = leaves(purpose);
    const logs = [{ log: minute, usable: minute.capacity - ofMinute }];
    // Creations have a log of their own, which they may use completely.
    if (purpose === 'create') logs.push({ log: creates, usable: creates.capacity });
    const calls = Math.min(wanted, Math.max(1, Math.min(perHour - ofHour, ...logs.map(({ usable }) => usable))));
    const line = lines.get(lineOf(purpose)) ?? new Map<string, Turn>();
    lines.set(lineOf(purpose), line);
    const { ahead, namespace } = placeIn(line, namespaces, now);
    const turnOf = (each: string): Turn => line.get(each) ?? NO_TURN;
    /** Wait until the calls are available, after `others` calls that go first and with `keeping` calls reserved, ms. */
    const waitBehind = (others: number, keeping: number): number => {
      const filled = Math.ceil(((calls + others + ofHour - hour.left) * HOUR_MS) / perHour);
      const freed = logs.map(({ log, usable }) => {
        const at = log.times[Math.max(0, usable - keeping - calls - others)];
        return at === undefined ? 0 : at + minuteMs - now;
      });
      return Math.max(0, closedUntil - now, filled, ...freed);
    };
    const madeBy = (each: string): Turn['made'] => {
      const { made } = turnOf(each);
      return made.since + minuteMs > now ? made : { since: now, calls: 0 };
    };
    const kept = keptForQuiet(purpose);
    const isQuiet = (each: string): boolean => madeBy(each).calls === 0 || madeBy(each).calls + calls <= kept;
    const mayGo = waitBehind(ahead, kept) === 0;
    const quiet = !mayGo && kept > 0 && waitBehind(0, 0) === 0 ? namespaces.find(isQuiet) : undefined;
    const giver = quiet ?? namespace;
    const { hadAt, waiting: asked } = turnOf(giver);
    const waiting = asked.filter((at) => at > now);
    if (!mayGo && quiet === undefined) {
      const wait = waitBehind(ahead + waiting.length, kept);
      line.set(giver, { hadAt, waiting: [...waiting, now + wait], calls, made: madeBy(giver) });
      return wait;
    }
    const made = madeBy(giver);
    line.set(giver, { hadAt: now, waiting, calls, made: { ...made, calls: made.calls + calls } });
    hour.left -= calls;
    for (const { log } of logs) log.times = [...Array<number>(calls).fill(now), ...log.times].slice(0, log.capacity);
    return 0;
  };
  /** Which of the namespaces uses its turn, and how many waiting calls of others go first. */
  const placeIn = (line: Map<string, Turn>, namespaces: readonly string[], now: number) => {
    for (const [each, { hadAt, waiting }] of line) if (hadAt + minuteMs <= now && !isWaiting({ waiting }, now)) line.delete(each);
    const hadAt = (each: string): number => (line.get(each) ?? NO_TURN).hadAt;
    const [namespace = NOBODY] = namespaces.toSorted((a, b) => hadAt(a) - hadAt(b));
    const before = [...line].filter(([each, turn]) => each !== namespace && turn.hadAt < hadAt(namespace) && isWaiting(turn, now));
    const ahead = before.reduce((sum, [, turn]) => sum + turn.calls, 0);
    return { namespace, ahead };
  };
  const leftOf = ({ capacity, times }: CallLog): number => capacity - times.filter((at) => at > clock.monotonic() - minuteMs).length;

  return {
    pay: async (purpose, calls = 1, given = []) => {
      if (down) throw new Unreachable('memory budget: switched off');
      fill();
      return pay(purpose, calls, given.length > 0 ? given : [NOBODY]);
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

/** A caller whose wait has just ended may still be about to return. */
const isWaiting = ({ waiting }: Pick<Turn, 'waiting'>, now: number): boolean => waiting.some((at) => now < at + TURN_KEPT_MS);
