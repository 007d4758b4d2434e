import { Reflector, type Subject, type Surroundings } from './reflector.ts';
import type { Trimmed } from './trim.ts';

/** Told by a cache. */
export interface CacheUser {
  /** Something is another thing than before that concerns this user, or all is known from now on. */
  changed(): void;
  /** The watch, or the one that is to take its place, fails or (null) works again; the cache stays as it was. */
  troubled(error: Error | null): void;
}

/** Keeps up with all objects of a cache. */
export interface CacheFollower<T> {
  /** All is known, for the first time or anew. */
  synced(entries: readonly Trimmed<T>[]): void;
  /** `before` null for what is new, `after` null for what is gone. Never called before `synced`. */
  changed(key: string, before: T | null, after: T | null): void;
}

/** One user's part in a cache. */
export interface Use<T> {
  readonly synced: boolean;
  /** What the last try failed with; null while it works. */
  trouble(): Error | null;
  /** The objects under a name; none while not all are known. */
  get(name: string): readonly T[];
  /** The names under which whatever comes, changes or goes concerns this user from now on. */
  concern(names: Iterable<string>): void;
  /** The watch ends with its last user. */
  release(): void;
}

export interface CacheOptions<T> {
  /** What it is a cache of by now. */
  kind(): string;
  /** Asked anew for each watch. */
  subject(): Subject<T>;
  /** Under which name an object is looked for; its key unless given. */
  nameOf?(key: string, value: T): string;
  readonly followers?: readonly CacheFollower<T>[];
  troubled?(error: Error | null): void;
}

/** All objects of one kind through one watch, however many users it has and whatever they look for. It is there while somebody uses it. */
export class ObjectCache<T> {
  readonly #world: Surroundings;
  readonly #options: CacheOptions<T>;
  readonly #users = new Set<CacheUser>();
  readonly #concerned = new Map<string, Set<CacheUser>>();
  /** By name, where that is not the key. */
  readonly #named = new Map<string, Map<string, T>>();
  #reflector: Reflector<T> | null = null;
  /** Takes the place of the other one as soon as it knows all objects: nobody misses anything meanwhile. */
  #successor: Reflector<T> | null = null;

  constructor(options: CacheOptions<T>, world: Surroundings) {
    this.#options = options;
    this.#world = world;
  }

  get kind(): string {
    return this.#options.kind();
  }

  /** Null while nobody uses it. */
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

  /** From now on these names concern the user, and no others. */
  concern(user: CacheUser, former: readonly string[], names: readonly string[]): void {
    for (const name of former) this.#forget(name, user);
    for (const name of names) this.#concerned.set(name, (this.#concerned.get(name) ?? new Set()).add(user));
  }

  release(user: CacheUser): void {
    if (this.#users.delete(user) && this.#users.size === 0) this.#close();
  }

  /** Asks anew for everything, by what has become the subject by now. */
  renew(): void {
    if (this.#reflector === null) return;
    this.#successor?.stop();
    this.#successor = this.#open();
    // Nobody has seen anything of the former one yet.
    if (!this.#reflector.synced) this.#succeed();
  }

  #forget(name: string, user: CacheUser): void {
    const users = this.#concerned.get(name);
    if (users?.delete(user) && users.size === 0) this.#concerned.delete(name);
  }

  #open(): Reflector<T> {
    // A first list is told as a whole, once it is complete.
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

/** There are thousands: one object each. */
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
