/** A number in [0, 1), as Math.random gives it. */
export type Random = () => number;

export interface BackoffTable {
  readonly firstMs: number;
  readonly factor: number;
  readonly maxMs: number;
}

export interface Backoff {
  /** How long to wait before the next try, ms: between half and all of what the table says, so that many clients do not come back at
   *  once; never less than the server asked for. */
  next(askedMs?: number | null): number;
  /** How often `next` was asked since the last reset. */
  failures(): number;
  /** It works again: the next failure starts the table anew. */
  reset(): void;
}

export const backoff = ({ firstMs, factor, maxMs }: BackoffTable, random: Random): Backoff => {
  let failures = 0;
  return {
    next: (askedMs = null) => {
      const full = Math.min(maxMs, firstMs * factor ** failures);
      failures += 1;
      const jittered = full * (0.5 + random() / 2);
      return Math.max(askedMs ?? 0, jittered);
    },
    failures: () => failures,
    reset: () => {
      failures = 0;
    },
  };
};
