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
  /** Requested duration of a watch, seconds; minus up to 20 % jitter, so that watches do not all end together. */
  readonly watchSeconds: number;
  /** The server must begin to respond to a watch within this, ms. */
  readonly connectMs: number;
  /** A watch counts as dead when nothing was received for its duration plus this, ms. */
  readonly quietMarginMs: number;
  /** The shorter limit once the server has sent bookmarks, which it does every minute, ms. */
  readonly quietWithBookmarksMs: number;
  readonly backoff: BackoffTable;
  /** Retry interval for a resource that is not served, ms. */
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

/** Dependencies of a reflector. */
export interface Surroundings extends Means {
  readonly timings: ReflectorTimings;
}

/** What is reflected. */
export interface Subject<T> {
  readonly query: WatchQuery;
  trim(object: unknown): Trimmed<T> | null;
  /** Whether listeners need not be notified of a change from one to the other. */
  same(before: T, after: T): boolean;
}

export interface ReflectorListener<T> extends MirrorListener<T> {
  /** The first complete list is in the cache, and was reported to the listener. */
  synced(): void;
  /** A try failed, or (null) it works again. The cache is unchanged. */
  troubled(error: Error | null): void;
}

/** A watch that lived this long counts as working, ms: it resets the back-off. */
const WORKED_MS = 1_000;

/** After this many consecutive failures the resourceVersion itself is suspect (a server restored from a backup no longer knows it), so it relists. */
const DOUBTED_AFTER = 5;

const CHANGES: ReadonlySet<string> = new Set(['ADDED', 'MODIFIED', 'DELETED']);

/** Keeps a cache in sync with the API server for one query: a complete list, then a watch from there. After an expired watch it relists and compares
 *  with the cache by uid, so that objects deleted or recreated meanwhile are reported; large lists take several turns of the event loop. A failed or
 *  partial list changes nothing; an empty one is requested twice. Runs until stopped, whatever happens. */
export class Reflector<T> {
  readonly #world: Surroundings;
  readonly #subject: Subject<T>;
  readonly #listener: ReflectorListener<T>;
  readonly #mirror: Mirror<T>;
  readonly #backoff: Backoff;
  /** Where the watch continues; null when a list is needed. */
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

  /** When the server last returned a list, accepted a watch or sent an event, ms since the epoch; null for never. */
  get heardAt(): number | null {
    return this.#heardAt;
  }

  /** Error of the last try; null while it works. */
  get trouble(): Error | null {
    return this.#trouble;
  }

  get(key: string): T | null {
    return this.#mirror.get(key);
  }

  values(): readonly T[] {
    return this.#mirror.values();
  }

  /** The current content of the cache, with keys: a live view, not to be retained. */
  entries(): readonly Trimmed<T>[] {
    return this.#mirror.entries();
  }

  start(): void {
    this.#run().catch((error: unknown) => {
      this.#world.log.error('reflector ended', { path: this.#subject.query.path, error: messageOf(error) });
    });
  }

  /** Restarts the watch from its current revision: missed events arrive now, none twice. A pending retry is made immediately. */
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
    // After a refusal only a list shows what happened since.
    if (!(error instanceof ServerUnreachable) || this.#backoff.failures() >= DOUBTED_AFTER) this.#revision = null;
    // An expired revision is normal, unless it keeps happening.
    if (!isGone(error) || this.#backoff.failures() >= DOUBTED_AFTER) this.#tellTrouble(error);
    const asked = error instanceof ServerUnreachable ? error.retryAfterMs : null;
    await this.#pause(isNotFound(error) ? this.#world.timings.absentMs : this.#backoff.next(asked));
  }

  async #list(): Promise<void> {
    const { connection, clock } = this.#world;
    const { query, trim } = this.#subject;
    let listed = await listAll(connection, query, trim);
    if (listed.entries.length === 0) {
      // Servers have been seen to return an empty list while they recover; taken at face value, everything would count as deleted.
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
        // It ended immediately. Occasionally that is no failure, but it must not be repeated without a pause.
        else if (this.#backoff.failures() >= DOUBTED_AFTER) failed(unreadable(this.#target, 'it ends as soon as it begins'));
        else this.#pause(this.#backoff.next()).then(ended, failed);
      },
    };
  }

  /** Processes one event of the watch; returns the error that ends it, or null. */
  #take(type: string, object: unknown): Error | null {
    if (type === 'ERROR') {
      const { code, message } = fieldsOf(object);
      return refusal(this.#target, typeof code === 'number' ? code : 500, text(message));
    }
    const revision = revisionOf(object);
    // If skipped, the object would be missing until it changes again.
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
      // Retried every few seconds indefinitely: only the first failure is logged at info level.
      this.#world.log[isNotFound(this.#trouble) ? 'debug' : 'info']('not served by this cluster; looked for again and again', { path });
    } else if (error.message !== this.#trouble?.message) {
      this.#world.log.warn('watch interrupted', { ...query, error: error.message });
    }
    this.#trouble = error;
    this.#tell(() => this.#listener.troubled(error));
  }

  /** An error in a listener must not end the loop. */
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
