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

export const backoff = (table: BackoffTable, random: Random): Backoff => new TableBackoff(table, random);

/** There is one for each thing that is written: no closures. */
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
