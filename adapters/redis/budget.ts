import {
  type Budget,
  type BudgetOptions,
  type BudgetReading,
  type BudgetWindow,
  budgetFigures,
  LONGEST_CLOSE_MS,
  TURN_KEPT_MS,
} from '../../actors/ports/budget.ts';
import type { RedisLink } from './link.ts';
import { CLOSE, LEFT, OBSERVE, PAY } from './scripts.ts';

/** Placeholder for calls without a namespace; not a valid namespace name. */
const NOBODY = '-';

export interface RedisBudgetOptions extends BudgetOptions {
  readonly link: RedisLink;
  /** Prefix of the keys, a hash tag. */
  readonly prefix: string;
  /** Identifies the token without revealing it: all users of a token share one budget. */
  readonly tokenHash: string;
}

/** The budget of one token for all replicas, by the clock of the Redis server: a log of the calls of the last minute, as the provider counts them, and a
 *  bucket for the hour that refills continuously and is corrected by the provider's responses. */
export const redisBudget = ({ link, prefix, tokenHash, ...options }: RedisBudgetOptions): Budget & BudgetReading => {
  const { perMinute, perHour, createsPerMinute, minuteMs, leaves, keptForQuiet, lineOf } = budgetFigures(options);
  const key = `${prefix}:budget:${tokenHash}`;
  const logs = [`${key}:minute`, `${key}:creations`];
  const limits = [Math.floor(perMinute), perHour, Math.floor(createsPerMinute)];
  const close = async (ms: number): Promise<void> => {
    await link.script('close the budget', CLOSE, [key], [Math.ceil(ms)]);
  };
  return {
    pay: async (purpose, calls = 1, given = []) => {
      const { ofMinute, ofHour } = leaves(purpose);
      const namespaces = given.length > 0 ? given : [NOBODY];
      const line = `${key}:turns:${lineOf(purpose)}`;
      const keys = [key, ...logs, line, ...namespaces.map((namespace) => `${line}:${namespace}`)];
      const args = [
        ...limits,
        ofMinute,
        ofHour,
        purpose === 'create' ? 1 : 0,
        calls,
        minuteMs,
        TURN_KEPT_MS,
        keptForQuiet(purpose),
        ...namespaces,
      ];
      return Number(await link.script(`pay for ${purpose}`, PAY, keys, args));
    },
    observe: ({ remaining, resetAtMs }) => {
      const told = async (): Promise<void> => {
        await link.script('observe the budget', OBSERVE, [key], [remaining, perHour]);
        const wait = Math.min(resetAtMs - Date.now(), LONGEST_CLOSE_MS);
        if (remaining <= 0 && wait > 0) await close(wait);
      };
      // A lost correction is harmless: the next reply brings another.
      told().catch(() => undefined);
    },
    close,
    left: async () => {
      const left = (await link.script('read the budget', LEFT, [key, ...logs], [...limits, minuteMs])) as readonly number[];
      const windows: readonly Omit<BudgetWindow, 'left'>[] = [
        { window: 'minute', limit: perMinute },
        { window: 'hour', limit: perHour },
        { window: 'create', limit: createsPerMinute },
      ];
      return windows.map((window, index) => ({ ...window, left: Number(left[index] ?? 0) }));
    },
  };
};
