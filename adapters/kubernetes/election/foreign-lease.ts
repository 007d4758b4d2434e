import { ApiError, isNotFound, messageOf, ServerUnreachable } from '../client/api-error.ts';
import type { Connection, Means } from '../client/connection.ts';
import { LEASE_TIMINGS, type LeaseTimings } from './leadership.ts';
import { durationMsOf, holderOf, type Lease, takenBy } from './lease.ts';
import { type LeaseClient, leaseClient } from './lease-client.ts';

export interface OtherLeaseOptions extends Means {
  readonly lease: { readonly namespace: string; readonly name: string };
  /** Of the installation, not of the process: its replicas hold the Lease together. */
  readonly identity: string;
  readonly timings?: LeaseTimings;
}

/** The Lease of another program that does the same work: that one and this installation hold it by turns, and who does not hold it does nothing. Whoever sees no
 *  renewal for the duration of the Lease, by its own monotonic clock, takes it, as client-go does. */
export class OtherLease {
  /** Resolves once this installation holds it. */
  readonly held: Promise<void>;
  /** Rejects when another program has taken it since: what was begun has to end. @throws Error that names the holder */
  readonly lost: Promise<never>;
  readonly #options: OtherLeaseOptions;
  readonly #timings: LeaseTimings;
  readonly #client: LeaseClient;
  readonly #holds = Promise.withResolvers<void>();
  readonly #loses = Promise.withResolvers<never>();
  #isHeld = false;
  #stopped = false;
  #seen: Lease | null = null;
  #changeSeenAt = Number.NEGATIVE_INFINITY;
  /** When the last successful read was begun. */
  #readAt = Number.NEGATIVE_INFINITY;
  /** A time at which the last renewal in the name of this installation had certainly not been made yet. */
  #renewedAt = Number.NEGATIVE_INFINITY;
  /** What the last try failed with, so that it is told once. */
  #failed: string | null = null;
  #refused: string | null = null;
  #waitsFor = '';
  #cancel: () => void = () => undefined;

  constructor(options: OtherLeaseOptions) {
    this.#options = options;
    this.#timings = options.timings ?? LEASE_TIMINGS;
    const { connection, lease } = options;
    this.#client = leaseClient(connection, lease.namespace, this.#timings.renewDeadlineMs / 2, lease.name);
    this.held = this.#holds.promise;
    this.lost = this.#loses.promise;
    // Nobody may be listening yet, or any more.
    this.lost.catch(() => undefined);
  }

  /** Resolves after the first try, whatever came of it; goes on until `stop`. */
  async start(): Promise<void> {
    const { clock, random, log } = this.#options;
    try {
      await this.#look();
      this.#failed = null;
      this.#refused = null;
    } catch (error) {
      const why = messageOf(error);
      if (this.#failed !== why) log.warn(`the Lease ${this.#place} could not be had`, { error: why });
      this.#failed = why;
      if (error instanceof ApiError) this.#refused = why;
    }
    if (this.#stopped) return;
    this.#cancel = clock.after(this.#timings.retryMs * (1 + random() / 5), () => void this.start());
  }

  /** Takes part no more. The Lease is not given up, since other replicas may hold it too: it runs out by itself. */
  stop(): void {
    this.#stopped = true;
    this.#cancel();
  }

  isHeld(): boolean {
    return this.#isHeld;
  }

  /** What the API server refuses, and why so nothing is done; null while nothing is, and in an outage, which is told elsewhere. */
  hindrance(): string | null {
    return this.#isFresh ? null : this.#refused;
  }

  /** To be called before every write of the work that both do. @throws ServerUnreachable unless the Lease is held, and was renewed so lately that nobody can have it */
  assertHeld(): void {
    if (this.#isFresh) return;
    throw new ServerUnreachable(`nothing is sent: the Lease ${this.#place} is ${this.#isHeld ? 'not renewed' : 'not held'}`);
  }

  get #isFresh(): boolean {
    return this.#isHeld && this.#options.clock.monotonic() - this.#renewedAt < this.#timings.renewDeadlineMs;
  }

  get #place(): string {
    return `${this.#options.lease.namespace}/${this.#options.lease.name}`;
  }

  async #look(): Promise<void> {
    const { clock, identity } = this.#options;
    const startedAt = clock.monotonic();
    const found = await this.#client.read();
    if (this.#stopped) return;
    this.#observe(found, startedAt);
    const holder = found === null ? '' : holderOf(found);
    const durationMs = found === null ? 0 : durationMsOf(found, this.#timings.durationMs);
    if (holder !== '' && holder !== identity) {
      if (this.#isHeld) return this.#lose(holder);
      if (clock.monotonic() - this.#changeSeenAt < durationMs) return this.#wait(holder);
    }
    // One replica renews it for all.
    if (holder === identity && clock.monotonic() - this.#renewedAt < this.#timings.durationMs / 3) return this.#hold();
    const sentAt = clock.monotonic();
    if (!(await this.#take(found))) return;
    this.#renewedAt = sentAt;
    this.#hold();
  }

  /** False when somebody else was quicker; the next look shows who. */
  async #take(found: Lease | null): Promise<boolean> {
    const { clock, identity } = this.#options;
    try {
      const written = await this.#client.write(takenBy(found ?? this.#client.fresh(), identity, this.#timings.durationMs, clock.now()));
      if (written !== null) this.#seen = written;
      return written !== null;
    } catch (error) {
      // There is no such namespace, so nobody else can hold a Lease there.
      if (found === null && isNotFound(error)) return true;
      throw error;
    }
  }

  /** Takes in what a read that began at `startedAt` has shown. */
  #observe(found: Lease | null, startedAt: number): void {
    if (JSON.stringify(found?.spec) !== JSON.stringify(this.#seen?.spec)) {
      this.#changeSeenAt = this.#options.clock.monotonic();
      // Whatever is new was written after the read before this one.
      if (found !== null && holderOf(found) === this.#options.identity) this.#renewedAt = this.#readAt;
    }
    this.#seen = found;
    this.#readAt = startedAt;
  }

  #wait(holder: string): void {
    if (this.#waitsFor === holder) return;
    this.#waitsFor = holder;
    this.#options.log.info('leaves Services and IPs to another allocator', { lease: this.#place, holder });
  }

  #hold(): void {
    if (this.#isHeld) return;
    this.#isHeld = true;
    this.#options.log.info('no other allocator holds the Lease', { lease: this.#place });
    this.#holds.resolve();
  }

  #lose(holder: string): void {
    this.#isHeld = false;
    this.stop();
    this.#loses.reject(new Error(`${holder} has taken the Lease ${this.#place}: it serves the Services now, and this process begins anew`));
  }
}

/** `connection` for who does that work: reads are free, anything else is sent only while the Lease is held. */
export const whileHeld = (connection: Connection, lease: Pick<OtherLease, 'assertHeld'>): Connection => ({
  ...connection,
  send: async (request) => {
    if (request.method !== 'GET') lease.assertHeld();
    return connection.send(request);
  },
});
