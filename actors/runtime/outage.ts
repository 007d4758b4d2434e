import type { Log } from '../ports/observers.ts';
import type { Clock } from '../ports/records.ts';
import type { Switch } from './store-failover.ts';

/** A leader that gets no answer from the store for this long goes on in memory, ms. */
const AWAY_MS = 2000;

/** A store that has answered for this long is back, ms: a leader does not switch back and forth with a flapping store. */
const BACK_MS = 2000;

/** How often a leader without the store gives other replicas that may reach it a chance to lead, ms. */
const OFFER_EVERY_MS = 600_000;

/** A process that knows the last decisions takes a free Lease after this part of the time that it is left to processes that reach the store: two of their attempts. */
const KNOWING_PART = 1 / 3;

/** Jobs that are held while the store is away: those that create or remove something at a provider. Jobs that concern only Services go on: their state is kept by the API
 *  server, and checked there before each change. */
const HELD: ReadonlySet<string> = new Set(['intendCreate', 'create', 'reconcileCreate', 'release', 'prune']);

export type Away = Pick<Switch, 'isAway' | 'askUsual' | 'goAway' | 'comeBack'>;

export interface OutagePorts {
  /** Absent where a leader waits for the store instead. */
  readonly away?: Away;
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: { readonly storePatienceMs: number; readonly callDeadlineMs: number };
}

/** What this process knows of the store: whether it answers, since when it does not, and what follows from that. All times are monotonic ms. */
export class Outage {
  readonly #ports: OutagePorts;
  #error: string | null = 'not asked yet';
  #seenAt: number;
  /** Since when it has answered every time; null while it does not. */
  #answersSince: number | null = null;
  #settledAt = Number.NEGATIVE_INFINITY;
  /** A term was opened in memory since the store last answered. */
  #isTermWritten = false;
  /** Since when no leader is observed; null while there is one. */
  #vacantSince: number | null = null;
  /** When the Lease was last given up, or taken because no other replica wanted it, during this outage; null for never. */
  #offeredAt: number | null = null;

  constructor(ports: OutagePorts) {
    this.#ports = ports;
    this.#seenAt = ports.clock.monotonic();
  }

  get error(): string | null {
    return this.#error;
  }

  get isAway(): boolean {
    return this.#ports.away?.isAway() ?? false;
  }

  answered(): void {
    const now = this.#ports.clock.monotonic();
    this.#error = null;
    this.#seenAt = now;
    this.#answersSince ??= now;
    this.#offeredAt = null;
    if (!this.isAway) this.#isTermWritten = false;
  }

  failed(error: unknown): void {
    this.#error = error instanceof Error ? error.message : String(error);
    this.#answersSince = null;
  }

  /** Whether a leader should switch to memory by now. */
  get isLong(): boolean {
    return this.#ports.away !== undefined && this.#error !== null && this.#sinceSeen() >= AWAY_MS;
  }

  /** Whether a leader that went on in memory should switch back to the store by now. */
  get isOver(): boolean {
    return this.isAway && this.#answersSince !== null && this.#ports.clock.monotonic() - this.#answersSince >= BACK_MS;
  }

  /** The Lease was taken. If the store does not answer, no process that reaches it wanted to lead. */
  leaseTaken(): void {
    if (this.#error !== null) this.#offeredAt = this.#ports.clock.monotonic();
  }

  /** Switches to memory, which is empty. */
  goAway(): void {
    this.#ports.log.warn('goes on without the store', { error: this.#error });
    this.#ports.away?.goAway();
  }

  /** Switches back to the store. */
  comeBack(): void {
    this.#ports.log.info('the store is back');
    this.#isTermWritten = false;
    this.leave();
  }

  /** From now on nothing in memory may be sent. */
  leave(): void {
    this.#ports.away?.comeBack();
  }

  /** A term of this process was written on the Lease; `known`: it knows all earlier decisions. Others may have taken jobs of former terms from the store, and may send them
   *  until they observe this term or find the Lease too old; then a call takes its time. */
  termWritten(known: boolean): void {
    if (!this.isAway || (known && this.#isTermWritten)) return;
    const { clock, settings } = this.#ports;
    this.#isTermWritten = true;
    this.#settledAt = clock.monotonic() + settings.storePatienceMs + settings.callDeadlineMs;
  }

  /** Until when others may send what was decided before the last switch from the store to memory, and such a call may take effect. Once everything is in the store again,
   *  under a term that refuses all former ones, the records say what is in doubt, and until when. */
  get settledAt(): number {
    return this.isAway ? this.#settledAt : Number.NEGATIVE_INFINITY;
  }

  isHeld = (job: string): boolean => this.isAway && HELD.has(job);

  /** Reports the observed leader; null when there is none. Call it about once a second. */
  holderSeen(holder: string | null): void {
    this.#vacantSince = holder === null ? (this.#vacantSince ?? this.#ports.clock.monotonic()) : null;
  }

  /** Why a leader should make room for another process: once in an outage, since other processes may still reach the store, and repeatedly if it lasts. */
  unfitToLead(): string | null {
    const { away, clock, settings } = this.#ports;
    const now = clock.monotonic();
    if (this.#error === null || this.#sinceSeen() <= settings.storePatienceMs) return null;
    if (away && this.#offeredAt !== null && now - this.#offeredAt < OFFER_EVERY_MS) return null;
    this.#offeredAt = now;
    return this.#why;
  }

  /** Why this process should not take a free Lease. Processes that reach the store come first. Without it a process takes the Lease only when no other replica does, and
   *  sooner when it knows the last decisions. */
  unfitToTake(knows: boolean): string | null {
    if (this.#error === null) return null;
    const { away, clock, settings } = this.#ports;
    const enoughMs = settings.storePatienceMs * (knows ? KNOWING_PART : 1);
    return away && this.#vacantSince !== null && clock.monotonic() - this.#vacantSince >= enoughMs ? null : this.#why;
  }

  /** What users should know although everything goes on; null for nothing. */
  get notice(): string | null {
    if (!this.isAway) return null;
    const since = Math.floor(this.#sinceSeen() / 1000);
    const why = this.#error ?? 'it answers again, and is gone back to in a moment';
    return `goes on in memory, where addresses move and nothing is created or deleted; no answer for ${since} s: ${why}`;
  }

  get #why(): string {
    return `the store does not answer: ${this.#error}`;
  }

  #sinceSeen(): number {
    return this.#ports.clock.monotonic() - this.#seenAt;
  }
}
