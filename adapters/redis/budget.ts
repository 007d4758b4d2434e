import type { Budget, BudgetReading, BudgetWindow, Purpose } from '../../actors/ports.ts';
import type { RedisLink } from './link.ts';
import { CLOSE, LEFT, OBSERVE, PAY } from './scripts.ts';

export interface RedisBudgetOptions {
  readonly link: RedisLink;
  /** In front of the key, in braces. */
  readonly prefix: string;
  /** Names the token without telling it: all who use one token share one budget. */
  readonly tokenHash: string;
  /** Calls in any minute. Default 250, as DigitalOcean allows. */
  readonly perMinute?: number;
  /** Calls per hour. Default 5000, as DigitalOcean allows. */
  readonly perHour?: number;
  /** Creations in any minute. Default 12. */
  readonly createsPerMinute?: number;
  /** The share of minute and hour that a purpose leaves to others, 0 to 1. Default: failover, its confirmation and firewall nothing, create and
   *  intend a tenth, verify and dns 0.3. */
  readonly reserve?: Readonly<Partial<Record<Purpose, number>>>;
  /** How long a call counts as one of the last minute. Default 62000: calls are for different times on their way to the provider, which counts when they
   *  arrive. */
  readonly minuteMs?: number;
}

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

/** The budget of one token for all replicas, by the clock of the Redis server: the calls of the last minute one by one, as the provider counts them, and a
 *  bucket for the hour that fills all the time and is corrected by what the provider says. */
export const redisBudget = ({
  link,
  prefix,
  tokenHash,
  perMinute = 250,
  perHour = 5_000,
  createsPerMinute = 12,
  reserve = {},
  minuteMs = 62_000,
}: RedisBudgetOptions): Budget & BudgetReading => {
  const key = `${prefix}:budget:${tokenHash}`;
  const logs = [`${key}:minute`, `${key}:creations`];
  const reserves = { ...RESERVE, ...reserve };
  const limits = [Math.floor(perMinute), perHour, Math.floor(createsPerMinute)];
  const close = async (ms: number): Promise<void> => {
    await link.script('close the budget', CLOSE, [key], [Math.ceil(ms)]);
  };
  return {
    pay: async (purpose, calls = 1) => {
      const leave = [perMinute * (purpose === 'failover' ? CONFIRMATIONS : reserves[purpose]), perHour * reserves[purpose]].map(Math.floor);
      const args = [...limits, ...leave, purpose === 'create' ? 1 : 0, calls, minuteMs];
      return Number(await link.script(`pay for ${purpose}`, PAY, [key, ...logs, `${key}:waiting:${purpose}`], args));
    },
    observe: ({ remaining, resetAtMs }) => {
      const told = async (): Promise<void> => {
        await link.script('observe the budget', OBSERVE, [key], [remaining, perHour]);
        const wait = Math.min(resetAtMs - Date.now(), LONGEST_CLOSE_MS);
        if (remaining <= 0 && wait > 0) await close(wait);
      };
      // A correction that is lost costs nothing: the next reply brings another.
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
