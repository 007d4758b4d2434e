import type { Purpose } from './provider.ts';

/** The request budget of one token, shared by all replicas. */
export interface Budget {
  /** Takes `calls` (1 unless given) out of the budget, all or none; as many as the purpose may ever use when that is less. Answers 0 when they may be sent
   *  now, else after how many ms to ask again: those that wait are given different times, so that they do not all come back for one place. Those that leave
   *  the same reserve wait in one line, in which the namespaces take turns: a place that is free goes to the one that has had none for the longest time.
   *  Of `namespaces`, for all of which the calls are made, one gives its turn: whichever has it first. None, for calls of nobody, have a turn of their own,
   *  too. A few calls of each minute are kept for quiet namespaces, which take no turns for them. Throws `Unreachable`. */
  pay(purpose: Purpose, calls?: number, namespaces?: readonly string[]): Promise<number>;
  /** What the provider said of its limit in a reply. */
  observe(limits: { readonly remaining: number; readonly resetAtMs: number }): void;
  /** Nobody sends for `ms`: the provider answered 429. */
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

/** A budget to look at. */
export interface BudgetReading {
  /** As it stands now; takes nothing. While it is closed nothing is left in any window. @throws Unreachable */
  left(): Promise<readonly BudgetWindow[]>;
}

/** What a budget allows; what is left out is as DigitalOcean has it. */
export interface BudgetOptions {
  /** Calls in any minute. Default 250, as DigitalOcean allows. */
  readonly perMinute?: number;
  /** Calls per hour. Default 5000, as DigitalOcean allows. */
  readonly perHour?: number;
  /** Creations in any minute. Default 12. */
  readonly createsPerMinute?: number;
  /** The share of minute and hour that a purpose leaves to others, 0 to 1. Default: failover, its confirmation and firewall nothing, create and
   *  intend a tenth, verify and dns 0.3. Failover and firewall leave a few of the minute to confirmations all the same. */
  readonly reserve?: Readonly<Partial<Record<Purpose, number>>>;
  /** How long a call counts as one of the last minute. Default 62000: calls are for different times on their way to the provider, which counts when they
   *  arrive. */
  readonly minuteMs?: number;
}

/** What every budget goes by, wherever it is kept. */
export interface BudgetFigures {
  readonly perMinute: number;
  readonly perHour: number;
  readonly createsPerMinute: number;
  readonly minuteMs: number;
  /** Calls of a minute and of an hour that a purpose leaves to others. */
  readonly leaves: (purpose: Purpose) => { readonly ofMinute: number; readonly ofHour: number };
  /** Calls of a minute that are kept besides for quiet namespaces: those that have made no more calls in it than this. */
  readonly keptForQuiet: (purpose: Purpose) => number;
  /** Names the line in which those wait that make calls for that purpose: by what they leave, in percent. */
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

/** The share of a minute that assigns leave to their confirmations: many at once would else not be known to be done before the minute is over. */
const CONFIRMATIONS = 0.06;

/** The share of a minute that is kept for quiet namespaces: whoever makes many at once would else keep the failovers of all others
 *  waiting until the minute is over. */
const QUIET = 0.04;

/** Whoever was told to ask again now has its turn kept for it so long, ms: a job comes a little later than it was told to. */
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
  // What leaves a reserve leaves more than that already.
  const keptForQuiet = (purpose: Purpose): number => Math.max(0, Math.floor(perMinute * QUIET) - Math.floor(perMinute * reserves[purpose]));
  return { perMinute, perHour, createsPerMinute, minuteMs, leaves, keptForQuiet, lineOf };
}
