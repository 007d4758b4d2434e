import type { Clock } from '../../../actors/ports/records.ts';

/** Why something is to be told: a node may fail, or what serves on one that has an address, and does not wait behind what other things do. */
export type Cause = 'node' | 'other';

/** Lets the first news of a thing through at once, and those of the rest after it together at its end. News of nodes wait for news of nodes alone. */
export class Pace {
  readonly #clock: Clock;
  readonly #through: () => void;
  readonly #due = new Map<string, Cause>();
  readonly #waiting = new Map<string, Cause>();
  /** What was told a moment ago, and because of what. */
  readonly #resting = new Map<string, { readonly cause: Cause }>();

  /** `through` is called when something is due, any number of times. */
  constructor(clock: Clock, through: () => void) {
    this.#clock = clock;
    this.#through = through;
  }

  /** There is news of it. */
  news(name: string, cause: Cause): void {
    const rest = this.#resting.get(name)?.cause;
    if (rest === undefined || (rest === 'other' && cause === 'node')) this.now(name, cause);
    else note(this.#waiting, name, cause);
  }

  /** It is due, whatever was told of it before. */
  now(name: string, cause: Cause = 'other'): void {
    note(this.#due, name, cause);
    this.#through();
  }

  /** Nothing is due of it any more. */
  forget(name: string): void {
    for (const table of [this.#due, this.#waiting, this.#resting]) table.delete(name);
  }

  /** Has all told that is due, up to where `isLate`; answers whether that is all. `tell` answers the rest after it, ms; null when there was nothing to be told. */
  flush(tell: (name: string, cause: Cause) => number | null, isLate: () => boolean = () => false): boolean {
    const told: (readonly [name: string, cause: Cause, ms: number])[] = [];
    for (const [name, cause] of [...this.#due]) {
      this.#due.delete(name);
      this.#waiting.delete(name);
      const ms = tell(name, cause);
      if (ms !== null) told.push([name, cause, ms]);
      if (isLate()) break;
    }
    for (const [ms, together] of Map.groupBy(told, ([, , rest]) => rest)) this.#rest(together, ms);
    return this.#due.size === 0;
  }

  #rest(told: readonly (readonly [name: string, cause: Cause, ms: number])[], ms: number): void {
    const rests = told.map(([name, cause]) => ({ name, rest: { cause } }));
    for (const { name, rest } of rests) this.#resting.set(name, rest);
    this.#clock.after(ms, () => {
      for (const { name, rest } of rests) if (this.#resting.get(name) === rest) this.#wake(name);
    });
  }

  #wake(name: string): void {
    this.#resting.delete(name);
    const cause = this.#waiting.get(name);
    this.#waiting.delete(name);
    if (cause !== undefined) this.now(name, cause);
  }
}

const note = (table: Map<string, Cause>, name: string, cause: Cause): void => {
  if (cause === 'node' || !table.has(name)) table.set(name, cause);
};
