import type { Clock } from '../../../actors/ports/records.ts';
import { isInvalid, ServerUnreachable } from '../client/api-error.ts';
import type { Backoff } from '../client/backoff.ts';

/** Maximum retry interval of an invalid write, ms; the intervals are 1, 2, 4 s and so on. */
const REFUSED_AGAIN_MS = 5 * 60_000;

export interface Pace {
  /** Long-term average interval between runs, ms. */
  readonly intervalMs: number;
  /** Number of runs that may follow one another immediately after a quiet time. */
  readonly burst: number;
  /** While it fails, a new request triggers a retry no sooner than this after the last try, ms. */
  readonly impatienceMs: number;
}

export interface LaneOptions {
  readonly clock: Clock;
  readonly pace: Pace;
  readonly backoff: Backoff;
  /** Does everything currently wanted. May throw: it is retried. */
  run(): Promise<void>;
  failed(error: unknown, retryInMs: number): void;
}

/** Runs one thing at a time, as soon as requested within its pace, and retries failures until it succeeds. Requests during a run, or while
 *  one waits, are coalesced into one further run. */
export class Lane {
  readonly #options: LaneOptions;
  #wanted = false;
  #running = false;
  #stopped = false;
  #cancel: (() => void) | null = null;
  /** Theoretical time of the next run at a steady pace, monotonic ms. */
  #paced = Number.NEGATIVE_INFINITY;
  #startedAt = Number.NEGATIVE_INFINITY;
  /** The server asked to wait until then, monotonic ms. */
  #askedUntil = Number.NEGATIVE_INFINITY;
  #waiters: (() => void)[] = [];

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  request(): void {
    if (this.#stopped) return;
    this.#wanted = true;
    if (this.#running) return;
    const failing = this.#options.backoff.failures() > 0;
    const now = this.#options.clock.monotonic();
    const soonest = Math.max(this.#startedAt + this.#options.pace.impatienceMs, this.#askedUntil);
    this.#schedule(failing ? soonest - now : this.#paceMs(now));
  }

  get idle(): boolean {
    return !this.#wanted && !this.#running;
  }

  /** Resolves when nothing is wanted, or the lane was stopped. */
  whenIdle(): Promise<void> {
    if (this.idle) return Promise.resolve();
    return new Promise((resolve) => void this.#waiters.push(resolve));
  }

  stop(): void {
    this.#stopped = true;
    this.#wanted = false;
    this.#cancel?.();
    this.#cancel = null;
    if (!this.#running) this.#tellIdle();
  }

  #paceMs(now: number): number {
    const { intervalMs, burst } = this.#options.pace;
    return this.#paced - (burst - 1) * intervalMs - now;
  }

  #schedule(ms: number): void {
    this.#cancel?.();
    this.#cancel = null;
    if (ms > 0) {
      this.#cancel = this.#options.clock.after(ms, () => this.#start());
      return;
    }
    let cancelled = false;
    this.#cancel = () => {
      cancelled = true;
    };
    // In a microtask, so that requests made together are one run.
    queueMicrotask(() => {
      if (!cancelled) this.#start();
    });
  }

  #start(): void {
    const { clock, pace } = this.#options;
    this.#cancel = null;
    this.#startedAt = clock.monotonic();
    this.#paced = Math.max(this.#paced, this.#startedAt) + pace.intervalMs;
    this.#wanted = false;
    this.#running = true;
    this.#options.run().then(
      () => this.#succeeded(),
      (error: unknown) => this.#failed(error),
    );
  }

  #succeeded(): void {
    this.#running = false;
    this.#options.backoff.reset();
    if (this.#wanted && !this.#stopped) this.#schedule(this.#paceMs(this.#options.clock.monotonic()));
    else this.#tellIdle();
  }

  #failed(error: unknown): void {
    this.#running = false;
    if (this.#stopped) {
      this.#tellIdle();
      return;
    }
    this.#wanted = true;
    const { backoff, clock } = this.#options;
    const asked = error instanceof ServerUnreachable ? error.retryAfterMs : null;
    this.#askedUntil = clock.monotonic() + (asked ?? 0);
    const ms = backoff.next(isInvalid(error) ? Math.min(REFUSED_AGAIN_MS, 1_000 * 2 ** backoff.failures()) : asked);
    this.#options.failed(error, ms);
    this.#schedule(ms);
  }

  #tellIdle(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const tell of waiters) tell();
  }
}
