/** A table with more distinct values than this is cleared, so that short-lived values do not accumulate. */
const MOST = 20_000;

/** Likewise above this many characters in total: the API server accepts a megabyte of labels on one Pod, and a user may create many such Pods. */
const MOST_CHARACTERS = 4 * 2 ** 20;

/** Longer values are unlikely to be shared and are not kept, characters. */
const LONGEST = 4_096;

/** Keeps one copy of equal values: thousands of objects have the same labels and node names. */
export interface Intern {
  text(value: string): string;
  /** The labels as one object, shared by all objects with equal labels. */
  labels(labels: Readonly<Record<string, unknown>>): Readonly<Record<string, string>>;
  /** The labels as a separate object, for objects whose labels are unique. */
  values(labels: Readonly<Record<string, unknown>>): Readonly<Record<string, string>>;
  /** `value`, or an equal earlier one: must not be mutated. */
  list<T>(value: readonly T[]): readonly T[];
}

export const intern = (): Intern => {
  const texts = new Table<string>();
  const sets = new Table<Readonly<Record<string, string>>>();
  const lists = new Table<readonly unknown[]>();

  const text = (value: string): string => texts.one(value, () => value);

  const values = (labels: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> => {
    const texts: Record<string, string> = {};
    for (const [key, value] of Object.entries(labels)) if (typeof value === 'string') texts[key] = text(value);
    return Object.freeze(texts);
  };

  return {
    text,
    list: <T>(value: readonly T[]) => lists.one(JSON.stringify(value), () => value) as readonly T[],
    labels: (labels) => sets.one(JSON.stringify(labels), () => values(labels)),
    values,
  };
};

class Table<T> {
  readonly #known = new Map<string, T>();
  #characters = 0;

  /** The value of the key: the one made for it earlier, if still known. */
  one(key: string, make: () => T): T {
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const made = make();
    if (key.length > LONGEST) return made;
    if (this.#known.size >= MOST || this.#characters > MOST_CHARACTERS) {
      this.#known.clear();
      this.#characters = 0;
    }
    this.#known.set(key, made);
    this.#characters += key.length;
    return made;
  }
}
