import { inSlices, REST_MS } from '../ports/in-slices.ts';
import type { Clock } from '../ports/records.ts';

/** Does something with each of many, in slices that others do not wait for. What is added once more before its turn has come is done once, what is added after it again. */
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

  /** At once, if it waits. */
  now(item: T): void {
    if (this.#waiting.delete(item)) this.#each(item);
  }

  /** What is added while they are gone through comes last. */
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
