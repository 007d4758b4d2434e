import type { Log } from '../ports/observers.ts';
import type { Clock } from '../ports/records.ts';
import type { Switch } from './store-failover.ts';

/** A leader that the store has not answered for so long goes on in memory, ms. */
const AWAY_MS = 2000;

/** A store that has answered again for so long is back, ms: one that comes and goes is not run after. */
const BACK_MS = 2000;

/** How often a leader without the store makes room for others that may have it, ms. */
const OFFER_EVERY_MS = 600_000;

/** Who knows what was decided last takes a free Lease again after this part of the time that others leave it to who has the store: two of their tries. */
const KNOWING_PART = 1 / 3;

/** What waits while the store is away: what makes something new at a provider, or takes something away there. What is done about Services alone goes on: it is
 *  kept by the API server, and looked at there before it is changed. */
const HELD: ReadonlySet<string> = new Set(['intendCreate', 'create', 'reconcileCreate', 'release', 'prune']);

export type Away = Pick<Switch, 'isAway' | 'askUsual' | 'goAway' | 'comeBack'>;

export interface OutagePorts {
  /** Absent where a leader waits until the store is back. */
  readonly away?: Away;
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: { readonly storePatienceMs: number; readonly callDeadlineMs: number };
}

/** What is known of the store from here: whether it answers, since when it does not, and what follows from that. All times are monotonic ms. */
export class Outage {
  readonly #ports: OutagePorts;
  #error: string | null = 'not asked yet';
  #seenAt: number;
  /** Since when it has answered every time; null while it does not. */
  #answersSince: number | null = null;
  #settledAt = Number.NEGATIVE_INFINITY;
  /** A term was opened in memory since the store has answered last. */
  #isTermWritten = false;
  /** Since when nobody is known to lead; null while somebody is. */
  #vacantSince: number | null = null;
  /** When the Lease was given up, or taken because nobody else wanted it, for the last time in this outage; null for never. */
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

  /** Whether a leader should go on in memory by now. */
  get isLong(): boolean {
    return this.#ports.away !== undefined && this.#error !== null && this.#sinceSeen() >= AWAY_MS;
  }

  /** Whether a leader that went on in memory should go on in the store by now. */
  get isOver(): boolean {
    return this.isAway && this.#answersSince !== null && this.#ports.clock.monotonic() - this.#answersSince >= BACK_MS;
  }

  /** The Lease was taken. Without the store: because nobody who has it wanted to. */
  leaseTaken(): void {
    if (this.#error !== null) this.#offeredAt = this.#ports.clock.monotonic();
  }

  /** Everything goes on in memory, which is empty. */
  goAway(): void {
    this.#ports.log.warn('goes on without the store', { error: this.#error });
    this.#ports.away?.goAway();
  }

  /** Everything goes on in the store. */
  comeBack(): void {
    this.#ports.log.info('the store is back');
    this.#isTermWritten = false;
    this.leave();
  }

  /** Nothing that is in memory may be sent any more. */
  leave(): void {
    this.#ports.away?.comeBack();
  }

  /** A term was written on the Lease under which this process decides; `known`: it knows all that was decided before. Others may have taken jobs of former terms
   *  from the store, and may send them until they see this one or find the Lease too old; a call lasts. */
  termWritten(known: boolean): void {
    if (!this.isAway || (known && this.#isTermWritten)) return;
    const { clock, settings } = this.#ports;
    this.#isTermWritten = true;
    this.#settledAt = clock.monotonic() + settings.storePatienceMs + settings.callDeadlineMs;
  }

  /** Until when others may send, and a call may take effect, that was decided before the last change from the store to memory. Once everything is in the store again, under a
   *  term that refuses all former ones, the records say what is in doubt, and until when. */
  get settledAt(): number {
    return this.isAway ? this.#settledAt : Number.NEGATIVE_INFINITY;
  }

  isHeld = (job: string): boolean => this.isAway && HELD.has(job);

  /** Who leads as far as can be seen; null when nobody is known to. To be told every second or so. */
  holderSeen(holder: string | null): void {
    this.#vacantSince = holder === null ? (this.#vacantSince ?? this.#ports.clock.monotonic()) : null;
  }

  /** Why a leader should make room for another process: once in an outage, since the store may well answer others, and again when it lasts. */
  unfitToLead(): string | null {
    const { away, clock, settings } = this.#ports;
    const now = clock.monotonic();
    if (this.#error === null || this.#sinceSeen() <= settings.storePatienceMs) return null;
    if (away && this.#offeredAt !== null && now - this.#offeredAt < OFFER_EVERY_MS) return null;
    this.#offeredAt = now;
    return this.#why;
  }

  /** Why this process should not take a free Lease. Who has the store comes first. Without it one takes the Lease only when nobody wants it, and sooner when it
   *  knows what was decided last. */
  unfitToTake(knows: boolean): string | null {
    if (this.#error === null) return null;
    const { away, clock, settings } = this.#ports;
    const enoughMs = settings.storePatienceMs * (knows ? KNOWING_PART : 1);
    return away && this.#vacantSince !== null && clock.monotonic() - this.#vacantSince >= enoughMs ? null : this.#why;
  }

  /** What people should know although all goes on; null for nothing. */
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
