/** Lets so many turns go on at a time; the others wait in the order in which they came. Thousands that begin at once would each hold what it writes, and
 *  keep the process from its watches and its Lease until all are written. */
export class TurnGate {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  /** Null when it goes on at once; else resolves when it may. Whoever has entered is to leave. */
  enter(): Promise<void> | null {
    if (this.#free === 0) return new Promise((resolve) => this.#waiting.add(resolve));
    this.#free -= 1;
    return null;
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
}
