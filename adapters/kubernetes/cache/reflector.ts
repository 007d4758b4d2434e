import { inSlices } from '../../../actors/ports/in-slices.ts';
import { fieldsOf } from '../../../machines/model/types.ts';
import { isOf, unreadable } from '../client/answers.ts';
import { isGone, isNotFound, messageOf, refusal, ServerUnreachable, type Target } from '../client/api-error.ts';
import { type Backoff, type BackoffTable, backoff } from '../client/backoff.ts';
import type { Means, WatchHandlers } from '../client/connection.ts';
import type { WatchQuery } from './pages.ts';
import { listAll } from './pages.ts';
import { Mirror, type MirrorListener } from './store.ts';
import { revisionOf, type Trimmed, text } from './trim.ts';

export interface ReflectorTimings {
  /** How long a watch is asked to last, seconds; up to a fifth less by chance, so that many do not end together. */
  readonly watchSeconds: number;
  /** The server begins to answer a watch within this, ms. */
  readonly connectMs: number;
  /** A watch counts as dead when nothing came for its duration and this, ms. */
  readonly quietMarginMs: number;
  /** The same once the server was seen to send bookmarks, which it does every minute: sooner. */
  readonly quietWithBookmarksMs: number;
  readonly backoff: BackoffTable;
  /** When to ask again for a resource that is not served, ms. */
  readonly absentMs: number;
}

export const TIMINGS: ReflectorTimings = {
  watchSeconds: 300,
  connectMs: 15_000,
  quietMarginMs: 30_000,
  quietWithBookmarksMs: 150_000,
  backoff: { firstMs: 200, factor: 2, maxMs: 10_000 },
  absentMs: 3_000,
};

/** What a reflector needs of the world. */
export interface Surroundings extends Means {
  readonly timings: ReflectorTimings;
}

/** What is reflected. */
export interface Subject<T> {
  readonly query: WatchQuery;
  trim(object: unknown): Trimmed<T> | null;
  /** Whether a change from one to the other is not worth telling. */
  same(before: T, after: T): boolean;
}

export interface ReflectorListener<T> extends MirrorListener<T> {
  /** The first complete list is in the cache, and told. */
  synced(): void;
  /** A try failed, or (null) it works again. The cache stays as it was. */
  troubled(error: Error | null): void;
}

/** A watch that lived this long worked, ms: the next failure is a new one. */
const WORKED_MS = 1_000;

/** After so many failures in a row the revision itself is doubted (a server restored from a backup knows it no more) and a list is made. */
const DOUBTED_AFTER = 5;

const CHANGES: ReadonlySet<string> = new Set(['ADDED', 'MODIFIED', 'DELETED']);

/** Keeps a cache equal to what the API server has under one query: a complete list, then a watch from there; after an expired watch a
 *  new list, compared with the cache by uid, so that what vanished or was made anew meanwhile is told, thousands of objects in several turns of the event loop. A list that fails or comes in part
 *  changes nothing. An empty one is asked for twice. Goes on until stopped, whatever happens. */
export class Reflector<T> {
  readonly #world: Surroundings;
  readonly #subject: Subject<T>;
  readonly #listener: ReflectorListener<T>;
  readonly #mirror: Mirror<T>;
  readonly #backoff: Backoff;
  /** Where the watch goes on; null when a list is needed. */
  #revision: string | null = null;
  #synced = false;
  #stopped = false;
  #bookmarks = false;
  #trouble: Error | null = null;
  #heardAt: number | null = null;
  #wake: () => void = () => undefined;

  constructor(world: Surroundings, subject: Subject<T>, listener: ReflectorListener<T>) {
    this.#world = world;
    this.#subject = subject;
    this.#listener = listener;
    this.#backoff = backoff(world.timings.backoff, world.random);
    this.#mirror = new Mirror<T>(subject.same, {
      set: (value, before, key) => this.#tell(() => listener.set(value, before, key)),
      gone: (value, key) => this.#tell(() => listener.gone(value, key)),
    });
  }

  get #target(): Target {
    return { verb: 'watch', path: this.#subject.query.path };
  }

  get synced(): boolean {
    return this.#synced;
  }

  /** When the server last gave a list, took up a watch or said something through it, ms since the epoch; null for never. */
  get heardAt(): number | null {
    return this.#heardAt;
  }

  /** What the last try failed with; null while it works. */
  get trouble(): Error | null {
    return this.#trouble;
  }

  get(key: string): T | null {
    return this.#mirror.get(key);
  }

  values(): readonly T[] {
    return this.#mirror.values();
  }

  /** All that is in the cache, with keys, as of now: not to be kept. */
  entries(): readonly Trimmed<T>[] {
    return this.#mirror.entries();
  }

  start(): void {
    this.#run().catch((error: unknown) => {
      this.#world.log.error('reflector ended', { path: this.#subject.query.path, error: messageOf(error) });
    });
  }

  /** Takes the watch up again where it stands: nothing is told twice, and what it should have told is told now. One that waits for its next try makes it at once. */
  renew(): void {
    this.#wake();
  }

  stop(): void {
    this.#stopped = true;
    this.#wake();
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      try {
        if (this.#revision === null) await this.#list();
        await this.#watch();
      } catch (error) {
        await this.#recover(error instanceof Error ? error : new Error(String(error)));
      }
    }
  }

  async #recover(error: Error): Promise<void> {
    if (this.#stopped) return;
    // A refusal says nothing about what happened since; only a list does.
    if (!(error instanceof ServerUnreachable) || this.#backoff.failures() >= DOUBTED_AFTER) this.#revision = null;
    // A revision that is too old is nothing unusual, unless the new one is so too.
    if (!isGone(error) || this.#backoff.failures() >= DOUBTED_AFTER) this.#tellTrouble(error);
    const asked = error instanceof ServerUnreachable ? error.retryAfterMs : null;
    await this.#pause(isNotFound(error) ? this.#world.timings.absentMs : this.#backoff.next(asked));
  }

  async #list(): Promise<void> {
    const { connection, clock } = this.#world;
    const { query, trim } = this.#subject;
    let listed = await listAll(connection, query, trim);
    if (listed.entries.length === 0) {
      // Servers have been seen to answer with an empty list while they recover; believed by mistake it means that everything is gone.
      await this.#pause(this.#world.timings.backoff.firstMs);
      if (!this.#stopped) listed = await listAll(connection, query, trim);
    }
    if (this.#stopped) return;
    const isWhole = await inSlices(
      this.#mirror.replace(listed.entries),
      clock,
      () => this.#stopped,
      () => undefined,
    );
    if (!isWhole || this.#stopped) return;
    this.#revision = listed.resourceVersion;
    this.#heardAt = clock.now();
    this.#tellTrouble(null);
    if (this.#synced) return;
    this.#synced = true;
    this.#tell(() => this.#listener.synced());
  }

  #watch(): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    const { connection, timings, random } = this.#world;
    const { path, labelSelector, fieldSelector } = this.#subject.query;
    const timeoutSeconds = Math.max(1, Math.round(timings.watchSeconds * (1 - random() / 5)));
    const query = {
      resourceVersion: this.#revision ?? undefined,
      allowWatchBookmarks: true,
      timeoutSeconds,
      labelSelector: labelSelector === '' ? undefined : labelSelector,
      fieldSelector,
    };
    const wholeMs = timeoutSeconds * 1000 + timings.quietMarginMs;
    const quietMs = (): number => (this.#bookmarks ? Math.min(wholeMs, timings.quietWithBookmarksMs) : wholeMs);
    return new Promise<void>((resolve, reject) => {
      const handlers = this.#handlers(resolve, (error) => {
        end();
        reject(error);
      });
      const end = connection.watch({ path, query, connectMs: timings.connectMs, quietMs }, handlers);
      this.#wake = () => {
        end();
        resolve();
      };
    });
  }

  #handlers(ended: () => void, failed: (error: Error) => void): WatchHandlers {
    const { clock } = this.#world;
    const startedAt = clock.monotonic();
    const hasWorked = (): boolean => {
      const worked = clock.monotonic() - startedAt >= WORKED_MS;
      if (worked) this.#backoff.reset();
      return worked;
    };
    return {
      opened: () => {
        this.#heardAt = clock.now();
        this.#tellTrouble(null);
      },
      event: (type, object) => {
        const failure = this.#take(type, object);
        if (failure === null) return;
        hasWorked();
        failed(failure);
      },
      done: (error) => {
        const worked = hasWorked();
        if (error !== null) failed(error);
        else if (worked) ended();
        // It ended as soon as it began. Now and then that is no failure, but not to be repeated without a pause either.
        else if (this.#backoff.failures() >= DOUBTED_AFTER) failed(unreadable(this.#target, 'it ends as soon as it begins'));
        else this.#pause(this.#backoff.next()).then(ended, failed);
      },
    };
  }

  /** Takes one event of the watch; answers what ends it. */
  #take(type: string, object: unknown): Error | null {
    if (type === 'ERROR') {
      const { code, message } = fieldsOf(object);
      return refusal(this.#target, typeof code === 'number' ? code : 500, text(message));
    }
    const revision = revisionOf(object);
    // Passed over, it would be missing until it changes again.
    if (type === 'BOOKMARK' ? revision === '' : !CHANGES.has(type) || !isOf(this.#target.path, object))
      return unreadable(this.#target, 'what came is no event of it');
    if (type === 'BOOKMARK') this.#bookmarks = true;
    else this.#change(type, object);
    this.#revision = revision;
    this.#heardAt = this.#world.clock.now();
    return null;
  }

  #change(type: string, object: unknown): void {
    const entry = this.#subject.trim(object);
    if (entry === null) return;
    if (type === 'DELETED') this.#mirror.delete(entry.key);
    else this.#mirror.set(entry);
  }

  #tellTrouble(error: Error | null): void {
    if (error === null && this.#trouble === null) return;
    const { query } = this.#subject;
    const { path } = query;
    if (error === null) this.#world.log.info('watch restored', { ...query });
    else if (isNotFound(error)) {
      // Looked for every few seconds for as long as it takes: only the first time is news.
      this.#world.log[isNotFound(this.#trouble) ? 'debug' : 'info']('not served by this cluster; looked for again and again', { path });
    } else if (error.message !== this.#trouble?.message) {
      this.#world.log.warn('watch interrupted', { ...query, error: error.message });
    }
    this.#trouble = error;
    this.#tell(() => this.#listener.troubled(error));
  }

  /** Nothing that a listener does may end the loop. */
  #tell(say: () => void): void {
    try {
      say();
    } catch (error) {
      this.#world.log.error('a listener failed', { path: this.#subject.query.path, error: messageOf(error) });
    }
  }

  #pause(ms: number): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = this.#world.clock.after(ms, resolve);
      this.#wake = () => {
        cancel();
        resolve();
      };
    });
  }
}
