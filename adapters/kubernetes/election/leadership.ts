import { randomUUID } from 'node:crypto';
import { Fenced } from '../../../actors/ports/errors.ts';
import type { Leadership, LeadershipListener } from '../../../actors/ports/leadership.ts';
import { ApiError, messageOf } from '../client/api-error.ts';
import type { Means } from '../client/connection.ts';
import { aheadMs, durationMsOf, givenUp, holderOf, type Lease, renewed, serverOf, takenBy, termOf, withTerm } from './lease.ts';
import { type LeaseClient, leaseClient } from './lease-client.ts';

export interface LeaseTimings {
  /** How long other candidates wait after the last renewal they observed, ms; whole seconds. */
  readonly durationMs: number;
  /** The leader steps down when it could not renew for this long, ms; shorter than the duration, so that it stops before another leader starts. */
  readonly renewDeadlineMs: number;
  /** Between two tries, ms; plus up to 20 % jitter. */
  readonly retryMs: number;
}

/** A smaller clock skew is not logged, ms. */
const TOLD_SKEW_MS = 30_000;

/** FLIPOP's defaults. */
export const LEASE_TIMINGS: LeaseTimings = { durationMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 };

export interface LeadershipOptions extends Means {
  readonly namespace: string;
  /** Human-readable name of the process, e.g. its Pod; a random suffix is appended. */
  readonly name: string;
  readonly timings?: LeaseTimings;
}

/** Leader election on a Lease, as in client-go: a candidate that observes no renewal for the lease duration, by its own monotonic clock, takes it. Every
 *  replica polls the Lease, so that its jobs know whether there is a leader. */
export class LeaseElection implements Leadership {
  readonly identity: string;
  readonly #options: LeadershipOptions;
  readonly #timings: LeaseTimings;
  readonly #client: LeaseClient;
  #listener: LeadershipListener | null = null;
  #lease: Lease | null = null;
  #leading = false;
  #stopped = false;
  #seenTerm = 0;
  #seenServer: string | null = null;
  #seenLease: string | null = null;
  /** When the Lease was last seen to change, monotonic ms. Another holder's lease expires at most its duration later. */
  #changeSeenAt = Number.NEGATIVE_INFINITY;
  /** Lower bound of the time of the last renewal, monotonic ms: no candidate can have counted from an earlier one. */
  #renewedAt = Number.NEGATIVE_INFINITY;
  /** When the last successful read was started. */
  #readAt = Number.NEGATIVE_INFINITY;
  #triedAt = Number.NEGATIVE_INFINITY;
  /** The holder whose clock skew was logged last. */
  #differsFrom = '';
  #cancelTick: () => void = () => undefined;
  #cancelDeadline: () => void = () => undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: LeadershipOptions) {
    this.#options = options;
    this.#timings = options.timings ?? LEASE_TIMINGS;
    // A restarted process is a different leader, even under the same name.
    this.identity = `${options.name}_${randomUUID()}`;
    this.#client = leaseClient(options.connection, options.namespace, this.#timings.renewDeadlineMs / 2);
  }

  /** Resolves after the first try, whether it succeeded or not. */
  async start(listener: LeadershipListener): Promise<void> {
    this.#listener = listener;
    await this.#tick();
  }

  seenTerm(): number {
    return this.#seenTerm;
  }

  seenServer(): string | null {
    return this.#seenServer;
  }

  seenLease(): string | null {
    return this.#seenLease;
  }

  isNew(): boolean {
    return this.#lease === null || termOf(this.#lease) === 0;
  }

  lease(): { readonly renewedAt: number; readonly durationMs: number } {
    const { durationMs } = this.#timings;
    return { renewedAt: this.#renewedAt, durationMs: this.#lease === null ? durationMs : durationMsOf(this.#lease, durationMs) };
  }

  triedAt(): number {
    return this.#triedAt;
  }

  holder(): string | null {
    if (this.#lease === null || holderOf(this.#lease) === '') return null;
    const hasRunOut = this.#options.clock.monotonic() - this.#changeSeenAt >= durationMsOf(this.#lease, this.#timings.durationMs);
    return hasRunOut ? null : holderOf(this.#lease);
  }

  writeTerm(term: number, server: string | null): Promise<void> {
    return this.#inTurn(async () => {
      const lease = this.#lease;
      if (!this.#leading || lease === null) throw new Fenced(`term ${term} not written: this process does not lead`);
      const written = await this.#client.write(withTerm(lease, term, server));
      if (written !== null) {
        this.#keep(written);
        return;
      }
      await this.#checkHolder();
      throw new Fenced(`term ${term} not written: somebody else wrote the Lease`);
    });
  }

  /** Stops contending; a leader receives `lost` first. */
  async release(): Promise<void> {
    this.#stopped = true;
    this.#cancelTick();
    this.#lose('released');
    await this.#inTurn(async () => {
      this.#cancelDeadline();
      await this.#giveUp();
    });
  }

  async #tick(): Promise<void> {
    this.#triedAt = this.#options.clock.monotonic();
    await this.#inTurn(async () => {
      if (this.#stopped) return;
      try {
        if (!this.#leading) await this.#contend();
        else if (!(await this.#yield())) await this.#renew();
      } catch (error) {
        this.#options.log.warn(this.#leading ? 'the lease was not renewed' : 'the lease was not read', { error: messageOf(error) });
        // The cached Lease may be outdated.
        if (this.#leading && error instanceof ApiError) await this.#checkHolder().catch(() => undefined);
      }
    });
    if (this.#stopped) return;
    const { retryMs } = this.#timings;
    const ms = retryMs * (1 + this.#options.random() / 5);
    this.#cancelTick = this.#options.clock.after(ms, () => {
      this.#tick().catch((error: unknown) => this.#options.log.error('leader election failed', { error: messageOf(error) }));
    });
  }

  async #contend(): Promise<void> {
    const { clock } = this.#options;
    const startedAt = clock.monotonic();
    const found = await this.#client.read();
    this.#observe(found, startedAt);
    if (this.#stopped || (found !== null && !this.#mayBeTaken(found)) || this.#unfit() !== null) return;
    const sentAt = clock.monotonic();
    const taken = await this.#client.write(takenBy(found ?? this.#client.fresh(), this.identity, this.#timings.durationMs, clock.now()));
    // Another candidate was faster; the next read shows which one.
    if (taken === null) return;
    this.#keep(taken);
    this.#holdUntil(sentAt);
    if (this.#stopped || this.#leading) return;
    this.#leading = true;
    this.#options.log.info('leading', { holder: this.identity });
    this.#tell((listener) => listener.acquired());
  }

  async #renew(): Promise<void> {
    const { clock } = this.#options;
    if (this.#lease === null) return;
    const sentAt = clock.monotonic();
    const written = await this.#client.write(renewed(this.#lease, clock.now()));
    if (written === null) {
      await this.#checkHolder();
      return;
    }
    this.#keep(written);
    if (this.#leading) this.#holdUntil(sentAt);
  }

  /** Gives up the lease when another process should hold it; true when it did. */
  async #yield(): Promise<boolean> {
    const reason = this.#unfit();
    if (reason === null) return false;
    this.#lose(reason);
    await this.#giveUp();
    return true;
  }

  #unfit(): string | null {
    return this.#listener?.unfit?.() ?? null;
  }

  async #giveUp(): Promise<void> {
    // Also gives up a lease that was acquired during the stop.
    if (this.#lease === null || holderOf(this.#lease) !== this.identity) return;
    try {
      const written = await this.#client.write(givenUp(this.#lease, this.#options.clock.now()));
      if (written === null) return;
      this.#keep(written);
      this.#renewedAt = Number.NEGATIVE_INFINITY;
    } catch (error) {
      // Other candidates take it once it expires.
      this.#options.log.warn('the lease was not given up', { error: messageOf(error) });
    }
  }

  /** After a conflict or a refused write: checks whether this process still holds the Lease. */
  async #checkHolder(): Promise<void> {
    const startedAt = this.#options.clock.monotonic();
    const found = await this.#client.read();
    this.#observe(found, startedAt);
    if (found === null) this.#lose('the Lease was deleted');
    else if (holderOf(found) !== this.identity) this.#lose(`${holderOf(found) || 'nobody'} holds the Lease`);
  }

  #mayBeTaken(lease: Lease): boolean {
    const holder = holderOf(lease);
    if (holder === '' || holder === this.identity) return true;
    return this.#options.clock.monotonic() - this.#changeSeenAt >= durationMsOf(lease, this.#timings.durationMs);
  }

  /** Processes the result of a read that began at `startedAt`. */
  #observe(found: Lease | null, startedAt: number): void {
    const before = this.#lease;
    const changed = JSON.stringify(found?.spec) !== JSON.stringify(before?.spec);
    if (changed) {
      this.#changeSeenAt = this.#options.clock.monotonic();
      // The change was written after the previous read.
      const held = found !== null && holderOf(found) !== '';
      this.#renewedAt = held ? this.#readAt : Number.NEGATIVE_INFINITY;
      if (found !== null && held) this.#compareClocks(found);
    }
    this.#readAt = startedAt;
    this.#keep(found);
  }

  /** The election does not depend on synchronized clocks; status timestamps and retry times do. */
  #compareClocks(lease: Lease): void {
    const { clock, log } = this.#options;
    const holder = holderOf(lease);
    const ahead = aheadMs(lease, clock.now(), clock.monotonic() - this.#readAt);
    if (holder === this.identity || holder === this.#differsFrom || Math.abs(ahead) < TOLD_SKEW_MS) return;
    this.#differsFrom = holder;
    log.warn('the clocks differ', { holder, aheadMs: Math.round(ahead) });
  }

  #keep(lease: Lease | null): void {
    this.#lease = lease;
    if (lease === null || termOf(lease) === 0) return;
    [this.#seenTerm, this.#seenServer, this.#seenLease] = [termOf(lease), serverOf(lease), lease.metadata.uid ?? null];
  }

  /** A renewal sent at `sentAt` was accepted: leads until the renew deadline counted from then. */
  #holdUntil(sentAt: number): void {
    const { clock } = this.#options;
    this.#renewedAt = sentAt;
    this.#readAt = sentAt;
    this.#changeSeenAt = clock.monotonic();
    this.#cancelDeadline();
    this.#cancelDeadline = clock.after(sentAt + this.#timings.renewDeadlineMs - clock.monotonic(), () =>
      this.#lose(`the lease could not be renewed for ${this.#timings.renewDeadlineMs} ms`),
    );
  }

  #lose(reason: string): void {
    this.#cancelDeadline();
    if (!this.#leading) return;
    this.#leading = false;
    this.#options.log.warn('leading no longer', { message: reason });
    this.#tell((listener) => listener.lost(reason));
  }

  #tell(say: (listener: LeadershipListener) => void): void {
    if (this.#listener === null) return;
    try {
      say(this.#listener);
    } catch (error) {
      this.#options.log.error('a listener of the election failed', { error: messageOf(error) });
    }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#turn.then(work);
    this.#turn = mine.catch(() => undefined);
    return mine;
  }
}
