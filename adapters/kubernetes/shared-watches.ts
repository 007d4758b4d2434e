import { Reflector, type Subject, type Surroundings } from './reflector.ts';
import type { WatchQuery } from './selection.ts';

/** How much is kept of each object: `full` costs memory, and is kept where somebody reads it. */
export type Detail = 'plain' | 'full';

export interface WatchUser<T> {
  readonly detail: Detail;
  /** Whether a change is no news to this user, though it may be to another one. `before` null for what is new, `after` null for what is gone. */
  ignores(before: T | null, after: T | null): boolean;
  /** Called after every change of the cache, and when it is synced. */
  changed(): void;
  /** Called when the watch, or the one that is to take its place, fails or (null) works again; the cache stays as it was. */
  troubled(error: Error | null): void;
}

/** One user's part in a shared watch. */
export interface Use<T> {
  /** All values as of now, with what this user reads of them; null before they are complete. The same array until something changes. */
  values(): readonly T[] | null;
  /** The value of one object, under its namespace and name; null when there is none. */
  get(key: string): T | null;
  /** What the last try failed with; null while it works. */
  trouble(): Error | null;
  /** The watch ends with its last user. */
  release(): void;
}

const nameOf = ({ path, labelSelector }: WatchQuery): string => `${path}?${labelSelector}`;

/** One watch for each distinct query, however many users it has and whatever they read of its objects. */
export class SharedWatches<T> {
  readonly #world: Surroundings;
  readonly #subjectOf: (query: WatchQuery, detail: Detail) => Subject<T>;
  readonly #shared = new Map<string, SharedWatch<T>>();

  constructor(world: Surroundings, subjectOf: (query: WatchQuery, detail: Detail) => Subject<T>) {
    this.#world = world;
    this.#subjectOf = subjectOf;
  }

  use(query: WatchQuery, user: WatchUser<T>): Use<T> {
    const name = nameOf(query);
    const shared = this.#shared.get(name) ?? new SharedWatch(this.#world, (detail) => this.#subjectOf(query, detail), user.detail);
    this.#shared.set(name, shared);
    shared.join(user);
    return {
      values: () => shared.values(user.detail),
      get: (key) => shared.get(key, user.detail),
      trouble: () => shared.trouble(user.detail),
      release: () => {
        if (shared.leave(user)) this.#shared.delete(name);
      },
    };
  }

  /** All that is in some cache; what is in two is there twice. */
  *values(): Iterable<T> {
    for (const shared of this.#shared.values()) yield* shared.values('plain') ?? [];
  }

  /** The same, as the caches have it: an array is the same as before until something changes. */
  *arrays(): Iterable<readonly T[]> {
    for (const shared of this.#shared.values()) yield shared.values('plain') ?? [];
  }

  /** Asks anew for everything, by what each query has become a subject of by now. The former caches serve until the new ones are complete. */
  renew(): void {
    for (const shared of this.#shared.values()) shared.renew();
  }

  /** The caches, for a look at how they stand. */
  reflectors(): readonly Reflector<T>[] {
    return [...this.#shared.values()].map(({ reflector }) => reflector);
  }
}

/** One watch. When somebody reads more of its objects than was kept so far, or they are to be asked for in another way, another one takes its place as
 *  soon as it knows all of them: nobody misses anything meanwhile. */
class SharedWatch<T> {
  readonly #world: Surroundings;
  readonly #subjectOf: (detail: Detail) => Subject<T>;
  readonly #users = new Set<WatchUser<T>>();
  #detail: Detail;
  #reflector: Reflector<T>;
  #successor: Reflector<T> | null = null;

  constructor(world: Surroundings, subjectOf: (detail: Detail) => Subject<T>, detail: Detail) {
    this.#world = world;
    this.#subjectOf = subjectOf;
    this.#detail = detail;
    this.#reflector = this.#open(detail);
  }

  join(user: WatchUser<T>): void {
    this.#users.add(user);
    if (user.detail === this.#detail || user.detail === 'plain') return;
    this.#detail = user.detail;
    this.renew();
  }

  renew(): void {
    this.#successor?.stop();
    this.#successor = this.#open(this.#detail);
    // Nobody has seen anything of the former one yet.
    if (!this.#reflector.synced) this.#succeed();
  }

  /** True when it was the last one, and the watch has ended. */
  leave(user: WatchUser<T>): boolean {
    if (!this.#users.delete(user) || this.#users.size > 0) return false;
    this.#reflector.stop();
    this.#successor?.stop();
    return true;
  }

  get reflector(): Reflector<T> {
    return this.#reflector;
  }

  values(detail: Detail): readonly T[] | null {
    const reflector = this.#of(detail);
    return reflector.synced ? reflector.values() : null;
  }

  get(key: string, detail: Detail): T | null {
    return this.#of(detail).get(key);
  }

  trouble(detail: Detail): Error | null {
    return this.#of(detail).trouble;
  }

  #of(detail: Detail): Reflector<T> {
    return detail === 'full' ? (this.#successor ?? this.#reflector) : this.#reflector;
  }

  #open(detail: Detail): Reflector<T> {
    // A first list is told as a whole, once it is complete.
    const isNews = (): boolean => reflector === this.#reflector && reflector.synced;
    const reflector = new Reflector<T>(this.#world, this.#subjectOf(detail), {
      set: (value, before) => {
        if (isNews()) this.#changed((user) => !user.ignores(before, value));
      },
      gone: (value) => {
        if (isNews()) this.#changed((user) => !user.ignores(value, null));
      },
      synced: () => {
        if (reflector === this.#successor) this.#succeed();
        this.#changed(() => true);
      },
      troubled: (error) => {
        for (const user of this.#users) user.troubled(error);
      },
    });
    reflector.start();
    return reflector;
  }

  #succeed(): void {
    this.#reflector.stop();
    this.#reflector = this.#successor ?? this.#reflector;
    this.#successor = null;
  }

  #changed(concerns: (user: WatchUser<T>) => boolean): void {
    for (const user of this.#users) if (concerns(user)) user.changed();
  }
}
