import { inSlices, REST_MS } from '../ports/in-slices.ts';
import type { Clock } from '../ports/records.ts';

/** Processes many items in slices that do not delay others. An item added again before its turn is processed once; one added after it, again. */
export class PacedQueue<T> {
  readonly #clock: Clock;
  readonly #isOver: () => boolean;
  readonly #each: (item: T) => void;
  readonly #waiting = new Set<T>();
  #running = false;

  constructor(clock: Clock, isOver: () => boolean, each: (item: T) => void) {
    this.#clock = clock;
    this.#isOver = isOver;
    this.#each = each;
  }

  add(items: Iterable<T>): void {
    for (const item of items) this.#waiting.add(item);
    if (this.#running) return;
    this.#running = true;
    void inSlices(this.#taken(), this.#clock, this.#isOver, this.#each, REST_MS);
  }

  /** Processes the item at once if it waits. */
  now(item: T): void {
    if (this.#waiting.delete(item)) this.#each(item);
  }

  /** Items added during the iteration come last. */
  *#taken(): Iterable<T> {
    try {
      for (const item of this.#waiting) {
        this.#waiting.delete(item);
        yield item;
      }
    } finally {
      this.#running = false;
    }
  }
}
