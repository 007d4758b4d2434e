import { accountOfList, familyOfList } from '../../machines/model/provider-key.ts';
import type { ActorId } from '../../machines/model/types.ts';
import type { ProviderDirectory } from '../ports/directory.ts';
import { inSlices, REST_MS } from '../ports/in-slices.ts';
import type { Log } from '../ports/observers.ts';
import type { Provider } from '../ports/provider.ts';
import type { Clock } from '../ports/records.ts';
import type { Settings } from '../ports/settings.ts';
import type { Alarms } from '../runtime/timers.ts';
import type { Versions } from './drift.ts';
import { type ProviderList, providerList } from './provider-list.ts';

export interface EditLooksPorts {
  readonly clock: Clock;
  readonly log: Log;
  readonly alarms: Alarms;
  readonly settings: Pick<Settings, 'verifyEveryMs' | 'editLooksAtLeastMs'>;
  readonly providers: Pick<ProviderDirectory, 'all'>;
  /** The list as last read; null when it was not, or is no longer needed. */
  readonly readLast: (name: string) => ProviderList | null;
  readonly versionsOf: (name: string) => Versions;
  readonly usersOf: (name: string) => readonly ActorId[];
  /** Sends the addresses of a pool what the list says of them, where it differs from their records. */
  readonly tell: (pool: ActorId, name: string, list: ProviderList, versions: Versions) => void;
}

/** Reads of a short list per verification interval, the verification included. */
const LOOKS_PER_VERIFICATION = 5;
const PAGE = 200;

/** Checks between two verifications whether addresses were moved by hand: by one call a minute, which lists 200 addresses, and less often where there are more. The next
 *  verification finds what a check misses. */
export class EditLooks {
  readonly #ports: EditLooksPorts;
  readonly #followed = new Set<string>();

  constructor(ports: EditLooksPorts) {
    this.#ports = ports;
  }

  /** Checks the list from now on, as long as it is known. */
  follow(name: string): void {
    if (this.#followed.has(name)) return;
    this.#followed.add(name);
    void this.#look(name);
  }

  /** Time since the list was last read, ms. */
  #sinceRead(name: string): number {
    const { clock, readLast } = this.#ports;
    const sinceMs = clock.now() - (readLast(name)?.askedAt ?? 0);
    return sinceMs < 0 ? Number.POSITIVE_INFINITY : sinceMs;
  }

  #everyMs(name: string): number {
    const { readLast, settings } = this.#ports;
    const pages = Math.ceil((readLast(name)?.byAddress.size ?? 0) / PAGE);
    const shortest = Math.max(settings.editLooksAtLeastMs, settings.verifyEveryMs / LOOKS_PER_VERIFICATION);
    return Math.min(settings.verifyEveryMs, shortest * Math.max(1, pages));
  }

  #means(name: string): Provider | null {
    const { providers, readLast } = this.#ports;
    return readLast(name) === null ? null : (providers.all[accountOfList(name)]?.provider ?? null);
  }

  async #look(name: string): Promise<void> {
    const { alarms, settings } = this.#ports;
    const provider = this.#means(name);
    if (!provider) {
      this.#followed.delete(name);
      return;
    }
    const everyMs = this.#everyMs(name);
    const sinceMs = this.#sinceRead(name);
    const wasRead = sinceMs < everyMs / 2;
    if (!wasRead && everyMs < settings.verifyEveryMs) await this.#compare(name, provider);
    alarms.after(wasRead ? everyMs - sinceMs : everyMs, () => void this.#look(name));
  }

  async #compare(name: string, provider: Provider): Promise<void> {
    const { clock, log, versionsOf, usersOf, tell } = this.#ports;
    const isOver = (): boolean => this.#means(name) !== provider;
    const [askedAt, versions] = [clock.now(), versionsOf(name)];
    try {
      const list = providerList({ addresses: await provider.listRoutedIPs({ purpose: 'verify', family: familyOfList(name) }) }, askedAt);
      if (!isOver()) await inSlices(usersOf(name), clock, isOver, (pool) => tell(pool, name, list, versions), REST_MS);
    } catch (error) {
      log.debug('a look for edits at a provider failed; the next one makes up for it', {
        provider: accountOfList(name),
        error: String(error),
      });
    }
  }
}
