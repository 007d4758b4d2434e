/** One thing that was measured. */
export interface Figure {
  readonly what: string;
  readonly value: number;
  readonly unit: 'ms' | 's' | 'kB' | 'MB' | '%' | '/s' | '';
  /** What it must reach; absent where nothing is promised. */
  readonly target?: Target;
  /** Which of two builds is the better one, where neither the unit nor the target tells. */
  readonly better?: 'more' | 'less';
}

export type Target = { readonly atMost: number } | { readonly atLeast: number } | { readonly exactly: number };

/** Null where nothing is promised. */
export function isReached({ value, target }: Figure): boolean | null {
  if (target === undefined) return null;
  if ('atMost' in target) return value <= target.atMost;
  return 'atLeast' in target ? value >= target.atLeast : value === target.exactly;
}

/** The smallest value that `share` of all are not above (nearest rank). @throws RangeError of no values */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
  if (value === undefined) throw new RangeError('there is no quantile of no values');
  return value;
}

/** p50 and p99 of durations in ms. */
export const distribution = (
  what: string,
  values: readonly number[],
  targets: { readonly p50?: number; readonly p99?: number } = {},
): readonly Figure[] => [
  { what: `${what}, p50`, value: quantile(values, 0.5), unit: 'ms', ...(targets.p50 !== undefined && { target: { atMost: targets.p50 } }) },
  {
    what: `${what}, p99`,
    value: quantile(values, 0.99),
    unit: 'ms',
    ...(targets.p99 !== undefined && { target: { atMost: targets.p99 } }),
  },
];
