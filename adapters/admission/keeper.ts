import type { CertificateData, CertificateStore, Registered, WebhookRegistration } from '../../actors/ports/admission.ts';
import type { Log } from '../../actors/ports/observers.ts';
import type { Clock } from '../../actors/ports/records.ts';
import { issue, type Pair } from './certificates.ts';
import {
  bundleIn,
  CERTIFICATE_TIMES,
  type CertificateTimes,
  prepared,
  promoted,
  type Renewal,
  renewalOf,
  replaced,
  servedPair,
} from './renewal.ts';

interface KeeperOptions {
  readonly store: CertificateStore;
  readonly registration: WebhookRegistration;
  /** Names that the API server uses to call the webhook. */
  readonly names: readonly string[];
  readonly clock: Clock;
  readonly log: Log;
  /** Serves with this pair from now on. */
  readonly use: (pair: Pair) => void;
  /** Called with every private key before it is used, so that it is redacted. */
  readonly hide: (secret: string) => void;
  readonly times?: CertificateTimes;
}

export interface Keeper {
  /** Why the API server cannot call the webhook, human-readable; null when it can. Problems with the next certificate do not affect the current one. */
  hindrance(): string | null;
  close(): void;
}

const UNREGISTERED = 'the API server is not told of the webhook: its ValidatingWebhookConfiguration is missing';

/** Maximum number of steps per check: after a write it checks again immediately, since others may write as well. */
const ROUNDS = 5;

/** Maintains the certificates of the webhook: created by the first replica, served by all, renewed before expiry, and trusted by the API server. Failures are
 *  retried at the next check; the served certificate stays until then. */
export const keepCertificates = (options: KeeperOptions): Keeper => {
  const keeper = new CertificateKeeper(options);
  keeper.start();
  return keeper;
};

class CertificateKeeper implements Keeper {
  readonly #options: KeeperOptions;
  readonly #times: CertificateTimes;
  #used: Pair | null = null;
  /** The CA bundle registered with the API server at the last check, and since when; monotonic ms. */
  #trusted: { readonly bundle: string; readonly since: number } | null = null;
  #hindrance: string | null = 'there is no certificate yet';
  /** The last logged problem, so that it is logged only once. */
  #told: string | null = null;
  #closed = false;
  #cancel = (): void => undefined;

  constructor(options: KeeperOptions) {
    this.#options = options;
    this.#times = options.times ?? CERTIFICATE_TIMES;
  }

  start(): void {
    void this.#look().then(() => {
      if (!this.#closed) this.#cancel = this.#options.clock.after(this.#times.everyMs, () => this.start());
    });
  }

  hindrance(): string | null {
    return this.#hindrance;
  }

  close(): void {
    this.#closed = true;
    this.#cancel();
  }

  async #look(): Promise<void> {
    try {
      for (let round = 0; round < ROUNDS && !this.#closed; round += 1) if (!(await this.#step())) break;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (this.#hindrance !== null) this.#hindrance = message;
      this.#tell(message);
    }
  }

  /** Whether something was written, here or by others, so that another check is needed. */
  async #step(): Promise<boolean> {
    const { store, registration, names, clock } = this.#options;
    // Read before the certificates, so that older CAs do not overwrite those that another replica registers meanwhile. Errors are handled below.
    const registered = registration.read();
    await registered.catch(() => undefined);
    const stored = await store.read();
    if (stored !== null && !(await this.#take(stored.data, registered))) return true;
    const renewal = renewalOf(stored?.data ?? null, names, { now: clock.now(), trusted: this.#isTrusted(), times: this.#times });
    const data = await this.#renewed(renewal, stored?.data ?? null);
    if (data === null) return false;
    const first = await store.write(data, stored?.version ?? null);
    if (first)
      this.#options.log.info('the webhook’s certificate is renewed', {
        reason: renewal.kind,
        ...('why' in renewal && { message: renewal.why }),
      });
    return true;
  }

  /** Serves the stored pair once its CA is registered with the API server. False when the registration changed meanwhile: the stored pair may be newer, too. */
  async #take(data: CertificateData, registered: Promise<Registered | null>): Promise<boolean> {
    const pair = servedPair(data);
    if (pair === null) return true;
    // The first pair is served before it is registered: a review may arrive before the response to the registration.
    if (this.#used === null) this.#use(pair);
    let isNewest = true;
    try {
      isNewest = await this.#trust(bundleIn(data), await registered);
    } finally {
      // Also when the registration fails: the API server may already trust this pair.
      if (isNewest) this.#use(pair);
    }
    return isNewest;
  }

  async #trust(bundle: string, registered: Registered | null): Promise<boolean> {
    const before = this.#trusted;
    this.#trusted = null;
    if (registered !== null && !(await registered.trust(bundle))) return false;
    if (registered !== null) this.#trusted = before?.bundle === bundle ? before : { bundle, since: this.#options.clock.monotonic() };
    this.#hindrance = registered === null ? UNREGISTERED : null;
    this.#tell(this.#hindrance);
    return true;
  }

  /** Trusted at least since the previous check: API servers observe a change a moment after it was written. */
  #isTrusted(): boolean {
    return this.#trusted !== null && this.#options.clock.monotonic() >= this.#trusted.since + this.#times.everyMs;
  }

  #use(pair: Pair): void {
    const { use, hide } = this.#options;
    if (pair.cert === this.#used?.cert) return;
    hide(pair.key);
    use(pair);
    this.#used = pair;
  }

  async #renewed(renewal: Renewal, data: CertificateData | null): Promise<CertificateData | null> {
    const { names } = this.#options;
    switch (renewal.kind) {
      case 'replace':
        return replaced(data, await this.#issue(renewal.names));
      case 'prepare':
        return prepared(data ?? {}, await this.#issue(names));
      case 'promote':
        return promoted(data ?? {});
      case 'keep':
        return null;
    }
  }

  async #issue(names: readonly string[]) {
    const now = this.#options.clock.now();
    const issued = await issue(names, { from: now - this.#times.backdateMs, to: now + this.#times.lifeMs });
    this.#options.hide(issued.key);
    return issued;
  }

  #tell(trouble: string | null): void {
    if (trouble !== null && trouble !== this.#told) this.#options.log.warn('trouble with the webhook’s certificate', { error: trouble });
    this.#told = trouble;
  }
}
