import type { ActorId } from '../../machines/model/types.ts';

/** Runs tasks for cells one after another: each waits until the results of those before it are saved. */
export class InTurn {
  readonly #waiting = new Map<ActorId, () => Promise<void>>();
  #running = false;

  /** Replaces a task that still waits for the cell: it would look at the same facts. */
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
