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

const FAMILIES = [4, 6] as const;
/** Reads complete lists of addresses from providers and hands them on: at the start of a term, a call deadline later, and with each verification. Each account has one of a family: that of
 *  IPv4 under the key of the account, that of IPv6 beside it, which is read only while a pool has such addresses. */
export class ProviderLists {
  readonly #ports: ProviderListsPorts;
  readonly #firewalls: FirewallLooks;
  readonly #edits: EditLooks;
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
    this.#firewalls = new FirewallLooks(ports);
    this.#edits = new EditLooks({
      ...ports,
      readLast: (name) => this.#lists.get(name) ?? null,
      versionsOf: (name) => this.#versionsOf(name),
      usersOf: (name) => this.#usersOf(name).map(([id]) => id),
      tell: (id, name, list, versions) => this.#tellUser(id, name, list, versions),
    });
  }

  /** Reads the list of this name, then starts the pools that wait for it; looks once more when a call of an earlier leader can have no more effect. What was being
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
      const nothing = providerList({ addresses: [] }, clock.now());
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
    const truth = await readUntilKnown(provider, { key: accountOfList(name), family: familyOfList(name), clock, log, isClosed, failed });
    if (truth === null || isClosed()) return;
    const list = providerList(truth, askedAt);
    this.#keep(name, list);
    cells.tell(verificationActor(name), { type: 'LISTED' });
    this.#noteKept(name, list);
    // Between two of them any of them may change, go, or come.
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

  /** Has the pool started once that was read in which its records have their addresses. False when it has nothing to wait for: what it has begun elsewhere goes on. */
  startWhenRead(id: ActorId, pool: PoolObject): boolean {
    const name = this.#beginsBy(id, pool);
    const provider = this.#ports.providers.all[accountOfList(name)]?.provider ?? null;
    if (provider && name !== listKey(this.#ports.pools.providerOf(pool), familyIn(pool)))
      this.#moved.set(name, (this.#moved.get(name) ?? new Set()).add(id));
    if (provider) void this.read(name, provider);
    else this.#ports.unreadable(id);
    return provider !== null;
  }

  /** Has the list of the pool's addresses read: with `again` also when it was before, since with other credentials it may be that of another account. */
  readFor(pool: PoolObject, provider: Provider, again?: 'again'): void {
    const name = this.listOf(pool);
    if (again || !(this.#lists.has(name) || this.#reading.has(name))) void this.read(name, provider);
  }

  /** Those that wait for a list of the account, and work with another one by now. */
  waitingFor(key: string): Iterable<ActorId> {
    return FAMILIES.flatMap((family) => [...(this.#moved.get(listKey(key, family)) ?? [])]);
  }

  /** Its account is being read, and a try has failed: it may be long before it is started. */
  isHeldUp(id: ActorId, pool: PoolObject): boolean {
    const name = this.#beginsBy(id, pool);
    return this.#reading.has(name) && this.#refusals.has(name) && !this.#lists.has(name);
  }

  /** Why nothing is decided yet about what is at the provider; null when it was read, or cannot be for now. */
  unread(id: ActorId, pool: PoolObject): string | null {
    const name = this.#beginsBy(id, pool);
    const account = accountOfList(name);
    if (this.#ports.providers.all[account]?.unread) return `the credentials of ${account} have not been read yet`;
    if (!this.#reading.has(name)) return null;
    return this.refusal(name) ?? `${addressesOf(name)} are being read`;
  }

  /** Why the list of that name could not be read yet; null when it was, or no try has failed. */
  refusal(name: string): string | null {
    const why = this.#reading.has(name) && !this.#lists.has(name) ? this.#refusals.get(name) : undefined;
    return why === undefined ? null : `${addressesOf(name)} could not be read yet: ${why}`;
  }

  /** Why a list could not be read when that was last tried; null when it was. */
  problemOf(name: string): string | null {
    const id = verificationActor(name);
    const verified = this.#ports.cells.recordsOf(id)?.get(id)?.snapshot.context as VerificationContext | undefined;
    return (this.#reading.has(name) ? this.#refusals.get(name) : undefined) ?? verified?.failure?.message ?? null;
  }

  /** What the lists of an account showed last, and why one cannot be read now. */
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

  /** All that were read, or are being read. */
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

  /** A cell has ended. A verification that was ended and is needed again by now begins anew. */
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

  /** A job has ended. If it was a verification, what it listed is handed on; null when it failed or was not waited for. */
  answered(actor: ActorId, commandId: string, output: unknown): void {
    const asked = this.#asked.get(commandId);
    this.#asked.delete(commandId);
    const name = verifiedBy(actor);
    if (asked && output !== null && name !== null) void this.#handOn(name, output as Verification, asked);
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

  /** The list that has the addresses which the pool is to have. */
  listOf(pool: PoolObject): string {
    return listKey(this.providerOf(pool), familyIn(pool));
  }

  /** The list of the addresses that its records have, whatever its object says by now, as long as that can be read. */
  #beginsBy(id: ActorId, pool: PoolObject): string {
    const context = poolContextIn(this.#ports.cells.recordsOf(id), id);
    const [first] = Object.keys(context?.members ?? {}) as Address[];
    const name = context && first ? listKey(context.provider, familyOf(first)) : null;
    return name !== null && this.#isReadable(name) ? name : this.listOf(pool);
  }

  /** It was read, or no try has failed yet. */
  #isReadable(name: string): boolean {
    const { provider = null } = this.#ports.providers.all[accountOfList(name)] ?? {};
    return provider !== null && (this.#lists.has(name) || !this.#refusals.has(name));
  }

  #keep(name: string, list: ProviderList): void {
    this.#lists.set(name, list);
    this.#tellListed(name, list.isPartial || this.#isByJobs(name) ? null : list.byAddress.keys());
  }

  /** Nobody can list what Jobs do. */
  #isByJobs(name: string): boolean {
    return this.#ports.providers.all[accountOfList(name)]?.provider?.jobs?.addresses ?? false;
  }

  /** What was made for RoutedIPs are IPv4 addresses. */
  #noteKept(name: string, list: ProviderList): void {
    if (familyOfList(name) === 4 && !list.isPartial) this.#ports.quota.listed(name, list);
  }

  /** What an account lists may decide who has which of it; null when nobody can list it. */
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

  /** Tells the addresses of a pool what its list says, unless it has yet to be told of more. Answers whether it was. */
  #tellUser(id: ActorId, name: string, list: ProviderList, versions: Versions): boolean {
    const { cells, pools, settle, isStarted } = this.#ports;
    if (!cells.all.has(id)) return false;
    settle(id);
    const pool = pools.all.get(id);
    if (!pool || !isStarted(id) || this.listOf(pool) !== name) return false;
    this.tellAddresses(id, list, versions);
    return true;
  }

  /** Ends what nobody needs any more: verifications of accounts that nobody asks for, whose jobs would wait for ever, and firewalls in which nothing is claimed
   *  or ours. To be called regularly: a firewall may be given up at any time. */
  endUnknown(): void {
    for (const name of this.names()) if (!this.#isNeeded(name)) this.#forget(name);
    for (const id of this.#ports.cells.all.keys()) {
      const name = verifiedBy(id);
      if (name === null ? this.#firewalls.isUnused(id) : !this.#isNeeded(name)) this.#ports.cells.tell(id, { type: 'DELETED' });
    }
  }

  /** IPv6 addresses are listed only while somebody has them. */
  #isNeeded(name: string): boolean {
    return Object.hasOwn(this.#ports.providers.all, accountOfList(name)) && (familyOfList(name) === 4 || this.#waitingOn(name).length > 0);
  }

  #verifyRegularly(name: string): void {
    const id = verificationActor(name);
    const family = familyOfList(name) === 6 ? { family: 6 as const } : {};
    if (!this.#ports.cells.all.has(id)) this.#ports.cells.begin('verification', id, { id, provider: accountOfList(name), ...family });
  }

  /** Tells every address of a provider what a list said of it, unless it changed since the list was asked for, or a newer one is there. One of Jobs is in no list. */
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
