import type { Purpose } from './provider.ts';

/** The request budget of one token, shared by all replicas. */
export interface Budget {
  /** Takes `calls` (1 by default) out of the budget, all or none; if that is more than the purpose may ever use, as many as it may. Returns 0 when they may be sent now,
   *  else the time after which to ask again, ms: waiting callers get different times, so that they do not all return for one place. Callers that leave the same reserve
   *  wait in one line, in which the namespaces take turns: a free place goes to the namespace that has had none for the longest time. `namespaces`: those for which the
   *  calls are made; the first of them whose turn comes spends it. Calls without a namespace have a turn of their own. A few calls of each minute are kept for quiet
   *  namespaces, which take no turns for them. Throws `Unreachable`. */
  pay(purpose: Purpose, calls?: number, namespaces?: readonly string[]): Promise<number>;
  /** Records the limit that the provider reported in a reply. */
  observe(limits: { readonly remaining: number; readonly resetAtMs: number }): void;
  /** No process sends for `ms`: the provider answered 429. */
  close(ms: number): Promise<void>;
}

/** One of the limits that a budget keeps. */
export interface BudgetWindow {
  /** Calls per minute, calls per hour, creations per minute. */
  readonly window: 'minute' | 'hour' | 'create';
  readonly limit: number;
  /** Calls that could be made now, 0 or more. */
  readonly left: number;
}

/** Read access to a budget. */
export interface BudgetReading {
  /** The current state; takes nothing. While the budget is closed nothing is left in any window. @throws Unreachable */
  left(): Promise<readonly BudgetWindow[]>;
}

/** The limits of a budget; defaults apply to what is absent. */
export interface BudgetOptions {
  /** Calls in any minute. Default 250, as DigitalOcean allows. */
  readonly perMinute?: number;
  /** Calls per hour. Default 5000, as DigitalOcean allows. */
  readonly perHour?: number;
  /** Creations in any minute. Default 12. */
  readonly createsPerMinute?: number;
  /** The share of minute and hour that a purpose leaves to others, 0 to 1. Default: 0 for failover, its confirmation and firewall, 0.1 for create and intend, 0.3 for
   *  verify and dns. Failover and firewall still leave a few calls of the minute to confirmations. */
  readonly reserve?: Readonly<Partial<Record<Purpose, number>>>;
  /** How long a call counts towards the last minute. Default 62000: calls take different times to reach the provider, which counts them on arrival. */
  readonly minuteMs?: number;
}

/** The figures that every budget uses, wherever it is kept. */
export interface BudgetFigures {
  readonly perMinute: number;
  readonly perHour: number;
  readonly createsPerMinute: number;
  readonly minuteMs: number;
  /** Calls of a minute and of an hour that a purpose leaves to others. */
  readonly leaves: (purpose: Purpose) => { readonly ofMinute: number; readonly ofHour: number };
  /** Calls of a minute that are additionally kept for quiet namespaces: those that have made no more calls in it than this. */
  readonly keptForQuiet: (purpose: Purpose) => number;
  /** The name of the line in which calls for that purpose wait: the reserve that they leave, in percent. */
  readonly lineOf: (purpose: Purpose) => string;
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

/** The share of a minute that assigns leave to their confirmations: otherwise many assigns at once could not be confirmed within the minute. */
const CONFIRMATIONS = 0.06;

/** The share of a minute that is kept for quiet namespaces: otherwise a namespace that makes many calls at once would delay the failovers of all others until the minute is
 *  over. */
const QUIET = 0.04;

/** A caller that was given a time to ask again keeps its turn this long, ms: jobs return a little late. */
export const TURN_KEPT_MS = 2_000;

/** The longest that a reply saying "nothing left" closes the budget, ms: its reset time is by the provider's clock, which may be wrong. */
export const LONGEST_CLOSE_MS = 60_000;

export function budgetFigures({
  perMinute = 250,
  perHour = 5_000,
  createsPerMinute = 12,
  reserve = {},
  minuteMs = 62_000,
}: BudgetOptions): BudgetFigures {
  const reserves = { ...RESERVE, ...reserve };
  const leaves = (purpose: Purpose) => ({
    ofMinute: Math.floor(perMinute * (purpose === 'failover' || purpose === 'firewall' ? CONFIRMATIONS : reserves[purpose])),
    ofHour: Math.floor(perHour * reserves[purpose]),
  });
  const lineOf = (purpose: Purpose): string => String(Math.round(100 * reserves[purpose]));
  // A purpose that leaves a reserve already leaves more than that.
  const keptForQuiet = (purpose: Purpose): number => Math.max(0, Math.floor(perMinute * QUIET) - Math.floor(perMinute * reserves[purpose]));
  return { perMinute, perHour, createsPerMinute, minuteMs, leaves, keptForQuiet, lineOf };
}
