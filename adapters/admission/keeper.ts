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
  /** By which the API server calls the webhook. */
  readonly names: readonly string[];
  readonly clock: Clock;
  readonly log: Log;
  /** Serves with this pair from now on. */
  readonly use: (pair: Pair) => void;
  /** Told every private key before it is used, so that no log shows it. */
  readonly hide: (secret: string) => void;
  readonly times?: CertificateTimes;
}

export interface Keeper {
  /** Why the API server cannot call the webhook, for people; null when it can. Trouble with the next certificate does not hinder the present one. */
  hindrance(): string | null;
  close(): void;
}

const UNREGISTERED = 'the API server is not told of the webhook: its ValidatingWebhookConfiguration is missing';

/** After a write it is looked again at once; others may write as well. */
const ROUNDS = 5;

/** Keeps the certificates of the webhook: made by the first replica, served by all, renewed before they end, and trusted by the API server. What fails is
 *  tried again at the next look; what is served until then stays. */
export const keepCertificates = (options: KeeperOptions): Keeper => {
  const keeper = new CertificateKeeper(options);
  keeper.start();
  return keeper;
};

class CertificateKeeper implements Keeper {
  readonly #options: KeeperOptions;
  readonly #times: CertificateTimes;
  #used: Pair | null = null;
  /** What the API server was told to trust when that was last looked at, and since when; ms of the monotonic clock. */
  #trusted: { readonly bundle: string; readonly since: number } | null = null;
  #hindrance: string | null = 'there is no certificate yet';
  /** What was told last, so that it is told once. */
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

  /** Whether something was written, or was found to be written by others, so that it has to be looked at again. */
  async #step(): Promise<boolean> {
    const { store, registration, names, clock } = this.#options;
    // Read before the certificates, so that none of before takes the place of those that another replica tells meanwhile. Whatever fails is told below.
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

  /** Serves with what is stored once the API server was told to trust it. False when it was told something else meanwhile: what is stored may be newer, too. */
  async #take(data: CertificateData, registered: Promise<Registered | null>): Promise<boolean> {
    const pair = servedPair(data);
    if (pair === null) return true;
    // The first one before the API server is told of it: its question may come sooner than the answer to that.
    if (this.#used === null) this.#use(pair);
    let isNewest = true;
    try {
      isNewest = await this.#trust(bundleIn(data), await registered);
    } finally {
      // Also when the API server cannot be told: what it trusts already may well be this.
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

  /** Since the look before this one at least: API servers hear of a change a moment after it was written. */
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
