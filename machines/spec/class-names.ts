import { shortList } from '../model/several.ts';

/** Resolves the `className` of a RoutedIP: the className of a class if exactly one class has it, otherwise the name of a class object. Several classes may share an
 *  implementation, and the name of one may be another's className. A RoutedIP that is already served stays with its class in any case; that is the caller's responsibility. */

export interface NamedClass {
  /** Name of the object, which is unique. */
  readonly name: string;
  readonly className: string;
  /** It is being deleted: a shared className no longer resolves to it for new RoutedIPs. Absent for no. */
  readonly deleting?: boolean;
}

/** `several`: names that select one of the classes that share this className, ascending; empty when none can be selected. */
export type Meaning<T> = { readonly one: T } | { readonly several: readonly string[] };

export class ClassNames<T extends NamedClass> {
  readonly #byName: ReadonlyMap<string, T>;
  readonly #byClassName: ReadonlyMap<string, readonly T[]>;

  constructor(classes: readonly T[]) {
    this.#byName = new Map(classes.map((each) => [each.name, each]));
    const stays = new Set(classes.flatMap(({ className, deleting }) => (deleting ? [] : [className])));
    this.#byClassName = Map.groupBy(
      classes.filter(({ className, deleting }) => className !== '' && !(deleting && stays.has(className))),
      ({ className }) => className,
    );
  }

  /** Null for none. */
  meaningOf(text: string): Meaning<T> | null {
    const [first, ...others] = this.#byClassName.get(text) ?? [];
    if (first && others.length === 0) return { one: first };
    const named = this.#byName.get(text);
    if (named) return { one: named };
    if (!first) return null;
    return {
      several: [first, ...others]
        .filter((each) => this.#isReached(each))
        .map(({ name }) => name)
        .sort(),
    };
  }

  /** A problem with the names of a class; null for none. */
  conflictOf(of: T): { readonly message: string; readonly isOutOfReach: boolean } | null {
    const { name, className } = of;
    const others = (this.#byClassName.get(className) ?? []).flatMap((each) => (each.name === name ? [] : [each.name])).sort();
    const shadow = this.#isReached(of) ? null : this.#byClassName.get(name)?.[0]?.name;
    if (others.length === 0 && shadow == null) return null;
    const shared = `${textOf(others)} the className ${className}, too`;
    if (shadow == null) return { message: `${shared}: a RoutedIP has this one by its name, className: ${name}`, isOutOfReach: false };
    const taken = `${name} is the className of ClusterRoutedIPClass ${shadow}, which RoutedIPs of that className have`;
    if (others.length === 0) return { message: `${taken}; this one they have by className: ${className}`, isOutOfReach: false };
    return { message: `${shared}, and ${taken}: no RoutedIP can name this one, make it anew by another name`, isOutOfReach: true };
  }

  /** Its name resolves to it. */
  #isReached(of: T): boolean {
    const meaning = this.meaningOf(of.name);
    return meaning !== null && 'one' in meaning && meaning.one.name === of.name;
  }
}

/** How many others are named. */
const NAMED = 5;

const textOf = (names: readonly string[]): string =>
  `ClusterRoutedIPClass ${shortList(names, NAMED)} ${names.length === 1 ? 'has' : 'have'}`;
