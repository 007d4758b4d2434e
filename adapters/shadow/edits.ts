/** Pending additions to and removals from named sets that others change, too. */
export class Edits<T extends string> {
  readonly #all = new Map<string, { readonly added: Set<T>; readonly removed: Set<T> }>();

  add(name: string, items: readonly T[]): void {
    const { added, removed } = this.#of(name);
    for (const item of items) if (!removed.delete(item)) added.add(item);
  }

  remove(name: string, items: readonly T[]): void {
    const { added, removed } = this.#of(name);
    for (const item of items) if (!added.delete(item)) removed.add(item);
  }

  /** The set with the edits applied, sorted. Edits that have been made in the meantime are dropped. */
  over(name: string, present: readonly T[]): readonly T[] {
    const { added, removed } = this.#of(name);
    for (const item of present) added.delete(item);
    for (const item of removed) if (!present.includes(item)) removed.delete(item);
    return [...present.filter((item) => !removed.has(item)), ...added].sort();
  }

  map<R>(seen: (name: string, item: T, isAdded: boolean) => R): readonly R[] {
    return [...this.#all].flatMap(([name, { added, removed }]) => [
      ...[...removed].map((item) => seen(name, item, false)),
      ...[...added].map((item) => seen(name, item, true)),
    ]);
  }

  #of(name: string): { readonly added: Set<T>; readonly removed: Set<T> } {
    const edits = this.#all.get(name) ?? { added: new Set<T>(), removed: new Set<T>() };
    this.#all.set(name, edits);
    return edits;
  }
}
