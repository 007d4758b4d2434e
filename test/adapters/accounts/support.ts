import type { ProviderNeed, SecretRef } from '../../../actors/ports/directory.ts';
import type { JobDriver } from '../../../actors/ports/job-driver.ts';
import type { Provider } from '../../../actors/ports/provider.ts';
import type { SecretReading, Secrets } from '../../../actors/ports/secrets.ts';
import { Accounts, type AccountsOptions } from '../../../adapters/accounts/directory.ts';
import { virtualClock } from '../../../adapters/memory/clock.ts';
import { memoryProvider } from '../../../adapters/memory/provider.ts';
import { type RecordedLog, recordedLog } from '../kubernetes/support.ts';

const UNREAD: SecretReading = { kind: 'unread' };

/** Secrets that a test sets. */
export class ScriptedSecrets implements Secrets {
  readonly #readings = new Map<string, SecretReading>();
  readonly #users = new Map<string, Set<() => void>>();

  use({ namespace, name }: Pick<SecretRef, 'namespace' | 'name'>, changed: () => void) {
    const key = `${namespace}/${name}`;
    const users = this.#users.get(key) ?? new Set();
    this.#users.set(key, users);
    const user = () => changed();
    users.add(user);
    return { reading: () => this.#readings.get(key) ?? UNREAD, release: () => void users.delete(user) };
  }

  set(key: string, values: Readonly<Record<string, string>>): void {
    this.#tell(key, { kind: 'present', values });
  }

  remove(key: string): void {
    this.#tell(key, { kind: 'missing', why: `Secret ${key} is not there` });
  }

  usersOf(key: string): number {
    return this.#users.get(key)?.size ?? 0;
  }

  #tell(key: string, reading: SecretReading): void {
    this.#readings.set(key, reading);
    for (const changed of [...(this.#users.get(key) ?? [])]) changed();
  }
}

/** A client that was opened, and whether it was closed since. */
interface OpenedClient {
  readonly token: string;
  readonly provider: Provider;
  closed: boolean;
}

export const FACTS = { addresses: true, dns: true, ipv6: true, addressesPerNode: 1, providerIDPrefix: 'digitalocean://' };

/** Accounts over scripted Secrets and a cloud in memory, with what they opened, hid and told. */
export const scriptedAccounts = (options: Partial<AccountsOptions> = {}) => {
  const clock = virtualClock();
  const secrets = new ScriptedSecrets();
  const opened: OpenedClient[] = [];
  const hidden: string[] = [];
  const unused: string[] = [];
  const told: string[] = [];
  const log: RecordedLog = recordedLog();
  const cloud = memoryProvider(clock, { name: 'digitalocean', providerIDPrefix: 'digitalocean://', callMs: 100 });
  const environment = cloud.process();
  const connect = (token: string) => {
    if (!hidden.includes(token)) throw new Error('a token was used before it was hidden');
    const client: OpenedClient = { token, provider: cloud.process(), closed: false };
    const close = (): void => {
      client.closed = true;
    };
    opened.push(client);
    return { ...client.provider, close };
  };
  const accounts = new Accounts({
    standing: { digitalocean: { facts: { ...FACTS, missing: null }, provider: environment } },
    clouds: {
      digitalocean: {
        abilities: FACTS,
        variable: 'DIGITALOCEAN_ACCESS_TOKEN',
        secretKeys: ['DIGITALOCEAN_ACCESS_TOKEN', 'token'],
        connect,
      },
    },
    secrets,
    jobDriver: null,
    hide: (secret) => {
      hidden.push(secret.text);
      return () => void unused.push(secret.text);
    },
    log,
    ...options,
  });
  accounts.onChange((key) => void told.push(key));
  let asking = new Set<string>();
  /** Each of them is asked for by an issuer of its own, and nothing else is by any. */
  const ask = (...needs: readonly ProviderNeed[]): void => {
    const wanted = new Map(
      needs.map((need, each) => [`${need.key} ${needs.slice(0, each).filter(({ key }) => key === need.key).length}`, need]),
    );
    for (const who of asking) if (!wanted.has(who)) accounts.need(who, null);
    for (const [who, need] of wanted) accounts.need(who, need);
    asking = new Set(wanted.keys());
  };
  return { accounts, ask, secrets, opened, hidden, unused, told, log, clock, cloud, environment, of: (key: string) => accounts.all[key] };
};

export const ref = (key: string, optional = false): SecretRef => {
  const [namespace = '', name = ''] = key.split('/');
  return { namespace, name, optional };
};

/** An account of DigitalOcean with the token of these Secrets. */
export const account = (...secrets: readonly string[]): ProviderNeed => ({
  key: `digitalocean@${secrets[0]?.replace('/', '.')}`,
  cloud: 'digitalocean',
  secrets: secrets.map((key) => ref(key)),
  templates: null,
});

export const TEMPLATES: NonNullable<ProviderNeed['templates']> = {
  owner: { kind: 'ClusterRoutedIPClass', namespace: '', name: 'metal', uid: 'u' },
  className: 'example.com/metal',
  namespace: 'jobs',
  updateRoutedIP: {},
  updateFirewall: null,
};

/** A driver that runs nothing. */
export const driver = (): JobDriver => ({
  addresses: true,
  firewalls: false,
  run: () => Promise.reject(new Error('not in this test')),
  look: () => Promise.resolve(null),
  clear: () => Promise.resolve(),
  conclude: () => Promise.resolve(),
});
