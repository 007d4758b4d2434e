import type { Clock } from './records.ts';

/** Limits the number of concurrent turns; the others wait in order of arrival. Thousands that begin at once would each hold what they write, and keep the process from its
 *  watches and its Lease until all are written. */
export class TurnGate {
  readonly #clock: Pick<Clock, 'yieldToEventLoop'>;
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(atOnce: number, clock: Pick<Clock, 'yieldToEventLoop'>) {
    this.#free = atOnce;
    this.#clock = clock;
  }

  /** Null when it may go on at once; otherwise resolves when it may. Each enter needs a leave. */
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

  /** Many may be released in the same turn of the event loop, and have to share it. */
  async #afterYield(first: Promise<void>): Promise<void> {
    for (let pause: Promise<void> | null = first; pause; pause = this.#clock.yieldToEventLoop?.() ?? null) await pause;
  }
}
