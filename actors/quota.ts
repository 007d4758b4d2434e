import { createdAt } from '../machines/creation.ts';
import type { PoolContext, Room } from '../machines/pool.ts';
import { type Evidence, hasBegun, isIdle, type Keeper, type Limit, type Settled, settle, standingOf } from '../machines/quota.ts';
import type { ActorId, Address, Finding, Kept } from '../machines/types.ts';
import { namespaceOf } from './namespace-turns.ts';
import { isPool, type ObservedPools } from './pools.ts';
import type { PoolObject } from './ports/cluster.ts';
import type { LedgerStore } from './ports/ledger.ts';
import type { Log, Observer, SavedTurn, Transition } from './ports/observers.ts';
import type { ActorRecord, Clock } from './ports.ts';
import type { ProviderList } from './provider-list.ts';
import { isSameJson } from './same-json.ts';

export interface QuotaPorts {
  /** Absent where nothing is written down: then there are no limits either. */
  readonly ledger?: LedgerStore | undefined;
  readonly pools: ObservedPools;
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: { readonly maxAddressesPerNamespace: number | null };
  readonly recordsOf: (cell: ActorId) => ReadonlyMap<ActorId, ActorRecord> | null;
  /** Has the cell of an object hear what is so of it now. */
  readonly observeAgain: (pool: PoolObject) => void;
}

/** How long after the ledger could not be read or written it is tried again, ms. */
const AGAIN_MS = 15_000;
/** Clocks of processes differ: a list is newer than an address only when it was asked for so much later, ms. */
const SKEW_MS = 60_000;

interface Listed {
  readonly list: ProviderList;
  readonly askedAt: number;
}

/** One look at a namespace. */
interface Look {
  readonly namespace: string;
  readonly keepers: ReadonlyMap<ActorId, Keeper>;
  readonly left: readonly Kept[] | undefined;
  readonly settled: Settled;
}

/** Says who may create one address more, in the one place where that is decided: in the leader, before a creation is intended, and written down before it is said. Each look
 *  reads the ledger, brings the namespaces that are due up to date, and writes it if nobody else has meanwhile; so two leaders cannot both give away the last place. */
export class Quota implements Observer {
  readonly #ports: QuotaPorts;
  readonly #due = new Set<string>();
  /** To the object of which uid a place is given that it has not used yet. */
  readonly #granted = new Map<ActorId, string>();
  readonly #refused = new Map<ActorId, Finding>();
  /** When an address was made for somebody in this term, ms since the epoch. */
  readonly #madeAt = new Map<Address, number>();
  /** What was made for objects that are gone, by namespace, until it is written down. */
  readonly #left = new Map<string, readonly Kept[]>();
  readonly #deleted = new Set<Address>();
  readonly #ended = new Set<string>();
  /** An address may be somewhere that nobody knows of. */
  readonly #unclear = new Set<ActorId>();
  readonly #lists = new Map<string, Listed>();
  #isOpen = false;
  #isLooking = false;
  #isFailing = false;
  #round = 0;

  constructor(ports: QuotaPorts) {
    this.#ports = ports;
  }

  /** A term begins: what was taken over is written down. */
  open(): void {
    this.#isOpen = true;
    for (const { ref } of this.#ports.pools.all.values()) this.#due.add(ref.namespace);
    void this.#look();
  }

  reset(): void {
    this.#isOpen = false;
    this.#round += 1;
    for (const each of [this.#due, this.#granted, this.#refused, this.#madeAt, this.#left, this.#deleted, this.#ended, this.#unclear])
      each.clear();
  }

  /** Whoever was refused may have room by now: an entry was taken out by hand, or an address is gone at its provider. */
  resync(): void {
    for (const id of this.#refused.keys()) this.#request(namespaceOf(id));
  }

  /** What a provider has, complete, as it was asked at that time. */
  listed(provider: string, list: ProviderList, askedAt: number): void {
    this.#lists.set(provider, { list, askedAt });
    this.resync();
  }

  /** Whether the namespace of an object may keep one more; null where there is no limit. */
  roomOf(id: ActorId, pool: PoolObject): Room | null {
    if (this.#limitsOf(pool).length === 0) return null;
    if (this.#granted.get(id) === pool.ref.uid) return { isGranted: true };
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
    this.#deleted.add(address);
    this.#request(namespaceOf(cell));
  }

  #poolChanged(cell: ActorId, { before, after, events }: Transition, at: number): void {
    const [was, is] = [contextOf(before), contextOf(after)];
    const made = (is?.created ?? []).filter((address) => was && !was.created.includes(address));
    for (const address of made) {
      this.#madeAt.set(address, at);
      this.#deleted.delete(address);
    }
    if (was && hasBegun(was) && events.some((type) => type.endsWith('.actor.announce'))) this.#unclear.add(cell);
    const pool = this.#ports.pools.all.get(cell);
    if (is === null) this.#ends(cell, was);
    else if (this.#granted.has(cell) && (hasBegun(is) || isIdle(is))) {
      // Used, or not wanted any more. Until its cell has heard so it may still begin, and its place is kept.
      this.#granted.delete(cell);
      this.#tell(cell);
    }
    const isLimited = pool !== undefined && this.#limitsOf(pool).length > 0;
    const isOther = was === null || is === null || (isLimited && standingOf(was) !== standingOf(is));
    if (made.length > 0 || isOther || was?.created !== is?.created) this.#request(namespaceOf(cell));
  }

  #ends(cell: ActorId, was: PoolContext | null): void {
    const namespace = namespaceOf(cell);
    this.#granted.delete(cell);
    this.#refused.delete(cell);
    if (!was) return;
    if (!hasBegun(was) && !this.#unclear.delete(cell)) this.#ended.add(was.ref.uid);
    this.#left.set(namespace, [...(this.#left.get(namespace) ?? []), ...this.#madeFor(cell, was, null)]);
  }

  #request(namespace: string): void {
    this.#due.add(namespace);
    void this.#look();
  }

  async #look(): Promise<void> {
    if (this.#isLooking || !this.#isOpen || !this.#ports.ledger) return;
    this.#isLooking = true;
    const round = this.#round;
    while (this.#due.size > 0 && round === this.#round) {
      const due = [...this.#due];
      this.#due.clear();
      try {
        await this.#settle(due, round);
        this.#isFailing = false;
      } catch (error) {
        if (round === this.#round) this.#failed(due, error);
        break;
      }
    }
    this.#isLooking = false;
    // Another term has begun meanwhile.
    if (round !== this.#round) void this.#look();
  }

  #failed(due: readonly string[], error: unknown): void {
    const why = error instanceof Error ? error.message : String(error);
    if (!this.#isFailing) this.#ports.log.warn('what namespaces keep could not be written down', { error: why });
    this.#isFailing = true;
    for (const namespace of due) {
      for (const [id, keeper] of this.#keepersIn(namespace)) {
        const message = `it cannot be told whether namespace ${namespace} may keep one address more: ${why}`;
        if (keeper.standing === 'asks' && keeper.limits.length > 0) this.#refuse(id, { reason: 'AddressLedgerUnavailable', message });
      }
    }
    this.#ports.clock.after(AGAIN_MS, () => {
      for (const namespace of this.#isOpen ? due : []) this.#request(namespace);
    });
  }

  async #settle(due: readonly string[], round: number): Promise<void> {
    const { ledger } = this.#ports;
    const before = await ledger?.read();
    if (!ledger || !before || round !== this.#round) return;
    const evidence = this.#evidence();
    const looks = due.map((namespace) => this.#lookAt(namespace, before.namespaces[namespace] ?? [], evidence));
    const others = Object.entries(before.namespaces).filter(([namespace]) => !due.includes(namespace));
    const own = looks.flatMap(({ namespace, settled }) => (settled.kept.length > 0 ? [[namespace, settled.kept] as const] : []));
    const namespaces = Object.fromEntries([...others, ...own].sort(([a], [b]) => (a < b ? -1 : 1)));
    const isWritten = isSameJson(namespaces, before.namespaces) || (await ledger.write({ namespaces, version: before.version }));
    if (round !== this.#round) return;
    if (isWritten) for (const look of looks) this.#decided(look);
    else for (const namespace of due) this.#due.add(namespace);
  }

  #lookAt(namespace: string, before: readonly Kept[], evidence: Evidence): Look {
    const keepers = this.#keepersIn(namespace);
    const left = this.#left.get(namespace);
    const noted = new Set(before.map(({ address }) => address));
    const all = [...before, ...(left ?? []).filter(({ address }) => !noted.has(address))];
    return { namespace, keepers, left, settled: settle(namespace, all, [...keepers.values()], evidence) };
  }

  #evidence(): Evidence {
    let named: ReadonlySet<Address> | null = null;
    const isNamed = (address: Address): boolean => {
      named ??= this.#ports.pools.namedBeside('');
      return named.has(address);
    };
    return { isGone: (kept) => this.#isGone(kept), ended: this.#ended, isNamed, now: this.#ports.clock.now() };
  }

  /** It is written down: now it may be said. */
  #decided({ namespace, keepers, left, settled: { granted, refused } }: Look): void {
    if (this.#left.get(namespace) === left) this.#left.delete(namespace);
    for (const [id, { uid }] of keepers) {
      const refusal = refused.get(uid);
      if (refusal) this.#refuse(id, refusal);
      else if (this.#refused.delete(id) || granted.has(uid)) {
        if (granted.has(uid)) this.#granted.set(id, uid);
        this.#tell(id);
      }
    }
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

  #isGone({ address, provider, since }: Kept): boolean {
    if (address === null) return false;
    if (this.#deleted.has(address)) return true;
    const listed = this.#lists.get(provider);
    return listed !== undefined && since + SKEW_MS < listed.askedAt && !listed.list.byAddress.has(address);
  }

  #keepersIn(namespace: string): ReadonlyMap<ActorId, Keeper> {
    const keepers = new Map<ActorId, Keeper>();
    for (const [id, pool] of this.#ports.pools.all) {
      if (pool.ref.namespace !== namespace || !isPool(id)) continue;
      const context = contextOf(this.#ports.recordsOf(id)?.get(id) ?? null);
      if (context?.ref.uid !== pool.ref.uid) continue;
      const { owner, uid, source, provider } = this.#ownerOf(context, pool);
      const standing = this.#granted.get(id) === uid ? 'holds' : standingOf(context);
      const made = this.#madeFor(id, context, pool);
      keepers.set(id, { owner, uid, source, provider, since: pool.createdAt, standing, made, limits: this.#limitsOf(pool) });
    }
    return keepers;
  }

  #madeFor(id: ActorId, context: PoolContext, pool: PoolObject | null): readonly Kept[] {
    if (context.spec?.exposes?.group) return [];
    const owner = this.#ownerOf(context, pool ?? this.#ports.pools.all.get(id) ?? null);
    return context.created.map((address) => ({ address, ...owner, since: this.#madeAt.get(address) ?? 0 }));
  }

  #ownerOf(context: PoolContext, pool: PoolObject | null): Omit<Kept, 'address' | 'since'> {
    const { ref, spec } = context;
    const policy = pool && ref.kind === 'RoutedIP' ? this.#ports.pools.policies.servesFor(pool)?.ref : null;
    const { kind = '', name = '' } = policy ?? spec?.exposes?.source ?? {};
    return { owner: `${ref.kind}/${ref.name}`, uid: ref.uid, source: kind && `${kind}/${name}`, provider: createdAt(context) };
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

/** The job that gives an address back has ended, and has deleted it. */
const isDeletion = ({ chart, heard }: Transition): boolean =>
  chart === 'ip' &&
  heard.some(
    ({ event }) =>
      event.type === 'xstate.done.actor.release' && (event.output as { readonly deleted?: boolean } | undefined)?.deleted === true,
  );
