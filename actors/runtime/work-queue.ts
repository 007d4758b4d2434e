import type { ActorId } from '../../machines/model/types.ts';

/** Runs `look` for each requested key: at most `atOnce` concurrently, one at a time per key, and once more when the key was requested meanwhile. */
export class Looks {
  readonly #look: (key: ActorId) => Promise<void>;
  readonly #atOnce: number;
  readonly #asked = new Set<ActorId>();
  readonly #running = new Set<ActorId>();

  /** `look` does not throw. */
  constructor(look: (key: ActorId) => Promise<void>, atOnce: number) {
    this.#look = look;
    this.#atOnce = atOnce;
  }

  request(key: ActorId): void {
    this.#asked.add(key);
    this.#next();
  }

  #next(): void {
    for (const key of this.#asked) {
      if (this.#running.size >= this.#atOnce) return;
      if (this.#running.has(key)) continue;
      this.#asked.delete(key);
      this.#running.add(key);
      void this.#look(key).finally(() => {
        this.#running.delete(key);
        this.#next();
      });
    }
  }
}
