import type { Trimmed } from './trim.ts';

export interface MirrorListener<T> {
  /** `before` is null for a new object. */
  set(value: T, before: T | null, key: string): void;
  gone(value: T, key: string): void;
}

/** A copy of the API server's objects, ordered by key, that notifies a listener of changes. */
export class Mirror<T> {
  readonly #entries: Trimmed<T>[] = [];
  readonly #same: (before: T, after: T) => boolean;
  readonly #listener: MirrorListener<T>;
  #values: readonly T[] | null = [];

  /** `same` decides which changes are stored without notifying the listener. */
  constructor(same: (before: T, after: T) => boolean, listener: MirrorListener<T>) {
    this.#same = same;
    this.#listener = listener;
  }

  get(key: string): T | null {
    return this.#find(key)?.value ?? null;
  }

  /** All values as of now. The same array until something changes, and never changed itself. */
  values(): readonly T[] {
    this.#values ??= this.#entries.map(({ value }) => value);
    return this.#values;
  }

  /** All entries, with keys. */
  entries(): readonly Trimmed<T>[] {
    return this.#entries;
  }

  /** Makes the copy equal to a complete list, one entry per step. */
  *replace(entries: readonly Trimmed<T>[]): Generator<void, void> {
    const present = new Set(entries.map(({ key }) => key));
    const vanished = this.#entries.filter(({ key }) => !present.has(key));
    for (const { key } of vanished) yield this.delete(key);
    for (const entry of entries) yield this.set(entry);
  }

  set(entry: Trimmed<T>): void {
    const before = this.#find(entry.key);
    // Deleted and recreated unobserved: report the first object as deleted.
    const remade = before !== null && before.uid !== entry.uid;
    if (remade) this.delete(entry.key);
    const place = this.#place(entry.key);
    const known = before !== null && !remade;
    this.#entries.splice(place, known ? 1 : 0, entry);
    this.#values = null;
    if (known && this.#same(before.value, entry.value)) return;
    this.#listener.set(entry.value, known ? before.value : null, entry.key);
  }

  delete(key: string): void {
    const before = this.#find(key);
    if (before === null) return;
    this.#entries.splice(this.#place(key), 1);
    this.#values = null;
    this.#listener.gone(before.value, key);
  }

  #find(key: string): Trimmed<T> | null {
    const entry = this.#entries[this.#place(key)];
    return entry?.key === key ? entry : null;
  }

  /** The index of `key`, or where it would be inserted. */
  #place(key: string): number {
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const found = this.#entries[middle];
      if (found !== undefined && found.key < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
