import { actorOf, isPool, isRecordSet, isRoutedIP, isVip, isVirtualIP, kindOf } from '../../machines/model/actor-id.ts';
import type { ActorId, Address } from '../../machines/model/types.ts';
import { rightTaken } from '../../machines/pool/creation.ts';
import { isForced, isReleased } from '../controllers/annotations.ts';
import type { ObservedPools } from '../controllers/pool-cache.ts';
import { isBare, isUnprimed, lostBy, specFact, uidOf } from '../controllers/pool-facts.ts';
import type { ProviderList } from '../controllers/provider-list.ts';
import { ProviderLists } from '../controllers/provider-sync.ts';
import type { Quota } from '../controllers/quota.ts';
import { poolContextIn } from '../controllers/record-view.ts';
import { SharedChanges } from '../controllers/shared-changes.ts';
import type { PoolObject } from '../ports/cluster.ts';
import type { ProviderDirectory } from '../ports/directory.ts';
import { inSlices } from '../ports/in-slices.ts';
import type { Queues } from '../ports/queues.ts';
import type { ActorRecord, StoredCell } from '../ports/records.ts';
import type { Settings } from '../ports/settings.ts';
import type { Cell, Halt, TurnPorts } from '../runtime/cell.ts';
import { Cells } from '../runtime/cell-registry.ts';
import { Inbox } from '../runtime/inbox.ts';
import { firewallBegin } from '../runtime/shared-state.ts';
import { Alarms } from '../runtime/timers.ts';
import type { Envelope } from '../runtime/turn.ts';
import type { Vips } from '../vip/controller.ts';
import type { VipDesk } from '../vip/service-allocation.ts';
import type { Memory } from './in-doubt.ts';
import { loadCells, resetClaims, withUnknownNodes } from './recovery.ts';
import { isUndone, poolInput } from './restored-pool.ts';
import { leftClaims } from './stale-claims.ts';
import { LeftQueues } from './stale-queues.ts';

export interface LeaderPorts extends TurnPorts {
  readonly queues: Queues;
  readonly providers: ProviderDirectory;
  readonly pools: ObservedPools;
  /** Whether objects of the kind are observed; while they are not, a missing one means nothing. */
  readonly isServed: (kind: string) => boolean;
  /** Whether the object that an actor stands for is gone. */
  readonly isGone: (actor: ActorId, uid: string) => boolean;
  /** Whether the store is away: some jobs wait for it, and none can be lost in the memory of this process. */
  readonly isAway: () => boolean;
  readonly settings: Settings;
  readonly vips: Pick<Vips, 'deskFor'>;
  readonly quota: Pick<Quota, 'listed' | 'unlisted' | 'roomOf' | 'retainedFor'>;
  readonly listsChanged: () => void;
}

/** One term of leadership: takes over the records and sends the facts to pools. Ends for good when it halts or is closed. */
export class Leader {
  readonly term: number;
  /** Receives events about Services, IPGroups, IPs and VirtualIPs. */
  readonly vips: VipDesk;
  readonly #ports: LeaderPorts;
  readonly #cells: Cells;
  readonly lists: ProviderLists;
  readonly #changes: SharedChanges;
  readonly #inbox: Inbox;
  readonly #alarms: Alarms;
  readonly #leftQueues: LeftQueues;
  /** Pools that have received all facts; before that, facts only wait in `pools`. */
  readonly #started = new Set<ActorId>();
  /** Stored pools that have resumed but receive no facts: those without an object only end, and those that wait for a list only finish a creation that they had begun. */
  readonly #resumed = new Set<ActorId>();
  /** The uids of objects whose cleanup is complete, by actor, while the objects are still observed. */
  readonly #over = new Map<ActorId, string>();

  constructor(term: number, ports: LeaderPorts, halted: (why: Halt) => void) {
    this.term = term;
    this.#ports = ports;
    this.#alarms = new Alarms(ports.clock);
    this.#cells = new Cells(term, {
      ...ports,
      observers: [
        ...ports.observers,
        {
          turnSaved: ({ cell }) => void (isRoutedIP(cell) && this.vips.routedIPChanged(cell)),
          eventSetAside: (told) => this.#inbox.setAside(told),
        },
      ],
      listAsked: (actor, commandId) => this.lists.asked(actor, commandId),
      gone: (cell, uid) => this.#gone(cell, uid),
      firewallInput: (id) => firewallBegin(id, ports.pools.all, this.recordsOf),
      nodesOf: (id) => (ports.pools.fact(id)?.nodes ?? []).map(({ name }) => name),
      halted,
    });
    this.#leftQueues = new LeftQueues({ ...ports, cells: this.#cells });
    this.vips = ports.vips.deskFor(this.#cells, (id) =>
      ports.isServed('RoutedIP') ? (ports.pools.all.get(id)?.ref.uid ?? null) : undefined,
    );
    this.lists = new ProviderLists({
      ...ports,
      cells: this.#cells,
      alarms: this.#alarms,
      settle: (pool) => this.#changes.settle(pool),
      isStarted: (pool) => this.#started.has(pool),
      isDue: (pool) => this.#isDue(pool),
      start: (id, pool, truth) => this.#start(id, pool, truth),
      unreadable: (id) => this.#goOnCreating(id),
      observeAgain: (ids) => this.#observeAgain(ids),
    });
    this.#changes = new SharedChanges({
      ...ports,
      cells: this.#cells,
      lists: this.lists,
      isStarted: (id) => this.#started.has(id),
      observe: (pool) => this.observePool(pool),
    });
    this.#inbox = new Inbox({
      ...ports,
      term,
      cells: this.#cells,
      placed: (observed) => ports.pools.placed(observed),
      hasResumed: (cell) => this.#started.has(cell) || this.#resumed.has(cell) || !isPool(cell),
      resume: (actor) => this.#resume(actor),
      answered: (actor, commandId, output) => this.lists.answered(actor, commandId, output),
    });
  }

  get cells(): ReadonlyMap<ActorId, Cell> {
    return this.#cells.all;
  }

  /** Its records are complete; before that, they are being taken over. */
  get hasRecords(): boolean {
    return this.#cells.isLoaded;
  }

  readonly recordsOf = (cell: ActorId): ReadonlyMap<ActorId, ActorRecord> | null => this.#cells.recordsOf(cell);

  /** Why a pool has not received all facts yet: its provider has not been read. Null when it waits for no such thing. */
  unread(id: ActorId): string | null {
    const pool = isPool(id) && !this.#started.has(id) ? this.#ports.pools.all.get(id) : undefined;
    return pool ? this.lists.unread(id, pool) : null;
  }

  /** Resolves once the turn that handled it is saved; at once for an actor that does not exist. */
  deliver(envelope: Envelope): Promise<void> {
    return this.#cells.deliver(envelope);
  }

  /** Delivers without waiting. */
  tell(to: ActorId, event: Envelope['event']): void {
    this.#cells.tell(to, event);
  }

  // ---------------------------------------------------------------- the term

  /** Takes over what is stored; `written`: all of it, if this process has just written it. From then on facts, outcomes and timers are received. @throws Unreachable */
  async open(written: ReadonlyMap<ActorId, StoredCell> | null = null): Promise<void> {
    const { pools, settings, isAway, clock } = this.#ports;
    const stored = written ?? (await loadCells(this.#ports, this.term));
    const isOver = (): boolean => this.#cells.stopped;
    await this.#cells.loadAll(stored, withUnknownNodes);
    await resetClaims(stored, this.#ports, this.term);
    await pools.goBy(this.recordsOf, clock, isOver);
    const { true: owners = [], false: shared = [] } = Object.groupBy(this.cells.keys(), (id) => `${isPool(id) || isRecordSet(id)}`);
    // Before anything is sent to them.
    await inSlices(shared, clock, isOver, (id) => this.#cells.resume(id));
    // Only after the store has confirmed that it is still the same one: otherwise part of what was loaded may be missing.
    this.#cells.open();
    this.lists.endUnknown();
    await inSlices(owners, clock, isOver, (id) => {
      if (this.#isFormer(id) && this.#ports.isServed(kindOf(id))) this.#end(id);
    });
    await inSlices(pools.all.keys(), clock, isOver, (id) => this.#observeAgain([id]));
    if (isOver()) return;
    for (const { to, event } of leftClaims({ cells: this.cells, objects: pools.all })) this.#cells.tell(to, event);
    this.vips.open();
    this.#inbox.open();
    this.#alarms.every(settings.sweepEveryMs, () => {
      this.#cells.sweep();
      this.lists.endUnknown();
      if (!isAway()) this.#inbox.wakeOverdue();
    });
    this.#alarms.every(settings.leftQueuesEveryMs, () => void this.#leftQueues.look());
  }

  /** Begins no more turns from this moment on. A write under way may still turn out to be saved. */
  halt(why: Halt): void {
    this.#alarms.cancel();
    this.#ports.pools.forget(this.recordsOf);
    this.#cells.stop(why);
  }

  /** Stops. Nothing more is received; what was saved is taken over by the next leader. */
  async close(why: Halt, graceMs: number): Promise<void> {
    this.halt(why);
    await this.#inbox.close(graceMs);
    await this.#cells.quiet();
  }

  /** Resolves once everything begun so far is stored, or will no longer be stored. */
  begun(): Promise<void> {
    return this.#cells.quiet();
  }

  memory(): Memory {
    return new Map([...this.cells].map(([id, cell]) => [id, cell.records]));
  }

  // ---------------------------------------------------------------- facts; those that arrive before the records are taken over are read again then

  observePool(pool: PoolObject): void {
    if (!this.#cells.isOpen) return;
    const id = actorOf(pool.ref);
    const cell = this.cells.get(id);
    if (!cell) {
      if (!this.#isOver(id, pool)) this.#introduce(id, pool);
      return;
    }
    if (this.#isFormer(id)) {
      // Another pool of the same name: it is introduced once the former one is gone.
      this.#end(id);
      return;
    }
    if (this.#started.has(id)) this.#tellSpec(id, pool);
    else if (isRecordSet(id)) this.#startRecordSet(id, pool);
    else this.#startWhenRead(id, pool);
    if (isRoutedIP(id) && isReleased(pool) && (isForced(pool) || this.#started.has(id) || isBare(id, this.recordsOf(id))))
      this.#release(id, pool);
  }

  policiesChanged(ids: Iterable<ActorId>): void {
    this.#changes.policiesChanged(ids);
  }

  poolGone(id: ActorId): void {
    if (!this.#cells.isOpen) return;
    this.#over.delete(id);
    if (this.cells.has(id)) this.#end(id);
  }

  observeCluster(id: ActorId): void {
    this.#changes.settle(id);
    const pool = this.#ports.pools.all.get(id);
    // If its nodes have changed, it has to know which addresses they hold before it elects.
    if (pool && isPool(id) && this.#started.has(id)) this.lists.tellList(id, pool);
    this.#cells.tellInTurn(id, () => {
      const fact = this.#ports.pools.fact(id);
      return fact && this.#started.has(id) ? { type: 'CLUSTER_OBSERVED', ...fact } : null;
    });
  }

  /** Nodes have come or gone: addresses on their machines may become available to pools, or stop being so. */
  machinesChanged(): void {
    if (this.#cells.isOpen) this.lists.tellPlaces();
  }

  providerChanged(key: string): void {
    if (this.#cells.isOpen) this.#changes.providerChanged(key);
  }

  #observeAgain(ids: readonly ActorId[]): void {
    for (const id of ids) {
      const pool = this.#ports.pools.all.get(id);
      if (pool) this.observePool(pool);
    }
  }

  #tellSpec(id: ActorId, pool: PoolObject, lost: readonly Address[] = []): void {
    const name = this.lists.providerOf(pool);
    const { unread = false, provider = null } = this.#ports.providers.all[name] ?? {};
    // Whether the provider is usable depends on a Secret: the spec is sent as soon as that has been read.
    if (unread) return;
    // A provider that the pool names only now may have no other pool, and so not have been read.
    if (provider && this.#started.has(id) && isPool(id)) this.lists.readFor(pool, provider);
    this.#cells.tellFact(id, { ...specFact(id, pool, this.#ports), ...(lost.length > 0 && { lost }) });
    // Tolerations are no part of the selectors: the same nodes may match differently now.
    this.observeCluster(id);
  }

  // ---------------------------------------------------------------- the life of a pool

  #introduce(id: ActorId, pool: PoolObject): void {
    if (isRecordSet(id)) {
      this.#cells.begin('dns-record-set', id, { id, ref: pool.ref, since: pool.createdAt });
      this.#startRecordSet(id, pool);
      return;
    }
    this.#cells.begin('pool', id, poolInput(pool, this.#ports));
    this.#startWhenRead(id, pool);
  }

  #startWhenRead(id: ActorId, pool: PoolObject): void {
    // Safe before the provider is read: a new pool does nothing until it is primed. An invalid one says so at once.
    const context = poolContextIn(this.recordsOf(id), id);
    if (!context?.spec || isUnprimed(id, this.recordsOf(id))) this.#tellSpec(id, pool);
    // A pool without a usable provider has nothing to wait for: its status says what is wrong.
    if (!this.lists.startWhenRead(id, pool)) this.#tellSpec(id, pool);
    else if (this.lists.isHeldUp(id, pool)) this.#tellLoss(id, pool, lostBy(id, context, this.#ports.pools));
  }

  /** The pool gives up what another pool has by now, which cannot begin until then. It takes nothing: it receives no nodes. */
  #tellLoss(id: ActorId, pool: PoolObject, lost: readonly Address[]): void {
    for (const actor of lost.length > 0 ? (this.recordsOf(id)?.keys() ?? []) : []) this.#cells.resume(actor);
    if (lost.length > 0) this.#tellSpec(id, pool, lost);
  }

  /** A record set needs no provider list: its zone reads the existing records before it writes. */
  #startRecordSet(id: ActorId, object: PoolObject): void {
    this.#started.add(id);
    this.#cells.resume(id);
    this.#tellSpec(id, object);
  }

  #isDue(id: ActorId): boolean {
    return this.cells.has(id) && !this.#started.has(id) && !this.#isFormer(id);
  }

  /** Sends a pool everything it has to know, in an order in which nothing is decided on stale facts. */
  #start(id: ActorId, pool: PoolObject, truth: ProviderList): void {
    if (!this.#isDue(id)) return;
    this.#started.add(id);
    // From here on the pool trusts nothing that it remembers of its nodes: it decides once it has received them.
    this.#cells.resume(id);
    this.lists.tellAddresses(id, truth, null);
    for (const actor of this.recordsOf(id)?.keys() ?? []) {
      if (actor !== id) this.#cells.resume(actor);
      // The provider has just answered: whatever credentials were refused before, the present ones are good.
      this.#cells.tell(actor, { type: 'SECRET_OBSERVED' });
    }
    this.#cells.tellClaims(id, []);
    this.lists.tellList(id, pool);
    this.#tellSpec(id, pool);
    if (isRoutedIP(id) && isReleased(pool)) this.#release(id, pool);
  }

  /** A creation fetches its own lists, and no other pool creates until it is over: it does not wait for a list that cannot be read. */
  #goOnCreating(id: ActorId): void {
    const context = poolContextIn(this.recordsOf(id), id);
    if (!context || rightTaken(context).length === 0 || this.#resumed.has(id)) return;
    this.#resumed.add(id);
    this.#cells.resume(id);
  }

  /** The user has deleted a RoutedIP. It stays until everything that was done for it is undone, or until the user waives that. */
  #release(id: ActorId, pool: PoolObject): void {
    this.#delete(id, { type: 'DELETED', force: isForced(pool) });
  }

  /** A pool that resumes has to receive all facts again, as after a load. */
  #resume(actor: ActorId): void {
    if (this.#isFormer(actor) || !this.#started.delete(actor)) {
      this.#cells.resume(actor);
      return;
    }
    this.#observeAgain([actor]);
  }

  /** The records belong to a pool whose object is gone. Another object may have its name by now. */
  #isFormer(id: ActorId): boolean {
    const cell = this.cells.get(id);
    const uid = cell ? uidOf(id, cell.records) : null;
    return uid !== null && uid !== this.#ports.pools.all.get(id)?.ref.uid;
  }

  #end(id: ActorId): void {
    this.#delete(id, { type: 'DELETED', gone: true });
  }

  /** A pool that was not started in this term never will be: what was under way in it is requested again, once, by the deletion. */
  #delete(id: ActorId, deleted: Envelope['event']): void {
    const hasResumed = this.#started.has(id) || this.#resumed.has(id);
    if (!hasResumed) this.#cells.resume(id);
    this.#cells.tell(id, deleted);
    if (hasResumed) return;
    this.#resumed.add(id);
    for (const actor of this.recordsOf(id)?.keys() ?? []) if (actor !== id) this.#cells.resume(actor);
  }

  #gone(id: ActorId, uid: string | null): void {
    if (isVip(id) || isVirtualIP(id)) {
      this.vips.gone(id, uid);
      return;
    }
    if (isRoutedIP(id)) this.vips.routedIPChanged(id);
    this.lists.gone(id);
    this.#started.delete(id);
    this.#resumed.delete(id);
    const seen = this.#ports.pools.all.get(id);
    if (seen?.deleting && uid === seen.ref.uid) this.#over.set(id, uid);
    if (seen && !this.#isOver(id, seen)) this.#introduce(id, seen);
  }

  /** Everything done for the object is undone, and only other finalizers keep it: it is observed until they are removed, or a moment longer. */
  #isOver(id: ActorId, pool: PoolObject): boolean {
    return this.#over.get(id) === pool.ref.uid || isUndone(pool);
  }
}
