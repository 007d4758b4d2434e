import { Reflector, type Subject, type Surroundings } from './reflector.ts';
import type { Trimmed } from './trim.ts';

/** Receives notifications from a cache. */
export interface CacheUser {
  /** Something that concerns this user changed, or the cache has synced. */
  changed(): void;
  /** The watch, or its successor, fails or (null) works again; the cache is unchanged. */
  troubled(error: Error | null): void;
}

/** Keeps up with all objects of a cache. */
export interface CacheFollower<T> {
  /** The cache has synced, for the first time or again. */
  synced(entries: readonly Trimmed<T>[]): void;
  /** `before` is null for a new object, `after` for a deleted one. Never called before `synced`. */
  changed(key: string, before: T | null, after: T | null): void;
}

/** One user's part in a cache. */
export interface Use<T> {
  readonly synced: boolean;
  /** Error of the last try; null while it works. */
  trouble(): Error | null;
  /** The objects under a name; none while not all are known. */
  get(name: string): readonly T[];
  /** From now on the user is notified when an object under one of these names is added, changed or deleted. */
  concern(names: Iterable<string>): void;
  /** The watch ends with its last user. */
  release(): void;
}

export interface CacheOptions<T> {
  /** The kind of object it currently caches. */
  kind(): string;
  /** Called for each new watch. */
  subject(): Subject<T>;
  /** The name under which an object is looked up; defaults to its key. */
  nameOf?(key: string, value: T): string;
  readonly followers?: readonly CacheFollower<T>[];
  troubled?(error: Error | null): void;
}

/** All objects of one kind through one watch, shared by all users. The watch exists only while there are users. */
export class ObjectCache<T> {
  readonly #world: Surroundings;
  readonly #options: CacheOptions<T>;
  readonly #users = new Set<CacheUser>();
  readonly #concerned = new Map<string, Set<CacheUser>>();
  /** Objects by name, where the name is not the key. */
  readonly #named = new Map<string, Map<string, T>>();
  #reflector: Reflector<T> | null = null;
  /** Replaces the current reflector once it has synced, so that no user misses a change. */
  #successor: Reflector<T> | null = null;

  constructor(options: CacheOptions<T>, world: Surroundings) {
    this.#options = options;
    this.#world = world;
  }

  get kind(): string {
    return this.#options.kind();
  }

  /** Null while it has no users. */
  get reflector(): Reflector<T> | null {
    return this.#reflector;
  }

  /** All values as of now; none before they are complete. The same array until something changes. */
  values(): readonly T[] {
    return this.#reflector?.synced ? this.#reflector.values() : [];
  }

  use(user: CacheUser): Use<T> {
    this.#users.add(user);
    this.#reflector ??= this.#open();
    return new UseOf(this, user);
  }

  /** The objects under a name; none while not all are known. */
  named(name: string): readonly T[] {
    if (this.#options.nameOf) return [...(this.#named.get(name)?.values() ?? [])];
    const value = this.#reflector?.synced ? this.#reflector.get(name) : null;
    return value === null ? [] : [value];
  }

  /** From now on exactly these names concern the user. */
  concern(user: CacheUser, former: readonly string[], names: readonly string[]): void {
    for (const name of former) this.#forget(name, user);
    for (const name of names) this.#concerned.set(name, (this.#concerned.get(name) ?? new Set()).add(user));
  }

  release(user: CacheUser): void {
    if (this.#users.delete(user) && this.#users.size === 0) this.#close();
  }

  /** Relists everything, for the current subject. */
  renew(): void {
    if (this.#reflector === null) return;
    this.#successor?.stop();
    this.#successor = this.#open();
    // No user has seen any data of the former reflector yet.
    if (!this.#reflector.synced) this.#succeed();
  }

  #forget(name: string, user: CacheUser): void {
    const users = this.#concerned.get(name);
    if (users?.delete(user) && users.size === 0) this.#concerned.delete(name);
  }

  #open(): Reflector<T> {
    // The first list is reported as a whole by `synced`.
    const isNews = (): boolean => reflector === this.#reflector && reflector.synced;
    const reflector = new Reflector<T>(this.#world, this.#options.subject(), {
      set: (value, before, key) => {
        if (isNews()) this.#changed(key, before, value);
      },
      gone: (value, key) => {
        if (isNews()) this.#changed(key, value, null);
      },
      synced: () => {
        if (reflector === this.#successor) this.#succeed();
        this.#synced(reflector.entries());
      },
      troubled: (error) => {
        this.#options.troubled?.(error);
        for (const user of this.#users) user.troubled(error);
      },
    });
    reflector.start();
    return reflector;
  }

  #close(): void {
    this.#reflector?.stop();
    this.#successor?.stop();
    this.#reflector = null;
    this.#successor = null;
    this.#named.clear();
  }

  #succeed(): void {
    this.#reflector?.stop();
    this.#reflector = this.#successor;
    this.#successor = null;
  }

  #synced(entries: readonly Trimmed<T>[]): void {
    this.#named.clear();
    if (this.#options.nameOf) for (const { key, value } of entries) this.#index(key, value);
    for (const follower of this.#options.followers ?? []) follower.synced(entries);
    for (const user of this.#users) user.changed();
  }

  #changed(key: string, before: T | null, after: T | null): void {
    const names = new Set([before, after].flatMap((value) => (value === null ? [] : [this.#options.nameOf?.(key, value) ?? key])));
    if (this.#options.nameOf) {
      if (before !== null) this.#unindex(key, before);
      if (after !== null) this.#index(key, after);
    }
    for (const follower of this.#options.followers ?? []) follower.changed(key, before, after);
    for (const name of names) for (const user of this.#concerned.get(name) ?? []) user.changed();
  }

  #index(key: string, value: T): void {
    const name = this.#options.nameOf?.(key, value) ?? key;
    this.#named.set(name, (this.#named.get(name) ?? new Map()).set(key, value));
  }

  #unindex(key: string, value: T): void {
    const name = this.#options.nameOf?.(key, value) ?? key;
    const values = this.#named.get(name);
    if (values?.delete(key) && values.size === 0) this.#named.delete(name);
  }
}

/** A class, because there are thousands of uses: one object each. */
class UseOf<T> implements Use<T> {
  readonly #cache: ObjectCache<T>;
  readonly #user: CacheUser;
  #names: readonly string[] = [];

  constructor(cache: ObjectCache<T>, user: CacheUser) {
    this.#cache = cache;
    this.#user = user;
  }

  get synced(): boolean {
    return this.#cache.reflector?.synced ?? false;
  }

  trouble(): Error | null {
    return this.#cache.reflector?.trouble ?? null;
  }

  get(name: string): readonly T[] {
    return this.#cache.named(name);
  }

  concern(names: Iterable<string>): void {
    const wanted = [...names];
    this.#cache.concern(this.#user, this.#names, wanted);
    this.#names = wanted;
  }

  release(): void {
    this.concern([]);
    this.#cache.release(this.#user);
  }
}
