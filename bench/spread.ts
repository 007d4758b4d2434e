import type { Figure, Target } from './figures.ts';

/** What few repetitions tell of a figure: the middle, and between what its true median lies. */
export interface Spread {
  /** As measured, in the order of the rounds. */
  readonly samples: readonly number[];
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** An interval of the median between two order statistics: from the `from`-th smallest sample to the `from`-th largest. */
export interface Interval {
  /** Counted from 1. */
  readonly from: number;
  /** How often such an interval holds the true median, whatever the distribution. */
  readonly coverage: number;
}

/** `unknown`: something is no number. */
export type Verdict = 'better' | 'same' | 'worse' | 'too few' | 'unknown';

const WANTED_COVERAGE = 0.95;
/** Of fewer samples not even the whole range holds the median so often. */
export const FEWEST_ROUNDS = 6;

/**
 * The narrowest interval that holds the median in 95 % of cases, the whole range where there is none. It needs no assumption on the distribution: that
 * fewer than k of n samples lie below the median has the probability of fewer than k heads in n throws of a coin (the sign test turned round).
 * 6 to 8 samples need the whole range; from 9 on the outermost one on each side is left out, so that one outlier decides nothing.
 */
export function intervalOf(rounds: number): Interval {
  let interval: Interval = { from: 1, coverage: 1 - 2 * tail(rounds, 0) };
  for (let from = 2; from <= rounds / 2; from += 1) {
    const coverage = 1 - 2 * tail(rounds, from - 1);
    if (coverage < WANTED_COVERAGE) break;
    interval = { from, coverage };
  }
  return interval;
}

/** The probability of at most `heads` heads in `throws` throws. */
function tail(throws: number, heads: number): number {
  let [term, sum] = [0.5 ** throws, 0];
  for (let count = 0; count <= heads; count += 1) {
    sum += term;
    term *= (throws - count) / (count + 1);
  }
  return sum;
}

/** @throws RangeError of no samples */
export function spreadOf(samples: readonly number[]): Spread {
  const sorted = samples.toSorted((a, b) => a - b);
  const { from } = intervalOf(samples.length);
  const [low, high] = [sorted[from - 1], sorted[samples.length - from]];
  const middle = [sorted[Math.floor((samples.length - 1) / 2)], sorted[Math.floor(samples.length / 2)]];
  if (low === undefined || high === undefined) throw new RangeError('there is no spread of no samples');
  return { samples, median: ((middle[0] ?? 0) + (middle[1] ?? 0)) / 2, low, high };
}

/** What is wanted of a figure: less of it or more, or to be as near to a number as may be. */
export type Aim = 'less' | 'more' | { readonly exactly: number };

/** Less, unless it is a rate, or the figure or its target says otherwise. */
export function aimOf({ unit, target, better }: Pick<Figure, 'unit' | 'target' | 'better'>): Aim {
  if (better !== undefined) return better;
  return target === undefined ? (unit === '/s' ? 'more' : 'less') : aimOfTarget(target);
}

function aimOfTarget(target: Target): Aim {
  if ('exactly' in target) return { exactly: target.exactly };
  return 'atLeast' in target ? 'more' : 'less';
}

/**
 * Whether `current` is better or worse than `former`: only when the intervals of both medians have no point in common. Two equal builds come to that in two of
 * 924 rows when each was measured six times, and more seldom with more rounds.
 */
export function verdictOf(former: Spread, current: Spread, aim: Aim): Verdict {
  if (![...former.samples, ...current.samples].every(Number.isFinite)) return 'unknown';
  if (Math.min(former.samples.length, current.samples.length) < FEWEST_ROUNDS) return 'too few';
  const [before, now] = [costOf(former, aim), costOf(current, aim)];
  if (now.low > before.high) return 'worse';
  return now.high < before.low ? 'better' : 'same';
}

/** The spread of what is to be small. */
function costOf({ samples }: Spread, aim: Aim): Spread {
  if (aim === 'less') return spreadOf(samples);
  return spreadOf(samples.map((value) => (aim === 'more' ? -value : Math.abs(value - aim.exactly))));
}

/** How many times `former` the median of `current` is; null when that is no number. */
export function ratioOf(former: Spread, current: Spread): number | null {
  if (former.median === current.median) return 1;
  const ratio = current.median / former.median;
  return Number.isFinite(ratio) ? ratio : null;
}
