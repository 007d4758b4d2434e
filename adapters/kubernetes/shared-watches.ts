import { Reflector, type Subject, type Surroundings } from './reflector.ts';
import type { WatchQuery } from './selection.ts';

export interface WatchUser {
  /** Called after every change of the cache, and when it is synced. */
  changed(): void;
  /** Called when the watch fails or works again; the cache stays as it was. */
  troubled(): void;
}

/** One user's part in a shared watch. */
export interface Use<T> {
  readonly reflector: Reflector<T>;
  /** The watch ends with its last user. */
  release(): void;
}

interface Shared<T> {
  readonly reflector: Reflector<T>;
  readonly users: Set<WatchUser>;
}

const nameOf = ({ path, labelSelector }: WatchQuery): string => `${path}?${labelSelector}`;

/** One watch for each distinct query, however many pools ask for it. */
export class SharedWatches<T> {
  readonly #world: Surroundings;
  readonly #subjectOf: (query: WatchQuery) => Subject<T>;
  readonly #shared = new Map<string, Shared<T>>();

  constructor(world: Surroundings, subjectOf: (query: WatchQuery) => Subject<T>) {
    this.#world = world;
    this.#subjectOf = subjectOf;
  }

  use(query: WatchQuery, user: WatchUser): Use<T> {
    const name = nameOf(query);
    const shared = this.#shared.get(name) ?? this.#open(name, query);
    shared.users.add(user);
    return {
      reflector: shared.reflector,
      release: () => {
        if (!shared.users.delete(user) || shared.users.size > 0) return;
        shared.reflector.stop();
        this.#shared.delete(name);
      },
    };
  }

  reflectors(): readonly Reflector<T>[] {
    return [...this.#shared.values()].map(({ reflector }) => reflector);
  }

  #open(name: string, query: WatchQuery): Shared<T> {
    const users = new Set<WatchUser>();
    const changed = (): void => {
      for (const user of users) user.changed();
    };
    const troubled = (): void => {
      for (const user of users) user.troubled();
    };
    const reflector = new Reflector(this.#world, this.#subjectOf(query), { set: changed, gone: changed, synced: changed, troubled });
    const shared = { reflector, users };
    this.#shared.set(name, shared);
    reflector.start();
    return shared;
  }
}
