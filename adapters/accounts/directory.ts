import { isDeepStrictEqual } from 'node:util';
import type { JobTemplates, ProviderDirectory, ProviderNeed, SecretRef } from '../../actors/ports/directory.ts';
import type { JobDriver } from '../../actors/ports/job-driver.ts';
import type { Log } from '../../actors/ports/observers.ts';
import type { Secrets, SecretUse } from '../../actors/ports/secrets.ts';
import { Clients, type ClientUse } from './clients.ts';
import { type Credentials, credentialsOf } from './credentials.ts';
import { type Abilities, type Known, knownBy } from './known.ts';
import type { Client } from './lent.ts';
import { Needs } from './needs.ts';

/** A cloud at which there may be several accounts. */
export interface Cloud {
  readonly abilities: Abilities;
  /** Key of the token in the operator's own Secret, the same as the environment variable. */
  readonly variable: string;
  /** Keys of the token in other Secrets, the preferred one first. */
  readonly secretKeys: readonly string[];
  /** A client with the budget of its token. */
  readonly connect: (token: string) => Client;
}

export interface AccountsOptions {
  /** Providers from the environment, by cloud. A provider whose token is in the operator's own Secret is a need like any other, under the name of its cloud. */
  readonly standing: ProviderDirectory['all'];
  readonly clouds: Readonly<Record<string, Cloud>>;
  readonly secrets: Secrets;
  /** Runs Jobs from these templates, with these Secrets in their environment; null when this operator runs none. */
  readonly jobDriver: ((templates: JobTemplates, secrets: readonly SecretRef[]) => JobDriver) | null;
  /** Called with each secret text before it is used: it must be redacted from then on. Returns a function to call once the secret is no longer used. */
  readonly hide: (secret: { readonly text: string; readonly what: string }) => () => void;
  readonly log: Log;
}

interface Watched {
  readonly ref: SecretRef;
  readonly use: SecretUse;
}

interface Entry {
  readonly need: ProviderNeed;
  readonly watched: readonly Watched[];
  readonly credentials: Credentials;
  /** The operator's own account, where the need names no Secrets. */
  readonly own: Known | undefined;
  readonly client: ClientUse | null;
  readonly jobs: JobDriver | null;
  readonly known: Known;
  /** Called once its secrets are no longer used. */
  readonly unused: readonly (() => void)[];
}

/** The providers of the environment, plus those that classes and issuers need, each with the current credentials of its Secrets. */
export class Accounts implements ProviderDirectory {
  readonly #options: AccountsOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #clients: Clients;
  readonly #listeners: ((key: string) => void)[] = [];
  readonly #needs = new Needs();
  readonly all: Record<string, Known>;

  constructor(options: AccountsOptions) {
    this.#options = options;
    this.all = { ...options.standing };
    this.#clients = new Clients((cloud, token) => this.#cloud(cloud).connect(token));
  }

  onChange(listener: (key: string) => void): void {
    this.#listeners.push(listener);
  }

  need(who: string, need: ProviderNeed | null): void {
    const isStanding = need !== null && Object.hasOwn(this.#options.standing, need.key);
    const keys = this.#needs.set(who, isStanding ? null : need);
    this.#publish(
      keys.filter((key) => {
        const wanted = this.#needs.get(key);
        return wanted ? this.#take(wanted) : this.#drop(key);
      }),
    );
  }

  /** Ends the watches, and the clients once their calls have ended. Listeners are no longer called. */
  close(): void {
    this.#listeners.length = 0;
    for (const key of [...this.#entries.keys()]) this.#drop(key);
  }

  /** True when the entry of the need's key changed. */
  #take(need: ProviderNeed): boolean {
    const before = this.#entries.get(need.key);
    if (before && isDeepStrictEqual(before.need, need)) return false;
    const watched = need.secrets.map((ref) => ({ ref, use: this.#options.secrets.use(ref, () => this.#refresh(need.key)) }));
    for (const { use } of before?.watched ?? []) use.release();
    return this.#resolve(need, watched);
  }

  #refresh(key: string): void {
    const entry = this.#entries.get(key);
    if (entry && this.#resolve(entry.need, entry.watched)) this.#publish([key]);
  }

  /** Updates the entry of the key from its Secrets. True when it changed. */
  #resolve(need: ProviderNeed, watched: readonly Watched[]): boolean {
    const before = this.#entries.get(need.key) ?? null;
    const secrets = watched.map(({ ref, use }) => ({ ref, reading: use.reading() }));
    const credentials = credentialsOf(need, secrets, this.#keysFor(need));
    const own = this.#ownFor(need);
    const isSame = before?.own === own && isDeepStrictEqual([before?.need, before?.credentials], [need, credentials]);
    // The operator's own token is used until it is replaced, as one from the environment would be: a key that is temporarily missing must not stop a failover.
    const isKept = need.key === need.cloud && before?.client && credentials.kind === 'missing';
    if (isKept)
      this.#options.log.warn('a token of the operator is gone, and the last one is used', { provider: need.key, error: credentials.why });
    if (before && (credentials.kind === 'unread' || isSame || isKept)) {
      // The current entry is kept until its replacement is known.
      this.#entries.set(need.key, { ...before, need, watched });
      return false;
    }
    const after = this.#entryOf(need, watched, credentials, own);
    before?.client?.leave();
    for (const tell of before?.unused ?? []) tell();
    this.#entries.set(need.key, after);
    const { unread, facts } = after.known;
    if (!unread) this.#options.log.info('the means of a provider have changed', { provider: need.key, message: facts.missing });
    return true;
  }

  #keysFor({ key, cloud }: ProviderNeed): readonly string[] {
    const known = this.#options.clouds[cloud ?? ''];
    if (!known) return [];
    return key === cloud ? [known.variable] : known.secretKeys;
  }

  #ownFor({ key, cloud, secrets }: ProviderNeed): Known | undefined {
    return cloud !== null && key !== cloud && secrets.length === 0 ? this.all[cloud] : undefined;
  }

  #entryOf(need: ProviderNeed, watched: readonly Watched[], credentials: Credentials, own: Known | undefined): Entry {
    const { clouds, jobDriver } = this.#options;
    const unused = this.#hide(need, credentials);
    const token = credentials.kind === 'there' ? (credentials.token?.text ?? null) : null;
    const client = need.cloud !== null && clouds[need.cloud] && token !== null ? this.#clients.join(need.cloud, token) : null;
    const jobs = need.templates && credentials.kind === 'there' ? (jobDriver?.(need.templates, need.secrets) ?? null) : null;
    const known = knownBy(need, {
      credentials,
      client: client?.provider ?? own?.provider ?? null,
      jobs,
      abilities: clouds[need.cloud ?? '']?.abilities ?? null,
      ownLacks: own?.facts.missing ?? null,
      isOwnUnread: own?.unread === true,
    });
    return { need, watched, credentials, own, client, jobs, known, unused };
  }

  #hide({ templates }: ProviderNeed, credentials: Credentials): readonly (() => void)[] {
    if (credentials.kind !== 'there') return [];
    // A container may repeat any of them in its termination message.
    const told = templates ? credentials.values.map(({ text, from }) => ({ text, what: from })) : [];
    const token = credentials.token && { text: credentials.token.text, what: `token in ${credentials.token.from}` };
    return [...(token ? [token] : []), ...told].map((secret) => this.#options.hide(secret));
  }

  #cloud(name: string): Cloud {
    const cloud = this.#options.clouds[name];
    if (!cloud) throw new Error(`there is no client for ${name}`);
    return cloud;
  }

  #drop(key: string): true {
    const entry = this.#entries.get(key);
    this.#entries.delete(key);
    for (const { use } of entry?.watched ?? []) use.release();
    entry?.client?.leave();
    for (const tell of entry?.unused ?? []) tell();
    return true;
  }

  #publish(keys: readonly string[]): void {
    for (const key of keys) {
      const known = this.#entries.get(key)?.known;
      if (known) this.all[key] = known;
      else delete this.all[key];
    }
    const clouds = keys.filter((key) => Object.hasOwn(this.#options.clouds, key));
    const all = clouds.length > 0 ? [...this.#entries.values()] : [];
    const followers = all.filter(
      ({ need: { key, cloud, secrets } }) => secrets.length === 0 && key !== cloud && clouds.includes(cloud ?? ''),
    );
    const changed = followers.filter(({ need, watched }) => this.#resolve(need, watched)).map(({ need }) => need.key);
    if (changed.length > 0) this.#publish(changed);
    for (const key of keys) for (const tell of this.#listeners) tell(key);
  }
}
