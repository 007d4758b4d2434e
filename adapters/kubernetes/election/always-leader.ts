import { Fenced } from '../../../actors/ports/errors.ts';
import type { Leadership } from '../../../actors/ports/leadership.ts';
import { messageOf } from '../client/api-error.ts';
import { LEASE_TIMINGS, type LeadershipOptions, type LeaseTimings } from './leadership.ts';
import { holderOf, type Lease, serverOf, termOf, withTerm } from './lease.ts';
import { type LeaseClient, leaseClient } from './lease-client.ts';

/** For a process that runs alone: leads as soon as it has read the term, and never holds the Lease. It still writes its terms to the Lease, so
 *  that a later election continues from there. */
export class LoneLeadership implements Leadership {
  readonly #options: LeadershipOptions;
  readonly #timings: LeaseTimings;
  readonly #client: LeaseClient;
  #lease: Lease | null = null;
  #seenTerm = 0;
  #seenServer: string | null = null;
  #seenLease: string | null = null;
  #released = false;
  #cancel: () => void = () => undefined;

  constructor(options: LeadershipOptions) {
    this.#options = options;
    this.#timings = options.timings ?? LEASE_TIMINGS;
    this.#client = leaseClient(options.connection, options.namespace, this.#timings.renewDeadlineMs / 2);
  }

  /** Resolves after the first try to read the Lease; retries until it is read. */
  async start(listener: Parameters<Leadership['start']>[0]): Promise<void> {
    try {
      await this.#read();
    } catch (error) {
      this.#options.log.warn('the lease was not read', { error: messageOf(error) });
      if (this.#released) return;
      this.#cancel = this.#options.clock.after(this.#timings.retryMs, () => {
        this.start(listener).catch((failure: unknown) => this.#options.log.error('not leading', { error: messageOf(failure) }));
      });
      return;
    }
    if (this.#released) return;
    const holder = this.#lease === null ? '' : holderOf(this.#lease);
    this.#options.log.warn('leading without an election: no other replica may run', holder === '' ? {} : { holder });
    listener.acquired();
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

  /** The user guarantees that there is no other leader. */
  lease(): { readonly renewedAt: number; readonly durationMs: number } {
    return { renewedAt: this.#options.clock.monotonic(), durationMs: this.#timings.durationMs };
  }

  /** There is no election to take part in. */
  triedAt(): number {
    return this.#options.clock.monotonic();
  }

  holder(): string | null {
    return this.#options.name;
  }

  async writeTerm(term: number, server: string | null): Promise<void> {
    if (await this.#write(term, server)) return;
    // The holder of an earlier election may still be renewing: that is fine unless it wrote a term as high as ours.
    await this.#read();
    if (this.#seenTerm < term && (await this.#write(term, server))) return;
    throw new Fenced(`term ${term} not written: somebody else wrote the Lease`);
  }

  async release(): Promise<void> {
    this.#released = true;
    this.#cancel();
  }

  async #write(term: number, server: string | null): Promise<boolean> {
    const written = await this.#client.write(withTerm(this.#lease ?? this.#client.fresh(), term, server));
    if (written === null) return false;
    this.#keep(written);
    return true;
  }

  async #read(): Promise<void> {
    this.#keep(await this.#client.read());
  }

  #keep(lease: Lease | null): void {
    this.#lease = lease;
    if (lease === null || termOf(lease) === 0) return;
    [this.#seenTerm, this.#seenServer, this.#seenLease] = [termOf(lease), serverOf(lease), lease.metadata.uid ?? null];
  }
}
