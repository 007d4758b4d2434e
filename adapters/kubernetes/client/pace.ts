import type { Clock } from '../../../actors/ports/records.ts';

/** Why something must be reported: `node` for a node, or for Pods on a node that has an address, whose failure must not wait behind other changes. */
export type Cause = 'node' | 'other';

/** Throttles notifications per name: the first passes immediately, those within the rest period after it pass together at its end. Node changes wait only
 *  behind node changes. */
export class Pace {
  readonly #clock: Clock;
  readonly #through: () => void;
  readonly #due = new Map<string, Cause>();
  readonly #waiting = new Map<string, Cause>();
  /** Names in their rest period, with the cause of the last report. */
  readonly #resting = new Map<string, { readonly cause: Cause }>();

  /** `through` is called when something is due, any number of times. */
  constructor(clock: Clock, through: () => void) {
    this.#clock = clock;
    this.#through = through;
  }

  /** Something about it changed. */
  news(name: string, cause: Cause): void {
    const rest = this.#resting.get(name)?.cause;
    if (rest === undefined || (rest === 'other' && cause === 'node')) this.now(name, cause);
    else note(this.#waiting, name, cause);
  }

  /** It is due now, regardless of its rest period. */
  now(name: string, cause: Cause = 'other'): void {
    note(this.#due, name, cause);
    this.#through();
  }

  /** Nothing about it is due from now on. */
  forget(name: string): void {
    for (const table of [this.#due, this.#waiting, this.#resting]) table.delete(name);
  }

  /** Reports everything that is due, until `isLate`; returns whether that was all. `tell` returns the rest period, ms; null when there was nothing to report. */
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
