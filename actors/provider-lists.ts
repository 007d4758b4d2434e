import { type FirewallContext, isUnused } from '../machines/firewall.ts';
import { firewallOf, isFirewall } from '../machines/firewall-id.ts';
import { isWatched } from '../machines/firewall-lost.ts';
import type { Verification } from '../machines/jobs.ts';
import { addressActor } from '../machines/pool.ts';
import type { ActorId, Address, ObservedAddress } from '../machines/types.ts';
import { type VerificationContext, verificationActor, verifiedBy } from '../machines/verification.ts';
import type { Alarms } from './alarms.ts';
import type { Cells } from './cells.ts';
import { isHalted, isPool, type ObservedPools } from './pools.ts';
import type { PoolObject } from './ports/cluster.ts';
import type { ProviderDirectory } from './ports/directory.ts';
import { inSlices, REST_MS } from './ports/in-slices.ts';
import type { Log } from './ports/observers.ts';
import type { Provider } from './ports/provider.ts';
import type { ActorRecord, Clock } from './ports.ts';
import { claimantsOf } from './project-routed-ips.ts';
import { ownAddresses, type ProviderList, partOf, providerList } from './provider-list.ts';
import { providerOf, usersOf } from './provider-of.ts';
import type { Quota } from './quota.ts';
import type { Settings } from './settings.ts';
import { firewallBegin } from './sharing.ts';
import { firewallNews, news, placesIn, readUntilKnown, type Versions, versionsOf } from './truth.ts';
import { poolContextIn } from './view.ts';

export interface ProviderListsPorts {
  readonly cells: Cells;
  readonly pools: ObservedPools;
  readonly providers: ProviderDirectory;
  readonly clock: Clock;
  readonly log: Log;
  readonly alarms: Alarms;
  readonly settings: Settings;
  readonly quota: Pick<Quota, 'listed' | 'unlisted'>;
  /** What accounts hold, or whether they can be read, is another thing now. */
  readonly listsChanged: () => void;
  /** Tells these what they have to know now. */
  readonly observeAgain: (ids: readonly ActorId[]) => void;
  /** Tells the pool at once what waits to be told. */
  readonly settle: (pool: ActorId) => void;
  /** The pool was told everything; before that it takes no list. */
  readonly isStarted: (pool: ActorId) => boolean;
  /** It waits for its provider to be read. */
  readonly isDue: (pool: ActorId) => boolean;
  /** The provider of the pool has been read: it may be told everything. */
  readonly start: (id: ActorId, pool: PoolObject, truth: ProviderList) => void;
  /** The list for which the pool waits could not be had. */
  readonly unreadable: (pool: ActorId) => void;
}

/** When a list was asked for, ms since the epoch, and the record versions that stood then. */
interface Asked {
  readonly at: number;
  readonly versions: Versions;
}

/** Reads complete lists of addresses from providers and hands them on: at the start of a term, a call deadline later, and with each verification. */
export class ProviderLists {
  readonly #ports: ProviderListsPorts;
  /** Those that are being read, each with the means for it. */
  readonly #reading = new Map<string, Provider>();
  /** What each showed last. */
  readonly #lists = new Map<string, ProviderList>();
  /** Why those could not be read yet, of which a try has failed. */
  readonly #refusals = new Map<string, string>();
  /** By the account whose list they wait for those that work with another one by now. */
  readonly #moved = new Map<string, Set<ActorId>>();
  /** What stood when a verification was issued, by its command. */
  readonly #asked = new Map<string, Asked>();

  constructor(ports: ProviderListsPorts) {
    this.#ports = ports;
  }

  /** Reads all addresses of a provider, then starts its pools; looks once more when a call of an earlier leader can have no more effect. What was being
   *  read with other means is given up. */
  async read(name: string, provider: Provider): Promise<void> {
    if (this.#reading.get(name) === provider) return;
    this.#reading.set(name, provider);
    const { cells, clock, log, alarms, settings, start, unreadable, isDue, observeAgain } = this.#ports;
    const startOne = (id: ActorId, list: ProviderList): void => {
      const pool = this.#dueFor(name, id);
      if (pool) start(id, pool, list);
    };
    if (provider.jobs?.addresses) {
      // Nobody can list what Jobs do: each address is found by itself.
      this.#reading.delete(name);
      const nothing = providerList([], clock.now());
      this.#keep(name, nothing);
      for (const id of this.#dueOf(name)) startOne(id, nothing);
      // Their firewall may be one of the API all the same.
      if (provider.capabilities.firewalls && !provider.jobs.firewalls) this.#verifyRegularly(name);
      return;
    }
    const isClosed = (): boolean => cells.stopped || this.#reading.get(name) !== provider;
    this.#refusals.delete(name);
    const askedAt = clock.now();
    const failed = (why: string): void => {
      if (isClosed()) return;
      const isFirst = !this.#refusals.has(name);
      this.#refusals.set(name, why);
      for (const id of this.#dueOf(name)) unreadable(id);
      if (this.#lists.has(name)) return;
      this.#tellListed(name, []);
      if (isFirst) void inSlices(this.#waitingOn(name), clock, isClosed, (id) => isDue(id) && observeAgain([id]));
    };
    const truth = await readUntilKnown(provider, { key: name, clock, log, isClosed, failed });
    if (truth === null || isClosed()) return;
    const list = providerList(truth, askedAt);
    this.#keep(name, list);
    cells.tell(verificationActor(name), { type: 'LISTED' });
    this.#ports.quota.listed(name, list);
    // Between two of them any of them may change, go, or come.
    for (let due = this.#dueOf(name); due.length > 0; due = this.#dueOf(name)) {
      const isDone = await inSlices(due, clock, isClosed, (id) => startOne(id, list));
      if (!isDone) return;
    }
    this.#reading.delete(name);
    this.#verifyRegularly(name);
    const versions = this.#versionsOf(name);
    alarms.after(settings.callDeadlineMs, () => void this.#lookAgain(name, versions));
  }

  /** Has the pool started once that was read in which its records have their addresses. False when it has nothing to wait for: what it has begun elsewhere goes on. */
  startWhenRead(id: ActorId, pool: PoolObject): boolean {
    const name = this.#beginsBy(id, pool);
    const provider = this.#ports.providers.all[name]?.provider ?? null;
    if (provider && name !== this.#ports.pools.providerOf(pool)) this.#moved.set(name, (this.#moved.get(name) ?? new Set()).add(id));
    if (provider) void this.read(name, provider);
    else this.#ports.unreadable(id);
    return provider !== null;
  }

  /** Those that wait for the list of the account, and work with another one by now. */
  waitingFor(name: string): Iterable<ActorId> {
    return this.#moved.get(name) ?? [];
  }

  /** Its account is being read, and a try has failed: it may be long before it is started. */
  isHeldUp(id: ActorId, pool: PoolObject): boolean {
    const name = this.#beginsBy(id, pool);
    return this.#reading.has(name) && this.#refusals.has(name) && !this.#lists.has(name);
  }

  /** Why nothing is decided yet about what is at the provider; null when it was read, or cannot be for now. */
  unread(id: ActorId, pool: PoolObject): string | null {
    const name = this.#beginsBy(id, pool);
    if (this.#ports.providers.all[name]?.unread) return `the credentials of ${name} have not been read yet`;
    if (!this.#reading.has(name)) return null;
    return this.refusal(name) ?? `the addresses of ${name} are being read`;
  }

  /** Why the provider of that key could not be read yet; null when it was, or no try has failed. */
  refusal(name: string): string | null {
    const why = this.#reading.has(name) && !this.#lists.has(name) ? this.#refusals.get(name) : undefined;
    return why === undefined ? null : `the addresses of ${name} could not be read yet: ${why}`;
  }

  /** What the account showed last, why it cannot be read now, and whether it is being read. */
  stateOf(name: string): { readonly list: ProviderList | null; readonly problem: string | null; readonly isReading: boolean } {
    const id = verificationActor(name);
    const verified = this.#ports.cells.recordsOf(id)?.get(id)?.snapshot.context as VerificationContext | undefined;
    const isReading = this.#reading.has(name);
    const refusal = isReading ? this.#refusals.get(name) : undefined;
    return { list: this.#lists.get(name) ?? null, problem: refusal ?? verified?.failure?.message ?? null, isReading };
  }

  /** The keys of all that were read, or are being read. */
  names(): Iterable<string> {
    return new Set([...this.#lists.keys(), ...this.#reading.keys()]);
  }

  /** It was read, or is being read. */
  has(name: string): boolean {
    return this.#lists.has(name) || this.#reading.has(name);
  }

  /** There are no means to read the provider for now. */
  giveUp(name: string): void {
    this.#reading.delete(name);
    this.#lists.delete(name);
    this.#tellListed(name, []);
    this.#ports.quota.unlisted(name);
    if (!Object.hasOwn(this.#ports.providers.all, name)) this.#ports.cells.tell(verificationActor(name), { type: 'DELETED' });
  }

  /** What is stored was taken over. */
  open(): void {
    this.endUnknown();
  }

  /** A cell has ended. A verification that was ended and is needed again by now begins anew. */
  gone(id: ActorId): void {
    for (const ids of this.#moved.values()) ids.delete(id);
    const name = verifiedBy(id);
    if (name !== null && this.#ports.providers.all[name]?.provider) this.#verifyRegularly(name);
  }

  /** A verification is issued: what changes from now on is newer than its list. */
  asked(actor: ActorId, commandId: string): void {
    const name = verifiedBy(actor);
    if (name !== null) this.#asked.set(commandId, { at: this.#ports.clock.now(), versions: this.#versionsOf(name) });
  }

  /** A job has ended. If it was a verification, what it listed is handed on; null when it failed or was not waited for. */
  answered(actor: ActorId, commandId: string, output: unknown): void {
    const asked = this.#asked.get(commandId);
    this.#asked.delete(commandId);
    const name = verifiedBy(actor);
    if (asked && output !== null && name !== null) void this.#handOn(name, (output as Verification).addresses, asked);
  }

  /** Tells the addresses of a cell what a complete list says of them, where it differs from what they believe. */
  tellAddresses(cell: ActorId, listed: ProviderList, versions: Versions | null): void {
    const { cells, pools } = this.#ports;
    for (const { to, observed } of news(cells.recordsOf(cell) ?? new Map(), listed, versions, (each) => pools.placed(each))) {
      cells.tell(to, { type: 'ADDRESS_OBSERVED', observed });
    }
  }

  /** Tells addresses that were never their owners' that a machine on which they are is a node by now, or not any more. */
  tellPlaces(): void {
    const { cells, pools } = this.#ports;
    for (const cell of cells.all.values())
      for (const { to, observed } of placesIn(cell.records, (each) => pools.placed(each)))
        cells.tell(to, { type: 'ADDRESS_OBSERVED', observed });
  }

  /** Tells a pool what was listed last, as far as it concerns it: its own addresses, and those of others on the nodes that it sees. A pool that knew all addresses of
   *  a large account would have to store them all. */
  tellList(id: ActorId, pool: PoolObject): void {
    const { cells, pools } = this.#ports;
    const list = this.#lists.get(this.providerOf(pool));
    if (!list) return;
    const records = cells.recordsOf(id);
    const part = partOf(list, ownAddresses(pool, records?.get(id)), pools.fact(id)?.nodes ?? []);
    // Those that run are told by themselves where they are: a Node that goes is to be no news of a list.
    const addresses = part.map((each) => (records?.has(addressActor(id, each.address)) ? each : pools.placed(each)));
    cells.tellFact(id, { type: 'PROVIDER_OBSERVED', addresses });
  }

  /** The key of the provider that it works with; empty for none. */
  providerOf(pool: PoolObject): string {
    const { pools, cells } = this.#ports;
    return providerOf(pool, pools, (cell) => cells.recordsOf(cell));
  }

  /** What its records have is where it worked before, whatever its object says by now, as long as that can be read. */
  #beginsBy(id: ActorId, pool: PoolObject): string {
    const context = poolContextIn(this.#ports.cells.recordsOf(id), id);
    const isAt = context && Object.keys(context.members).length > 0 && this.#isReadable(context.provider);
    return isAt ? context.provider : this.providerOf(pool);
  }

  /** It was read, or no try has failed yet. */
  #isReadable(name: string): boolean {
    return Boolean(this.#ports.providers.all[name]?.provider) && (this.#lists.has(name) || !this.#refusals.has(name));
  }

  #keep(name: string, list: ProviderList): void {
    this.#lists.set(name, list);
    this.#tellListed(name, this.#isByJobs(name) ? null : list.byAddress.keys());
  }

  /** Nobody can list what Jobs do. */
  #isByJobs(name: string): boolean {
    return this.#ports.providers.all[name]?.provider?.jobs?.addresses ?? false;
  }

  /** What an account lists may decide who has which of it; null when nobody can list it. */
  #tellListed(name: string, addresses: Iterable<Address> | null): void {
    this.#ports.observeAgain(this.#ports.pools.listed(name, addresses));
    this.#ports.listsChanged();
  }

  #usersOf(name: string): readonly (readonly [ActorId, PoolObject])[] {
    const { pools, cells } = this.#ports;
    return usersOf(name, pools, (cell) => cells.recordsOf(cell)).filter(([id]) => isPool(id));
  }

  #dueOf(name: string): readonly ActorId[] {
    return this.#waitingOn(name).filter((id) => this.#dueFor(name, id));
  }

  /** Those that work with the account, and those that have moved away from it. */
  #waitingOn(name: string): readonly ActorId[] {
    return [...new Set([...this.#usersOf(name).map(([id]) => id), ...this.waitingFor(name)])];
  }

  /** The object of a pool that waits for this list; undefined where it waits for none, or for another one. */
  #dueFor(name: string, id: ActorId): PoolObject | undefined {
    const pool = this.#ports.pools.all.get(id);
    return pool && this.#ports.isDue(id) && this.#beginsBy(id, pool) === name ? pool : undefined;
  }

  #versionsOf(name: string): Versions {
    return versionsOf(this.#usersOf(name).map(([id]) => this.#ports.cells.recordsOf(id)));
  }

  async #lookAgain(name: string, versions: Versions): Promise<void> {
    const provider = this.#ports.providers.all[name]?.provider ?? null;
    if (!provider) return;
    const at = this.#ports.clock.now();
    try {
      await this.#handOn(name, await provider.listRoutedIPs({ purpose: 'verify' }), { at, versions });
    } catch (error) {
      this.#ports.log.info('the second look at a provider failed; the next verification makes up for it', {
        provider: name,
        error: String(error),
      });
    }
  }

  /** Ends what nobody needs any more: verifications of accounts that nobody asks for, whose jobs would wait for ever, and firewalls in which nothing is claimed
   *  or ours. To be called regularly: a firewall may be given up at any time. */
  endUnknown(): void {
    const { cells, providers } = this.#ports;
    for (const id of cells.all.keys()) {
      const name = verifiedBy(id);
      if (name === null ? this.#isUnusedFirewall(id) : !Object.hasOwn(providers.all, name)) cells.tell(id, { type: 'DELETED' });
    }
  }

  /** Nothing is claimed in it or ours, and no status says so: it would begin with what that says. */
  #isUnusedFirewall(id: ActorId): boolean {
    const { cells, pools } = this.#ports;
    const context = isFirewall(id) ? cells.recordsOf(id)?.get(id)?.snapshot.context : undefined;
    if (!context || !isUnused(context as unknown as FirewallContext)) return false;
    const { claims = {}, owned } = firewallBegin(id, pools.all, (cell) => cells.recordsOf(cell));
    return Object.keys(claims).length + (owned?.ports.length ?? 0) + (owned?.nodes.length ?? 0) === 0;
  }

  #verifyRegularly(name: string): void {
    const id = verificationActor(name);
    if (!this.#ports.cells.all.has(id)) this.#ports.cells.begin('verification', id, { id, provider: name });
  }

  /** Tells every address of a provider what a complete list said of it, unless it changed since the list was asked for, or a newer one is there. One of Jobs is in no list. */
  async #handOn(name: string, addresses: readonly ObservedAddress[], { at, versions }: Asked): Promise<void> {
    const { cells, pools, clock, settle, isStarted, quota } = this.#ports;
    const list = providerList(addresses, at);
    this.#keep(name, list);
    const byJobs = this.#isByJobs(name);
    if (!byJobs) quota.listed(name, list);
    const isOver = (): boolean => cells.stopped || this.#lists.get(name) !== list;
    const tell = (id: ActorId): void => {
      if (!cells.all.has(id)) return;
      settle(id);
      const pool = pools.all.get(id);
      if (!pool || !isStarted(id) || this.providerOf(pool) !== name) return;
      this.tellAddresses(id, list, versions);
      this.tellList(id, pool);
    };
    const users = byJobs ? [] : this.#usersOf(name).map(([id]) => id);
    if (await inSlices(users, clock, isOver, tell, REST_MS)) await this.#lookAtFirewalls(name);
  }

  /** Tells the firewalls of a provider what is missing in them of what is needed: by one list call, when anything is needed in any. Those that Jobs drive
   *  nobody can list. */
  async #lookAtFirewalls(name: string): Promise<void> {
    const { cells, providers, log } = this.#ports;
    const provider = providers.all[name]?.provider ?? null;
    const firewalls = this.#firewallsOf(name);
    if (!provider?.capabilities.firewalls || provider.jobs?.firewalls || firewalls.length === 0) return;
    const versions = versionsOf(firewalls.map(([id]) => cells.recordsOf(id)));
    try {
      const names = firewalls.map(([id]) => firewallOf(id).name).sort();
      const listed = await provider.listRoutedIPFirewalls(names, { purpose: 'verify' });
      for (const { to, found } of firewallNews(this.#firewallsOf(name), listed, versions))
        cells.tell(to, { type: 'FIREWALL_OBSERVED', found });
    } catch (error) {
      log.info('the firewalls of a provider could not be read; the next verification makes up for it', {
        provider: name,
        error: String(error),
      });
    }
  }

  /** Those in which something is open, but for those of which all who need anything are paused: nothing is put back for them. */
  #firewallsOf(name: string): readonly (readonly [ActorId, ActorRecord])[] {
    const { cells } = this.#ports;
    return [...cells.all.keys()]
      .filter((id) => isFirewall(id) && firewallOf(id).provider === name)
      .flatMap((id) => {
        const record = cells.recordsOf(id)?.get(id);
        if (!record || !isWatched(record.snapshot.context as unknown as FirewallContext)) return [];
        return claimantsOf(record).every((cell) => this.#isHalted(cell)) ? [] : [[id, record] as const];
      });
  }

  #isHalted(cell: ActorId): boolean {
    const object = this.#ports.pools.all.get(cell);
    return object !== undefined && isHalted(object);
  }
}
