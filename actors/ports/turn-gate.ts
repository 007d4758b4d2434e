import type { Clock } from './records.ts';

/** Lets so many turns go on at a time; the others wait in the order in which they came. Thousands that begin at once would each hold what it writes, and
 *  keep the process from its watches and its Lease until all are written. */
export class TurnGate {
  readonly #clock: Pick<Clock, 'yieldToEventLoop'>;
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(atOnce: number, clock: Pick<Clock, 'yieldToEventLoop'>) {
    this.#free = atOnce;
    this.#clock = clock;
  }

  /** Null when it goes on at once; else resolves when it may. Whoever has entered is to leave. */
  enter(): Promise<void> | null {
    if (this.#free === 0) return this.#afterYield(new Promise((resolve) => this.#waiting.add(resolve)));
    this.#free -= 1;
    const pause = this.#clock.yieldToEventLoop?.() ?? null;
    return pause && this.#afterYield(pause);
  }

  leave(): void {
    const [next] = this.#waiting;
    if (!next) {
      this.#free += 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }

  /** Many may be let go on in the same turn of the event loop, and do not have it to themselves either. */
  async #afterYield(first: Promise<void>): Promise<void> {
    for (let pause: Promise<void> | null = first; pause; pause = this.#clock.yieldToEventLoop?.() ?? null) await pause;
  }
}
