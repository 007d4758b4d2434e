/** What is done about one key runs one after another, in the order in which it was asked for. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Whether anything runs, or waits for its turn. */
  isBusy(key: string): boolean {
    return this.#last.has(key);
  }

  /** Answers what `act` answers, once its turn has come. */
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
