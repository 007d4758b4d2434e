/** Above this many distinct texts the table starts anew, so that names which come and go do not pile up. */
const MOST = 20_000;

/** Keeps one copy of equal values: thousands of objects bear the same labels and node names. */
export interface Intern {
  text(value: string): string;
  /** The labels as one object for all that bear the same. */
  labels(labels: Readonly<Record<string, unknown>>): Readonly<Record<string, string>>;
  /** The labels as an object of their own, for what bears labels like nothing else. */
  values(labels: Readonly<Record<string, unknown>>): Readonly<Record<string, string>>;
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

  const text = (value: string): string => kept(texts, value, value);

  const values = (labels: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> => {
    const texts: Record<string, string> = {};
    for (const [key, value] of Object.entries(labels)) if (typeof value === 'string') texts[key] = text(value);
    return Object.freeze(texts);
  };

  return {
    text,
    list: <T>(value: readonly T[]) => kept(lists, JSON.stringify(value), value) as readonly T[],
    labels: (labels) => {
      const key = JSON.stringify(labels);
      return sets.get(key) ?? kept(sets, key, values(labels));
    },
    values,
  };
};
