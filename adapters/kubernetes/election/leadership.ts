import { randomUUID } from 'node:crypto';
import { Fenced } from '../../../actors/ports/errors.ts';
import type { Leadership, LeadershipListener } from '../../../actors/ports/leadership.ts';
import { ApiError, messageOf } from '../client/api-error.ts';
import type { Means } from '../client/connection.ts';
import { aheadMs, durationMsOf, givenUp, holderOf, type Lease, renewed, serverOf, takenBy, termOf, withTerm } from './lease.ts';
import { type LeaseClient, leaseClient } from './lease-client.ts';

export interface LeaseTimings {
  /** How long others wait after the last renewal that they saw, ms; whole seconds. */
  readonly durationMs: number;
  /** The leader gives up when it could not renew for so long, ms; shorter, so that it stops before another one starts. */
  readonly renewDeadlineMs: number;
  /** Between two tries, ms; up to a fifth more by chance. */
  readonly retryMs: number;
}

/** Clocks that differ by less are nobody's concern, ms. */
const TOLD_SKEW_MS = 30_000;

/** FLIPOP's. */
export const LEASE_TIMINGS: LeaseTimings = { durationMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 };

export interface LeadershipOptions extends Means {
  readonly namespace: string;
  /** Names the process to people, e.g. its Pod; what is random is added. */
  readonly name: string;
  readonly timings?: LeaseTimings;
}

/** Leader election on a Lease, as client-go does it: whoever sees no renewal for the duration of the lease, by its own monotonic clock, takes it. Every
 *  replica reads the Lease all the time, so that its jobs know whether somebody leads. */
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
  /** When a change of the Lease was seen, monotonic ms: others' leases end so long after it, at the latest. */
  #changeSeenAt = Number.NEGATIVE_INFINITY;
  /** A time, monotonic ms, at which the last renewal had certainly not been made yet: nobody can have counted from an earlier one. */
  #renewedAt = Number.NEGATIVE_INFINITY;
  /** When the last successful read was begun. */
  #readAt = Number.NEGATIVE_INFINITY;
  #triedAt = Number.NEGATIVE_INFINITY;
  /** The holder whose clock was told to differ. */
  #differsFrom = '';
  #cancelTick: () => void = () => undefined;
  #cancelDeadline: () => void = () => undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: LeadershipOptions) {
    this.#options = options;
    this.#timings = options.timings ?? LEASE_TIMINGS;
    // A process that starts anew is another leader, also under its old name.
    this.identity = `${options.name}_${randomUUID()}`;
    this.#client = leaseClient(options.connection, options.namespace, this.#timings.renewDeadlineMs / 2);
  }

  /** Resolves after the first try, whatever came of it. */
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

  /** Stops contending; a leader is told `lost` first. */
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
        // It may be built on what the server does not have.
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
    // Somebody was quicker; the next read shows who.
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

  /** Gives the lease up when another process should have it; true when it did. */
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
    // What was taken in the very moment of a stop counts too.
    if (this.#lease === null || holderOf(this.#lease) !== this.identity) return;
    try {
      const written = await this.#client.write(givenUp(this.#lease, this.#options.clock.now()));
      if (written === null) return;
      this.#keep(written);
      this.#renewedAt = Number.NEGATIVE_INFINITY;
    } catch (error) {
      // Others take it when its time is over.
      this.#options.log.warn('the lease was not given up', { error: messageOf(error) });
    }
  }

  /** After somebody else wrote the Lease: whether it is still ours. */
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

  /** Takes in what a read that began at `startedAt` has shown. */
  #observe(found: Lease | null, startedAt: number): void {
    const before = this.#lease;
    const changed = JSON.stringify(found?.spec) !== JSON.stringify(before?.spec);
    if (changed) {
      this.#changeSeenAt = this.#options.clock.monotonic();
      // Whatever is new was written after the read before this one.
      const held = found !== null && holderOf(found) !== '';
      this.#renewedAt = held ? this.#readAt : Number.NEGATIVE_INFINITY;
      if (found !== null && held) this.#compareClocks(found);
    }
    this.#readAt = startedAt;
    this.#keep(found);
  }

  /** Nothing here depends on whose clock is right; times in statuses, and when the next try comes, do. */
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

  /** A renewal sent at `sentAt` was accepted: leads until the deadline after it. */
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
