/** Above this many distinct values a table starts anew, so that what comes and goes does not pile up. */
const MOST = 20_000;

/** And above so many characters of them: a server takes a megabyte of labels on one Pod, and whoever may create Pods may do so again and again. */
const MOST_CHARACTERS = 4 * 2 ** 20;

/** What is longer is hardly borne by two, characters. */
const LONGEST = 4_096;

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

  /** The value of the key: the one that was made for it before, as long as that is known. */
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
