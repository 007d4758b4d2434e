/** Returns a number in [0, 1), like Math.random. */
export type Random = () => number;

export interface BackoffTable {
  readonly firstMs: number;
  readonly factor: number;
  readonly maxMs: number;
}

export interface Backoff {
  /** How long to wait before the next try, ms: between 50 % and 100 % of the table's value, so that clients do not return all at
   *  once; never less than the server asked for. */
  next(askedMs?: number | null): number;
  /** How often `next` was called since the last reset. */
  failures(): number;
  /** It works again: the next failure starts the table from the beginning. */
  reset(): void;
}

export const backoff = (table: BackoffTable, random: Random): Backoff => new TableBackoff(table, random);

/** A class rather than closures, because there is one per written object. */
class TableBackoff implements Backoff {
  readonly #table: BackoffTable;
  readonly #random: Random;
  #failures = 0;

  constructor(table: BackoffTable, random: Random) {
    this.#table = table;
    this.#random = random;
  }

  next(askedMs: number | null = null): number {
    const { firstMs, factor, maxMs } = this.#table;
    const full = Math.min(maxMs, firstMs * factor ** this.#failures);
    this.#failures += 1;
    const jittered = full * (0.5 + this.#random() / 2);
    return Math.max(askedMs ?? 0, jittered);
  }

  failures(): number {
    return this.#failures;
  }

  reset(): void {
    this.#failures = 0;
  }
}
