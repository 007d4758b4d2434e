import { ApiError, isNotFound, messageOf, ServerUnreachable } from '../client/api-error.ts';
import type { Connection, Means } from '../client/connection.ts';
import { LEASE_TIMINGS, type LeaseTimings } from './leadership.ts';
import { durationMsOf, holderOf, type Lease, takenBy } from './lease.ts';
import { type LeaseClient, leaseClient } from './lease-client.ts';

export interface OtherLeaseOptions extends Means {
  readonly lease: { readonly namespace: string; readonly name: string };
  /** Identity of the installation, not of the process: its replicas share the Lease. */
  readonly identity: string;
  readonly timings?: LeaseTimings;
}

/** A Lease shared with another program that does the same work: only the holder works. As in client-go, a candidate that observes no renewal for the lease
 *  duration, by its own monotonic clock, takes it. */
export class OtherLease {
  /** Resolves once this installation holds it. */
  readonly held: Promise<void>;
  /** Rejects when another program has taken it since: all work on it must stop. @throws Error that names the holder */
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
  /** When the last successful read was started. */
  #readAt = Number.NEGATIVE_INFINITY;
  /** Lower bound of the time of this installation's last renewal. */
  #renewedAt = Number.NEGATIVE_INFINITY;
  /** Error of the last try, so that it is logged only once. */
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
    // Avoids an unhandled rejection: there may be no listener yet, or none left.
    this.lost.catch(() => undefined);
  }

  /** Resolves after the first try, whether it succeeded or not; continues until `stop`. */
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

  /** Stops contending. The Lease is not given up, since other replicas may share it: it expires by itself. */
  stop(): void {
    this.#stopped = true;
    this.#cancel();
  }

  isHeld(): boolean {
    return this.#isHeld;
  }

  /** Why the API server refuses access, so that no work is done; null when it does not, and in an outage, which is reported elsewhere. */
  hindrance(): string | null {
    return this.#isFresh ? null : this.#refused;
  }

  /** Call before every write of the shared work. @throws ServerUnreachable unless the Lease is held, and was renewed recently enough that no other program can hold it */
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
    // One replica renews it for all of them.
    if (holder === identity && clock.monotonic() - this.#renewedAt < this.#timings.durationMs / 3) return this.#hold();
    const sentAt = clock.monotonic();
    if (!(await this.#take(found))) return;
    this.#renewedAt = sentAt;
    this.#hold();
  }

  /** False when another client was faster; the next read shows which one. */
  async #take(found: Lease | null): Promise<boolean> {
    const { clock, identity } = this.#options;
    try {
      const written = await this.#client.write(takenBy(found ?? this.#client.fresh(), identity, this.#timings.durationMs, clock.now()));
      if (written !== null) this.#seen = written;
      return written !== null;
    } catch (error) {
      // The namespace does not exist, so no other program can hold a Lease there.
      if (found === null && isNotFound(error)) return true;
      throw error;
    }
  }

  /** Processes the result of a read that began at `startedAt`. */
  #observe(found: Lease | null, startedAt: number): void {
    if (JSON.stringify(found?.spec) !== JSON.stringify(this.#seen?.spec)) {
      this.#changeSeenAt = this.#options.clock.monotonic();
      // The change was written after the previous read.
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

/** `connection` for the shared work: reads always pass, anything else is sent only while the Lease is held. */
export const whileHeld = (connection: Connection, lease: Pick<OtherLease, 'assertHeld'>): Connection => ({
  ...connection,
  send: async (request) => {
    if (request.method !== 'GET') lease.assertHeld();
    return connection.send(request);
  },
});
