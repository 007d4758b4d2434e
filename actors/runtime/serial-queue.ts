import type { ActorId } from '../../machines/model/types.ts';

/** Does something for one cell after the other: each waits until what was done for those before it is saved. */
export class InTurn {
  readonly #waiting = new Map<ActorId, () => Promise<void>>();
  #running = false;

  /** What still waits for the cell is replaced: it would look at the same facts. */
  add(cell: ActorId, run: () => Promise<void>): void {
    this.#waiting.set(cell, run);
    if (!this.#running) void this.#run();
  }

  async #run(): Promise<void> {
    this.#running = true;
    try {
      for (let next = this.#take(); next; next = this.#take()) await next();
    } finally {
      this.#running = false;
    }
  }

  #take(): (() => Promise<void>) | null {
    for (const [cell, run] of this.#waiting) {
      this.#waiting.delete(cell);
      return run;
    }
    return null;
  }
}
