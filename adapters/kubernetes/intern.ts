/** Above this many distinct texts the table starts anew, so that names which come and go do not pile up. */
const MOST = 20_000;

/** Keeps one copy of equal values: thousands of objects bear the same labels and node names. */
export interface Intern {
  text(value: string): string;
  /** The members of `labels` under `keys`, as one shared object. */
  labels(labels: Readonly<Record<string, unknown>> | undefined, keys: readonly string[]): Readonly<Record<string, string>>;
  /** `value`, or an equal one that was given before: not to be changed any more. */
  list<T>(value: readonly T[]): readonly T[];
}

export const intern = (): Intern => {
  const texts = new Map<string, string>();
  const sets = new Map<string, Readonly<Record<string, string>>>();
  const lists = new Map<string, readonly unknown[]>();

  const kept = <T>(table: Map<string, T>, key: string, value: T): T => {
    const known = table.get(key);
    if (known !== undefined) return known;
    if (table.size >= MOST) table.clear();
    table.set(key, value);
    return value;
  };

  return {
    text: (value) => kept(texts, value, value),
    list: <T>(value: readonly T[]) => kept(lists, JSON.stringify(value), value) as readonly T[],
    labels: (labels, keys) => {
      const chosen: Record<string, string> = {};
      for (const key of keys) {
        const value = labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined;
        if (typeof value === 'string') chosen[key] = value;
      }
      return kept(sets, JSON.stringify(chosen), Object.freeze(chosen));
    },
  };
};
