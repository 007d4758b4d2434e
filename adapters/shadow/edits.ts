/** What would be added to a set that others change, too, and taken out of it. */
export class Edits<T extends string> {
  readonly #added = new Set<T>();
  readonly #removed = new Set<T>();

  add(items: readonly T[]): void {
    for (const item of items) if (!this.#removed.delete(item)) this.#added.add(item);
  }

  remove(items: readonly T[]): void {
    for (const item of items) if (!this.#added.delete(item)) this.#removed.add(item);
  }

  /** The set as it would be, sorted. What it has become by itself is no edit any more. */
  over(present: readonly T[]): readonly T[] {
    for (const item of present) this.#added.delete(item);
    for (const item of this.#removed) if (!present.includes(item)) this.#removed.delete(item);
    return [...present.filter((item) => !this.#removed.has(item)), ...this.#added].sort();
  }

  get added(): readonly T[] {
    return [...this.#added];
  }

  get removed(): readonly T[] {
    return [...this.#removed];
  }
}
