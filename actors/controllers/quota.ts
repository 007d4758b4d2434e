import type { Room } from '../../machines/events.ts';
import { isPool } from '../../machines/model/actor-id.ts';
import { namespaceOf } from '../../machines/model/namespaces.ts';
import type { ActorId, Address, Finding, Kept } from '../../machines/model/types.ts';
import type { PoolContext } from '../../machines/pool/context.ts';
import { asBegun, createdAt } from '../../machines/pool/creation.ts';
import { type Evidence, hasBegun, isIdle, type Keeper, type Limit, type Settled, settle, standingOf } from '../../machines/pool/quota.ts';
import { sourceOf } from '../../machines/spec/routedip.ts';
import type { PoolObject } from '../ports/cluster.ts';
import type { LedgerStore } from '../ports/ledger.ts';
import type { Log, Observer, SavedTurn, Transition } from '../ports/observers.ts';
import type { ActorRecord, Clock } from '../ports/records.ts';
import { isSameJson } from '../runtime/same-json.ts';
import type { ObservedPools } from './pool-cache.ts';
import type { ProviderList } from './provider-list.ts';

export interface QuotaPorts {
  /** Absent where nothing is persisted: then there are no limits either. */
  readonly ledger?: LedgerStore | undefined;
  readonly pools: ObservedPools;
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: { readonly maxAddressesPerNamespace: number | null };
  readonly recordsOf: (cell: ActorId) => ReadonlyMap<ActorId, ActorRecord> | null;
  /** Sends the cell of an object its current facts. */
  readonly observeAgain: (pool: PoolObject) => void;
}

/** Retry delay after the ledger could not be read or written, ms. */
const AGAIN_MS = 15_000;
/** Clocks of processes differ: a list is newer than an address only when it was requested this much later, ms. */
const SKEW_MS = 60_000;

/** Changes in a namespace that are not in the ledger yet. */
interface News {
  /** Addresses created for its objects, whether these still exist or not. */
  readonly made: readonly Kept[];
  /** Uids of objects that are gone and have left no unknown address. */
  readonly ended: readonly string[];
  /** Deleted addresses, each with the cell that deleted it. */
  readonly deleted: readonly Deletion[];
}

interface Deletion {
  readonly address: Address;
  readonly cell: ActorId;
}

const NO_NEWS: News = { made: [], ended: [], deleted: [] };

/** One look at a namespace. */
interface Look {
  readonly keepers: ReadonlyMap<ActorId, Keeper>;
  readonly news: News | undefined;
  readonly settled: Settled;
}

/** Decides who may create one more address, in the only place for it: in the leader, before a creation is intended, and persisted before it is announced. Each look reads the
 *  ledger of one namespace, brings it up to date, and writes it unless another process has meanwhile; so two leaders cannot both grant the last place. */
export class Quota implements Observer {
  readonly #ports: QuotaPorts;
  readonly #due = new Set<string>();
  /** Places that are granted and not used yet, each for one object and the class or issuer that it counts towards. */
  readonly #granted = new Map<ActorId, string>();
  readonly #refused = new Map<ActorId, Finding>();
  /** By uid of a RoutedIP, the address that it may reuse; null once it is known that there is none. */
  readonly #retained = new Map<string, Address | null>();
  /** By namespace. */
  readonly #news = new Map<string, News>();
  /** Cells that may have an unknown address. */
  readonly #unclear = new Set<ActorId>();
  readonly #lists = new Map<string, ProviderList>();
  #isOpen = false;
  #isLooking = false;
  /** Namespaces whose last ledger read or write failed: that was logged. */
  readonly #failing = new Set<string>();
  /** Namespaces with a pending retry timer. */
  readonly #waiting = new Set<string>();
  /** Addresses that living objects name, cached for one round of looks. */
  #named: ReadonlySet<Address> | null = null;
  #round = 0;

  constructor(ports: QuotaPorts) {
    this.#ports = ports;
  }

  /** A term begins: what was taken over is persisted. */
  open(): void {
    this.#isOpen = true;
    for (const { ref } of this.#ports.pools.all.values()) this.#due.add(ref.namespace);
    void this.#look();
  }

  reset(): void {
    this.#isOpen = false;
    this.#round += 1;
    for (const each of [this.#due, this.#granted, this.#refused, this.#retained, this.#news, this.#unclear, this.#lists]) each.clear();
    for (const each of [this.#failing, this.#waiting]) each.clear();
  }

  /** Refused objects may have room by now: an entry was removed by hand, or an address is gone at its provider. */
  resync(): void {
    for (const id of this.#refused.keys()) this.#request(namespaceOf(id));
  }

  /** The complete list of a provider. */
  listed(provider: string, list: ProviderList): void {
    this.#lists.set(provider, list);
    this.resync();
  }

  /** The list of that provider is no longer available. */
  unlisted(provider: string): void {
    this.#lists.delete(provider);
  }

  /** An unused address that was created for a former RoutedIP of that name; null for none, undefined while that is not known. */
  retainedFor(id: ActorId, pool: PoolObject): Address | null | undefined {
    return this.#looksBack(id, pool) ? undefined : (this.#retained.get(pool.ref.uid) ?? null);
  }

  /** Whether the namespace of an object may keep one more; null without a limit. Not granted either until it is known whether one is retained for the object. */
  roomOf(id: ActorId, pool: PoolObject): Room | null {
    if (this.#looksBack(id, pool)) return { isGranted: false };
    if (this.#limitsOf(pool).length === 0) return null;
    if (this.#granted.get(id) === placeFor(pool.ref.uid, this.#sourceOf(pool))) return { isGranted: true };
    const refusal = this.#refused.get(id);
    return { isGranted: false, ...(refusal && { refusal }) };
  }

  turnSaved({ cell, at, transitions }: SavedTurn): void {
    if (!isPool(cell) || !this.#ports.ledger) return;
    for (const transition of transitions) {
      if (transition.actor === cell) this.#poolChanged(cell, transition, at);
      else if (isDeletion(transition)) this.#addressDeleted(cell, transition);
    }
  }

  #addressDeleted(cell: ActorId, { before }: Transition): void {
    const { address } = (before?.snapshot.context ?? {}) as { readonly address?: Address };
    if (!address) return;
    this.#note(cell, ({ deleted }) => ({ deleted: [...deleted, { address, cell }] }));
    this.#request(namespaceOf(cell));
  }

  #poolChanged(cell: ActorId, { before, after, events }: Transition, at: number): void {
    const [was, is] = [contextOf(before), contextOf(after)];
    const made = (is?.created ?? []).filter((address) => was && !was.created.includes(address));
    if (was && hasBegun(was) && events.some((type) => type.endsWith('.actor.announce'))) this.#unclear.add(cell);
    const pool = this.#ports.pools.all.get(cell) ?? null;
    // An address that is ours now may be given up in the next turn: it counts from here on.
    if (is && made.length > 0)
      this.#note(cell, (news) => ({
        made: [...news.made, ...this.#madeFor({ ...is, created: made }, pool, at)],
        deleted: news.deleted.filter(({ address }) => !made.includes(address)),
      }));
    if (is === null) this.#ends(cell, was);
    else if (this.#isPlaceOver(cell, is)) {
      this.#granted.delete(cell);
      this.#tell(cell);
    }
    const isLimited = pool !== null && (this.#limitsOf(pool).length > 0 || this.#looksBack(cell, pool));
    const isOther = was === null || is === null || (isLimited && standsOtherwise(was, is));
    if (made.length > 0 || isOther || was?.created !== is?.created) this.#request(namespaceOf(cell));
  }

  /** The place is used, or no longer wanted, or not from this class. Until its cell has received that, it may still begin, and its place is kept. */
  #isPlaceOver(cell: ActorId, is: PoolContext): boolean {
    const place = this.#granted.get(cell);
    return place !== undefined && (hasBegun(is) || isIdle(is) || place !== placeFor(is.ref.uid, ownerOf(is, '').source));
  }

  #ends(cell: ActorId, was: PoolContext | null): void {
    this.#granted.delete(cell);
    this.#refused.delete(cell);
    if (!was) return;
    this.#retained.delete(was.ref.uid);
    const isUnclear = this.#unclear.delete(cell);
    const isOver = !hasBegun(was) && !isUnclear;
    const made = this.#madeFor(was, this.#ports.pools.all.get(cell) ?? null);
    // Entries noted at creation carry its time.
    this.#note(cell, (news) => ({
      made: [...made, ...news.made],
      ended: [...news.ended, ...(isOver ? [was.ref.uid] : [])],
    }));
  }

  #note(cell: ActorId, more: (news: News) => Partial<News>): void {
    const namespace = namespaceOf(cell);
    const news = this.#news.get(namespace) ?? NO_NEWS;
    this.#news.set(namespace, { ...news, ...more(news) });
  }

  #request(namespace: string): void {
    this.#due.add(namespace);
    void this.#look();
  }

  async #look(): Promise<void> {
    if (this.#isLooking || !this.#isOpen || !this.#ports.ledger) return;
    this.#isLooking = true;
    const round = this.#round;
    // What becomes due meanwhile is settled last.
    for (const namespace of this.#due) {
      this.#due.delete(namespace);
      try {
        await this.#settle(namespace, round);
      } catch (error) {
        if (round === this.#round) this.#failed(namespace, error);
      }
      if (round !== this.#round) break;
    }
    this.#named = null;
    this.#isLooking = false;
    // Another term has begun meanwhile.
    if (round !== this.#round) void this.#look();
  }

  #failed(namespace: string, error: unknown): void {
    const why = error instanceof Error ? error.message : String(error);
    if (!this.#failing.has(namespace)) this.#ports.log.warn('what a namespace keeps could not be written down', { namespace, error: why });
    this.#failing.add(namespace);
    for (const [id, keeper] of this.#keepersIn(namespace)) {
      if (keeper.canReuse) this.#looked(id, keeper.uid);
      const message = `it cannot be told whether namespace ${namespace} may keep one address more: ${why}`;
      if (keeper.standing === 'asks' && keeper.limits.length > 0) this.#refuse(id, { reason: 'AddressLedgerUnavailable', message });
    }
    if (this.#waiting.has(namespace)) return;
    this.#waiting.add(namespace);
    const round = this.#round;
    this.#ports.clock.after(AGAIN_MS, () => {
      if (round !== this.#round) return;
      this.#waiting.delete(namespace);
      this.#request(namespace);
    });
  }

  async #settle(namespace: string, round: number): Promise<void> {
    const { ledger } = this.#ports;
    const before = await ledger?.read(namespace);
    if (!ledger || !before || round !== this.#round) return;
    const look = this.#lookAt(namespace, before.kept);
    const { kept } = look.settled;
    const isWritten = isSameJson(kept, before.kept) || (await ledger.write(namespace, { kept, version: before.version }));
    if (round !== this.#round) return;
    this.#failing.delete(namespace);
    if (isWritten) this.#decided(namespace, look);
    else this.#due.add(namespace);
  }

  #lookAt(namespace: string, before: readonly Kept[]): Look {
    const keepers = this.#keepersIn(namespace);
    const news = this.#news.get(namespace);
    const isNamed = (address: Address): boolean => {
      this.#named ??= this.#ports.pools.namedBeside('');
      return this.#named.has(address);
    };
    const deleted = new Set(news?.deleted.map(({ address }) => address));
    const evidence: Evidence = {
      isGone: (kept) => kept.address !== null && (deleted.has(kept.address) || this.#isUnlisted(kept)),
      made: news?.made ?? [],
      ended: new Set(news?.ended),
      isNamed,
      now: this.#ports.clock.now(),
    };
    return { keepers, news, settled: settle(namespace, before, [...keepers.values()], evidence) };
  }

  /** Persisted: now it may be announced. */
  #decided(namespace: string, { keepers, news, settled: { granted, refused, retained } }: Look): void {
    if (news && this.#news.get(namespace) === news) this.#forget(namespace, news);
    for (const [id, { uid, source, canReuse }] of keepers) {
      if (canReuse) this.#looked(id, uid, retained.get(uid));
      const refusal = refused.get(uid);
      if (refusal) this.#refuse(id, refusal);
      else if (this.#refused.delete(id) || granted.has(uid)) {
        if (granted.has(uid)) this.#granted.set(id, placeFor(uid, source));
        this.#tell(id);
      }
    }
  }

  /** Drops what is in the ledger by now. A deletion is kept until the record of its cell no longer names the address. */
  #forget(namespace: string, { deleted }: News): void {
    const isNamed = ({ address, cell }: Deletion): boolean => this.#contextOf(cell)?.created.includes(address) ?? false;
    const left = deleted.filter(isNamed);
    if (left.length > 0) this.#news.set(namespace, { ...NO_NEWS, deleted: left });
    else this.#news.delete(namespace);
  }

  #refuse(id: ActorId, refusal: Finding): void {
    if (isSameJson(this.#refused.get(id), refusal)) return;
    this.#refused.set(id, refusal);
    this.#tell(id);
  }

  #tell(id: ActorId): void {
    const pool = this.#ports.pools.all.get(id);
    if (pool) this.#ports.observeAgain(pool);
  }

  #looked(id: ActorId, uid: string, address: Address | null = null): void {
    this.#retained.set(uid, address);
    this.#tell(id);
  }

  /** Not checked yet whether an address is retained for it. */
  #looksBack(id: ActorId, pool: PoolObject): boolean {
    const { ledger, pools } = this.#ports;
    return ledger !== undefined && !this.#retained.has(pool.ref.uid) && pools.mayReuse(id, pool);
  }

  /** It is unattached or on a node of this cluster, in the region where it has to serve. Addresses that Jobs drive are in no list. */
  #canServe({ spec }: PoolContext, provider: string, address: Address): boolean {
    if (spec?.exposes?.subject) return true;
    const observed = this.#lists.get(provider)?.byAddress.get(address);
    const isThere = spec?.region === '' || observed?.region === '' || observed?.region === spec?.region;
    return observed !== undefined && isThere && this.#ports.pools.placed(observed).place === undefined;
  }

  #isUnlisted({ address, provider, since }: Kept): boolean {
    const listed = this.#lists.get(provider);
    return listed !== undefined && since + SKEW_MS < listed.askedAt && !listed.byAddress.has(address as Address);
  }

  #keepersIn(namespace: string): ReadonlyMap<ActorId, Keeper> {
    const keepers = new Map<ActorId, Keeper>();
    for (const [id, pool] of this.#ports.pools.ofNamespace(namespace)) {
      const context = isPool(id) ? this.#contextOf(id) : null;
      if (context?.ref.uid !== pool.ref.uid) continue;
      const { owner, uid, source, provider } = ownerOf(context, this.#sourceOf(pool));
      // A class that its cell has not received yet is not asked for: it goes by the former class or issuer.
      const isOther = source !== this.#sourceOf(pool) && standingOf(context) === 'asks';
      const isGranted = this.#granted.get(id) === placeFor(uid, source);
      const standing = isGranted ? 'holds' : isOther ? 'none' : standingOf(context);
      const made = this.#madeFor(context, pool);
      const looksBack = (standing === 'asks' || isGranted) && this.#looksBack(id, pool);
      const canReuse = looksBack ? (address: Address) => this.#canServe(context, provider, address) : null;
      keepers.set(id, { owner, uid, source, provider, since: pool.createdAt, standing, made, limits: this.#limitsOf(pool), canReuse });
    }
    return keepers;
  }

  #contextOf(id: ActorId): PoolContext | null {
    return contextOf(this.#ports.recordsOf(id)?.get(id) ?? null);
  }

  /** `since`: time of creation, ms since the epoch; 0 when unknown. */
  #madeFor(context: PoolContext, pool: PoolObject | null, since = 0): readonly Kept[] {
    if (context.spec?.exposes?.group) return [];
    const owner = ownerOf(context, pool ? this.#sourceOf(pool) : '');
    return context.created.map((address) => ({ address, ...owner, since }));
  }

  /** The class or issuer that it counts towards, as observed now. */
  #sourceOf(pool: PoolObject): string {
    return pool.ref.kind === 'RoutedIP' ? named(sourceOf(this.#ports.pools.policies.factOf(pool))) : '';
  }

  #limitsOf(pool: PoolObject): readonly Limit[] {
    const { ledger, pools, settings } = this.#ports;
    if (!ledger || pools.policies.takesFromGroup(pool)) return [];
    const most = settings.maxAddressesPerNamespace;
    const ofPolicy = pool.ref.kind === 'RoutedIP' ? pools.policies.limitFor(pool) : null;
    return [...(most === null ? [] : [{ most, source: null, name: '--max-addresses-per-namespace' }]), ...(ofPolicy ? [ofPolicy] : [])];
  }
}

const contextOf = (record: ActorRecord | null): PoolContext | null => (record ? (record.snapshot.context as unknown as PoolContext) : null);

const named = (source: ReturnType<typeof sourceOf>): string => (source?.kind ? `${source.kind}/${source.name}` : '');

/** The class or issuer comes from its cell if that has received one, else from `seen`. */
function ownerOf(context: PoolContext, seen: string): Omit<Kept, 'address' | 'since'> {
  const { ref } = context;
  const source = named(asBegun(context).spec?.exposes?.source ?? null) || seen;
  return { owner: `${ref.kind}/${ref.name}`, uid: ref.uid, source, provider: createdAt(context) };
}

/** A place granted under one class is not valid under another. */
const placeFor = (uid: string, source: string): string => `${uid} ${source}`;

/** Whether its room has to be checked again: without a limit it was never checked. */
const standsOtherwise = (was: PoolContext, is: PoolContext): boolean =>
  standingOf(was) !== standingOf(is) || !was.room !== !is.room || ownerOf(was, '').source !== ownerOf(is, '').source;

/** The release job of an address has ended, and has deleted it. */
const isDeletion = ({ chart, heard }: Transition): boolean =>
  chart === 'ip' &&
  heard.some(
    ({ event }) =>
      event.type === 'xstate.done.actor.release' && (event.output as { readonly deleted?: boolean } | undefined)?.deleted === true,
  );
