/** Serializes operations on the same key, in the order they were requested. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Whether any operation runs or waits for its turn. */
  isBusy(key: string): boolean {
    return this.#last.has(key);
  }

  /** Runs `act` once its turn has come, and returns its result. */
  async take<T>(key: string, act: () => Promise<T>): Promise<T> {
    const mine = (this.#last.get(key) ?? Promise.resolve()).then(act);
    const turn = mine.catch(() => undefined);
    this.#last.set(key, turn);
    try {
      return await mine;
    } finally {
      if (this.#last.get(key) === turn) this.#last.delete(key);
    }
  }
}
