import type { Verification } from '../../machines/jobs.ts';
import { addressActor, isPool, verificationActor, verifiedBy } from '../../machines/model/actor-id.ts';
import { familyOf } from '../../machines/model/address.ts';
import { accountOfList, addressesOf, familyOfList, listKey } from '../../machines/model/provider-key.ts';
import type { ActorId, Address } from '../../machines/model/types.ts';
import type { VerificationContext } from '../../machines/verification/verification.ts';
import type { PoolObject } from '../ports/cluster.ts';
import type { ProviderDirectory } from '../ports/directory.ts';
import { inSlices, REST_MS } from '../ports/in-slices.ts';
import type { Log } from '../ports/observers.ts';
import type { Provider } from '../ports/provider.ts';
import type { Clock } from '../ports/records.ts';
import type { Settings } from '../ports/settings.ts';
import type { Cells } from '../runtime/cell-registry.ts';
import type { Alarms } from '../runtime/timers.ts';
import { familyIn } from './claims.ts';
import { type Asked, isAssigned, news, placesIn, readUntilKnown, type Versions, versionsOf } from './drift.ts';
import { EditLooks } from './edit-looks.ts';
import { FirewallLooks } from './firewall-looks.ts';
import type { ObservedPools } from './pool-cache.ts';
import { type AccountState, ownAddresses, type ProviderList, partOf, providerList } from './provider-list.ts';
import { providerOf, usersOf } from './provider-ref.ts';
import type { Quota } from './quota.ts';
import { poolContextIn } from './record-view.ts';

export interface ProviderListsPorts {
  readonly cells: Cells;
  readonly pools: ObservedPools;
  readonly providers: ProviderDirectory;
  readonly clock: Clock;
  readonly log: Log;
  readonly alarms: Alarms;
  readonly settings: Settings;
  readonly quota: Pick<Quota, 'listed' | 'unlisted'>;
  /** What accounts hold, or whether they can be read, has changed. */
  readonly listsChanged: () => void;
  /** Sends these objects their current facts. */
  readonly observeAgain: (ids: readonly ActorId[]) => void;
  /** Delivers the pool's pending changes at once. */
  readonly settle: (pool: ActorId) => void;
  /** The pool has received everything observed so far; before that it takes no list. */
  readonly isStarted: (pool: ActorId) => boolean;
  /** It waits for its provider to be read. */
  readonly isDue: (pool: ActorId) => boolean;
  /** The provider of the pool has been read: the pool may receive everything. */
  readonly start: (id: ActorId, pool: PoolObject, truth: ProviderList) => void;
  /** The list that the pool waits for could not be read. */
  readonly unreadable: (pool: ActorId) => void;
}

const FAMILIES = [4, 6] as const;
/** Reads complete lists of addresses from providers and distributes them: at the start of a term, a call deadline later, and with each verification. Each account has one list
 *  per family: IPv4 under the account's key, IPv6 beside it, read only while a pool has such addresses. */
export class ProviderLists {
  readonly #ports: ProviderListsPorts;
  readonly #firewalls: FirewallLooks;
  readonly #edits: EditLooks;
  /** Lists being read, each with the provider that it is read from. */
  readonly #reading = new Map<string, Provider>();
  /** Latest contents of each list. */
  readonly #lists = new Map<string, ProviderList>();
  /** Why a list could not be read yet, once an attempt has failed. */
  readonly #refusals = new Map<string, string>();
  /** By list name, the pools that wait for it although they use another account by now. */
  readonly #moved = new Map<string, Set<ActorId>>();
  /** State when a verification was issued, by command id. */
  readonly #asked = new Map<string, Asked>();

  constructor(ports: ProviderListsPorts) {
    this.#ports = ports;
    this.#firewalls = new FirewallLooks(ports);
    this.#edits = new EditLooks({
      ...ports,
      readLast: (name) => this.#lists.get(name) ?? null,
      versionsOf: (name) => this.#versionsOf(name),
      usersOf: (name) => this.#usersOf(name).map(([id]) => id),
      tell: (id, name, list, versions) => this.#tellUser(id, name, list, versions),
    });
  }

  /** Reads the list of this name, then starts the pools that wait for it; reads it again once calls of an earlier leader can no longer take effect. A read in progress from a
   *  replaced provider is abandoned. */
  async read(name: string, provider: Provider): Promise<void> {
    if (this.#reading.get(name) === provider) return;
    this.#reading.set(name, provider);
    const { cells, clock, log, alarms, settings, start, unreadable, isDue, observeAgain } = this.#ports;
    const startOne = (id: ActorId, list: ProviderList): void => {
      const pool = this.#dueFor(name, id);
      if (pool) start(id, pool, list);
    };
    if (provider.jobs?.addresses) {
      // What Jobs drive cannot be listed: each address is looked up by itself.
      this.#reading.delete(name);
      const nothing = providerList({ addresses: [] }, clock.now());
      this.#keep(name, nothing);
      for (const id of this.#dueOf(name)) startOne(id, nothing);
      // Their firewall may still be driven through the API.
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
    const truth = await readUntilKnown(provider, { key: accountOfList(name), family: familyOfList(name), clock, log, isClosed, failed });
    if (truth === null || isClosed()) return;
    const list = providerList(truth, askedAt);
    this.#keep(name, list);
    cells.tell(verificationActor(name), { type: 'LISTED' });
    this.#noteKept(name, list);
    // Pools may change, go or appear between two slices.
    for (let due = this.#dueOf(name); due.length > 0; due = this.#dueOf(name)) {
      const isDone = await inSlices(due, clock, isClosed, (id) => startOne(id, list));
      if (!isDone) return;
    }
    this.#reading.delete(name);
    this.#verifyRegularly(name);
    const versions = this.#versionsOf(name);
    alarms.after(settings.callDeadlineMs, () => void this.#lookAgain(name, versions));
    this.#edits.follow(name);
  }

  /** Starts the pool once the list that contains its recorded addresses has been read. False when it has nothing to wait for: what it has begun elsewhere goes on. */
  startWhenRead(id: ActorId, pool: PoolObject): boolean {
    const name = this.#beginsBy(id, pool);
    const provider = this.#ports.providers.all[accountOfList(name)]?.provider ?? null;
    if (provider && name !== listKey(this.#ports.pools.providerOf(pool), familyIn(pool)))
      this.#moved.set(name, (this.#moved.get(name) ?? new Set()).add(id));
    if (provider) void this.read(name, provider);
    else this.#ports.unreadable(id);
    return provider !== null;
  }

  /** Reads the list of the pool's addresses; with `again` even if it was read before, since other credentials may mean another account. */
  readFor(pool: PoolObject, provider: Provider, again?: 'again'): void {
    const name = this.listOf(pool);
    if (again || !(this.#lists.has(name) || this.#reading.has(name))) void this.read(name, provider);
  }

  /** The pools that wait for a list of the account although they use another one by now. */
  waitingFor(key: string): Iterable<ActorId> {
    return FAMILIES.flatMap((family) => [...(this.#moved.get(listKey(key, family)) ?? [])]);
  }

  /** Its account is being read, and an attempt has failed: it may be long before the pool starts. */
  isHeldUp(id: ActorId, pool: PoolObject): boolean {
    const name = this.#beginsBy(id, pool);
    return this.#reading.has(name) && this.#refusals.has(name) && !this.#lists.has(name);
  }

  /** Why nothing is decided yet about what is at the provider; null when it was read, or cannot be read for now. */
  unread(id: ActorId, pool: PoolObject): string | null {
    const name = this.#beginsBy(id, pool);
    const account = accountOfList(name);
    if (this.#ports.providers.all[account]?.unread) return `the credentials of ${account} have not been read yet`;
    if (!this.#reading.has(name)) return null;
    return this.refusal(name) ?? `${addressesOf(name)} are being read`;
  }

  /** Why the list of that name could not be read yet; null when it was, or no attempt has failed. */
  refusal(name: string): string | null {
    const why = this.#reading.has(name) && !this.#lists.has(name) ? this.#refusals.get(name) : undefined;
    return why === undefined ? null : `${addressesOf(name)} could not be read yet: ${why}`;
  }

  /** Why the last read of a list failed; null when it succeeded. */
  problemOf(name: string): string | null {
    const id = verificationActor(name);
    const verified = this.#ports.cells.recordsOf(id)?.get(id)?.snapshot.context as VerificationContext | undefined;
    return (this.#reading.has(name) ? this.#refusals.get(name) : undefined) ?? verified?.failure?.message ?? null;
  }

  /** Latest contents of an account's lists, and why one cannot be read now. */
  stateOf(key: string): AccountState {
    const names = FAMILIES.map((family) => listKey(key, family));
    const problems = names.map((name) => this.problemOf(name));
    return {
      askedAt: this.#lists.get(key)?.askedAt ?? null,
      addresses: names.flatMap((name) => [...(this.#lists.get(name)?.byAddress.values() ?? [])]),
      problem: problems.find((problem) => problem !== null) ?? null,
      isReading: this.#reading.has(key),
    };
  }

  /** Names of all lists that were read or are being read. */
  names(): Iterable<string> {
    return new Set([...this.#lists.keys(), ...this.#reading.keys()]);
  }

  /** The account cannot be read for now. */
  giveUp(key: string): void {
    for (const name of FAMILIES.map((family) => listKey(key, family))) {
      this.#forget(name);
      if (!Object.hasOwn(this.#ports.providers.all, key)) this.#ports.cells.tell(verificationActor(name), { type: 'DELETED' });
    }
    this.#ports.quota.unlisted(key);
  }

  #forget(name: string): void {
    this.#reading.delete(name);
    this.#refusals.delete(name);
    this.#lists.delete(name);
    this.#tellListed(name, []);
  }

  /** A cell has ended. A verification that is needed again by now is restarted. */
  gone(id: ActorId): void {
    for (const ids of this.#moved.values()) ids.delete(id);
    const name = verifiedBy(id);
    if (name !== null && this.#isNeeded(name) && this.#ports.providers.all[accountOfList(name)]?.provider) this.#verifyRegularly(name);
  }

  /** A verification is issued: what changes from now on is newer than its list. */
  asked(actor: ActorId, commandId: string): void {
    const name = verifiedBy(actor);
    if (name !== null) this.#asked.set(commandId, { at: this.#ports.clock.now(), versions: this.#versionsOf(name) });
  }

  /** A job has ended. If it was a verification, its list is distributed; `output` is null when it failed or was not waited for. */
  answered(actor: ActorId, commandId: string, output: unknown): void {
    const asked = this.#asked.get(commandId);
    this.#asked.delete(commandId);
    const name = verifiedBy(actor);
    if (asked && output !== null && name !== null) void this.#handOn(name, output as Verification, asked);
  }

  /** Sends the addresses of a cell what a complete list says of them, where it differs from their records. */
  tellAddresses(cell: ActorId, listed: ProviderList, versions: Versions | null): void {
    const { cells, pools } = this.#ports;
    for (const { to, observed } of news(cells.recordsOf(cell) ?? new Map(), listed, versions, (each) => pools.placed(each))) {
      cells.tell(to, { type: 'ADDRESS_OBSERVED', observed });
    }
  }

  /** Notifies addresses that their owners never held when the machine they are on has become a node or is no longer one. */
  tellPlaces(): void {
    const { cells, pools } = this.#ports;
    for (const cell of cells.all.values())
      for (const { to, observed } of placesIn(cell.records, (each) => pools.placed(each)))
        cells.tell(to, { type: 'ADDRESS_OBSERVED', observed });
  }

  /** Sends a pool the part of the latest list that concerns it: its own addresses, and those of others on its nodes. With all addresses of a large account, it would have to
   *  store them all. */
  tellList(id: ActorId, pool: PoolObject): void {
    const { cells, pools } = this.#ports;
    const list = this.#lists.get(this.listOf(pool));
    if (!list) return;
    const records = cells.recordsOf(id);
    const part = partOf(list, ownAddresses(pool, records?.get(id)), pools.fact(id)?.nodes ?? []);
    // An address stays where it was assigned: when that Node is removed, the list shows nothing new, and the failover waits for no extra turn.
    const addresses = part.map((each) => (isAssigned(records?.get(addressActor(id, each.address)), each) ? each : pools.placed(each)));
    cells.tellFact(id, { type: 'PROVIDER_OBSERVED', addresses });
  }

  /** The key of the provider that it works with; empty for none. */
  providerOf(pool: PoolObject): string {
    const { pools, cells } = this.#ports;
    return providerOf(pool, pools, (cell) => cells.recordsOf(cell));
  }

  /** The list that contains the addresses the pool wants. */
  listOf(pool: PoolObject): string {
    return listKey(this.providerOf(pool), familyIn(pool));
  }

  /** The list that contains its recorded addresses, whatever its object says by now, as long as that list can be read. */
  #beginsBy(id: ActorId, pool: PoolObject): string {
    const context = poolContextIn(this.#ports.cells.recordsOf(id), id);
    const [first] = Object.keys(context?.members ?? {}) as Address[];
    const name = context && first ? listKey(context.provider, familyOf(first)) : null;
    return name !== null && this.#isReadable(name) ? name : this.listOf(pool);
  }

  /** It was read, or no attempt has failed yet. */
  #isReadable(name: string): boolean {
    const { provider = null } = this.#ports.providers.all[accountOfList(name)] ?? {};
    return provider !== null && (this.#lists.has(name) || !this.#refusals.has(name));
  }

  #keep(name: string, list: ProviderList): void {
    this.#lists.set(name, list);
    this.#tellListed(name, list.isPartial || this.#isByJobs(name) ? null : list.byAddress.keys());
  }

  /** What Jobs drive cannot be listed. */
  #isByJobs(name: string): boolean {
    return this.#ports.providers.all[accountOfList(name)]?.provider?.jobs?.addresses ?? false;
  }

  /** Only IPv4 addresses are created for RoutedIPs. */
  #noteKept(name: string, list: ProviderList): void {
    if (familyOfList(name) === 4 && !list.isPartial) this.#ports.quota.listed(name, list);
  }

  /** What an account lists may change who owns which address; null when it cannot be listed. */
  #tellListed(name: string, addresses: Iterable<Address> | null): void {
    this.#ports.observeAgain(this.#ports.pools.listed(name, addresses));
    this.#ports.listsChanged();
  }

  #usersOf(name: string): readonly (readonly [ActorId, PoolObject])[] {
    const { pools, cells } = this.#ports;
    return usersOf(accountOfList(name), pools, (cell) => cells.recordsOf(cell)).filter(
      ([id, pool]) => isPool(id) && this.listOf(pool) === name,
    );
  }

  #dueOf(name: string): readonly ActorId[] {
    return this.#waitingOn(name).filter((id) => this.#dueFor(name, id));
  }

  /** Those that work with the account, and those that have moved away from it. */
  #waitingOn(name: string): readonly ActorId[] {
    return [...new Set([...this.#usersOf(name).map(([id]) => id), ...(this.#moved.get(name) ?? [])])];
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
    const { provider } = this.#ports.providers.all[accountOfList(name)] ?? {};
    if (!provider) return;
    const at = this.#ports.clock.now();
    try {
      const addresses = await provider.listRoutedIPs({ purpose: 'verify', family: familyOfList(name) });
      await this.#handOn(name, { addresses }, { at, versions });
    } catch (error) {
      this.#ports.log.info('the second look at a provider failed; the next verification makes up for it', {
        provider: name,
        error: String(error),
      });
    }
  }

  /** Sends the addresses of a pool what its list says, unless the pool has not started or uses another list. Returns whether it was sent. */
  #tellUser(id: ActorId, name: string, list: ProviderList, versions: Versions): boolean {
    const { cells, pools, settle, isStarted } = this.#ports;
    if (!cells.all.has(id)) return false;
    settle(id);
    const pool = pools.all.get(id);
    if (!pool || !isStarted(id) || this.listOf(pool) !== name) return false;
    this.tellAddresses(id, list, versions);
    return true;
  }

  /** Ends what is no longer needed: verifications of accounts that are gone, whose jobs would wait forever, and firewalls in which nothing is claimed or ours. Call
   *  regularly: a firewall may become unused at any time. */
  endUnknown(): void {
    for (const name of this.names()) if (!this.#isNeeded(name)) this.#forget(name);
    for (const id of this.#ports.cells.all.keys()) {
      const name = verifiedBy(id);
      if (name === null ? this.#firewalls.isUnused(id) : !this.#isNeeded(name)) this.#ports.cells.tell(id, { type: 'DELETED' });
    }
  }

  /** IPv6 addresses are listed only while a pool has some. */
  #isNeeded(name: string): boolean {
    return Object.hasOwn(this.#ports.providers.all, accountOfList(name)) && (familyOfList(name) === 4 || this.#waitingOn(name).length > 0);
  }

  #verifyRegularly(name: string): void {
    const id = verificationActor(name);
    const family = familyOfList(name) === 6 ? { family: 6 as const } : {};
    if (!this.#ports.cells.all.has(id)) this.#ports.cells.begin('verification', id, { id, provider: accountOfList(name), ...family });
  }

  /** Sends every address of a provider what a list says of it, unless it changed since the list was requested, or a newer list is there. Addresses that Jobs drive are in no
   *  list. */
  async #handOn(name: string, listed: Verification, { at, versions }: Asked): Promise<void> {
    const { cells, pools, clock } = this.#ports;
    const list = providerList(listed, at);
    this.#keep(name, list);
    const byJobs = this.#isByJobs(name);
    if (!byJobs) this.#noteKept(name, list);
    const isOver = (): boolean => cells.stopped || this.#lists.get(name) !== list;
    const tell = (id: ActorId): void => {
      const pool = pools.all.get(id);
      if (this.#tellUser(id, name, list, versions) && pool) this.tellList(id, pool);
    };
    const users = byJobs ? [] : this.#usersOf(name).map(([id]) => id);
    if ((await inSlices(users, clock, isOver, tell, REST_MS)) && familyOfList(name) === 4) await this.#firewalls.look(name);
  }
}
