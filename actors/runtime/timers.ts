import type { Clock } from '../ports/records.ts';

/** Timers of one term: none of them fires after `cancel`. */
export class Alarms {
  readonly #clock: Clock;
  readonly #set = new Set<() => void>();
  #cancelled = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  after(ms: number, run: () => void): void {
    if (this.#cancelled) return;
    const cancel = this.#clock.after(ms, () => {
      this.#set.delete(cancel);
      run();
    });
    this.#set.add(cancel);
  }

  every(ms: number, run: () => void): void {
    this.after(ms, () => {
      run();
      this.every(ms, run);
    });
  }

  cancel(): void {
    this.#cancelled = true;
    for (const cancel of this.#set) cancel();
    this.#set.clear();
  }
}
