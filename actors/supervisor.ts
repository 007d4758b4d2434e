import { cellOf, isRoutedIP, kindOf } from '../machines/model/actor-id.ts';
import type { ActorId, Address, ObjectRef } from '../machines/model/types.ts';
import type { Inventory } from '../machines/status/inventory.ts';
import { termIn } from '../machines/status/restore-pool.ts';
import { clusterListener } from './cluster-listener.ts';
import { Guards } from './controllers/finalizers.ts';
import { OperatorCredentials } from './controllers/operator-credentials.ts';
import { ObservedPools } from './controllers/pool-cache.ts';
import { Quota, type QuotaPorts } from './controllers/quota.ts';
import { InventoryCollector } from './inventory.ts';
import { Workers } from './jobs/worker-pool.ts';
import { Leader } from './leadership/leader.ts';
import { Terms } from './leadership/terms.ts';
import { accountTrouble, unreadAccounts, unreadCounts } from './leadership/unread-accounts.ts';
import type { ClusterEvent, ClusterListener, ClusterSource, ClusterWriter, PoolObject } from './ports/cluster.ts';
import type { ProviderDirectory } from './ports/directory.ts';
import { REST_MS } from './ports/in-slices.ts';
import type { InventoryWriter } from './ports/inventory.ts';
import type { Leadership } from './ports/leadership.ts';
import { type Namespaces, NO_NAMESPACES } from './ports/namespaces.ts';
import type { Queues } from './ports/queues.ts';
import type { ActorRecord } from './ports/records.ts';
import type { Settings } from './ports/settings.ts';
import type { Halt, TurnPorts } from './runtime/cell.ts';
import type { Away } from './runtime/outage.ts';
import { type Parting, part } from './runtime/shutdown.ts';
import { StoreHealth } from './runtime/store-health.ts';
import { Alarms } from './runtime/timers.ts';
import { Standing } from './standing.ts';
import { PolicyProjector } from './status/classes.ts';
import { Evacuations } from './status/evacuation.ts';
import { projector } from './status/projector.ts';
import { type VipKinds, Vips } from './vip/controller.ts';

export interface SupervisorPorts extends TurnPorts {
  /** Keeps running in memory while the store is away; absent to wait until it is back. Its store and queues are those below. */
  readonly away?: Away;
  readonly queues: Queues;
  readonly leadership: Leadership;
  readonly source: ClusterSource;
  readonly writer: ClusterWriter;
  readonly providers: ProviderDirectory;
  readonly settings: Settings;
  /** Absent when no Services are served. */
  readonly vips?: VipKinds;
  /** Ledger of what namespaces keep; absent where none is persisted. */
  readonly ledger?: QuotaPorts['ledger'];
  /** Where the inventory is written; absent where it is not. */
  readonly inventoryWriter?: InventoryWriter | undefined;
  /** Absent where their labels are not watched. */
  readonly namespaces?: Namespaces;
  /** Jobs send no mutating calls; absent for false. */
  readonly observes?: true;
  /** Where the operator runs: Jobs of classes run there, and Secrets of classes are there, unless they say otherwise. */
  readonly operatorNamespace?: string;
}

/** What keeps this process from working; null for nothing. */
export interface Hindrances {
  readonly caches: string | null;
  readonly store: string | null;
  readonly leadership: string | null;
}

/** What runs this long without an end or an error is stuck, ms. */
const STUCK_MS = 300_000;

/** How often to check that the store is still the same and still holds what we wrote. */
const STORE_CHECK_MS = 1000;

/** How often to check which objects are not served: for thousands that costs a fraction of a percent of a core. */
const LOOK_EVERY_MS = 2000;
/** How often to check how the store is configured. */
const STORE_JUDGE_MS = 60_000;

/** How long a stop waits for pending writes, ms: an API server that is away does not hold it up. */
const LAST_WRITES_MS = 2000;

/** One process: always runs jobs, and runs cells while it leads. */
export class Supervisor {
  readonly #ports: SupervisorPorts;
  readonly #pools: ObservedPools;
  readonly #vips: Vips;
  readonly #guards: Guards;
  readonly #policies: PolicyProjector;
  readonly #workers: Workers;
  readonly #projector: ReturnType<typeof projector>;
  readonly #evacuations: Evacuations;
  readonly #alarms: Alarms;
  readonly #terms: Terms;
  readonly #quota: Quota;
  readonly #inventory: InventoryCollector;
  readonly #standing: Standing;
  readonly #storeHealth: StoreHealth;
  #stopping = false;
  #synced = false;
  #contends = false;

  constructor(ports: SupervisorPorts) {
    this.#ports = ports;
    this.#alarms = new Alarms(ports.clock);
    this.#storeHealth = new StoreHealth(ports);
    const credentials = new OperatorCredentials(ports.namespaces ?? NO_NAMESPACES, ports.settings.operatorCredentials);
    this.#pools = new ObservedPools(ports.operatorNamespace, ports.providers, ports.namespaces, credentials, ports.settings.adopt);
    const isLeading = (): boolean => this.leading;
    this.#guards = new Guards({ ...ports, isLeading });
    this.#policies = new PolicyProjector({
      ...ports,
      pools: this.#pools,
      isLeading,
      unread: (key) => (this.#terms.leader ? accountTrouble(key, this.#terms.leader) : null),
    });
    this.#vips = new Vips({ ...ports, kinds: ports.vips, desk: () => this.#terms.leader?.vips ?? null });
    const observeAgain = (pool: PoolObject): void => this.#terms.leader?.observePool(pool);
    this.#quota = new Quota({ ...ports, pools: this.#pools, recordsOf: this.recordsOf, observeAgain });
    this.#inventory = new InventoryCollector({
      ...ports,
      pools: this.#pools,
      vips: this.#vips,
      knows: (kind) => ports.source.knows(kind),
      lists: () => this.#terms.leader?.lists ?? null,
    });
    this.#terms = new Terms({
      ...ports,
      pools: this.#pools,
      isGone: (actor, uid) => this.#isGone(actor, uid),
      shownTerms: () => this.#shownTerms(),
      leaderOf: (term, halted) => this.#leaderOf(term, halted),
      reset: () => this.#reset(),
      opened: (leader) => this.#opened(leader),
    });
    this.#workers = new Workers({
      ...ports,
      outage: this.#terms.outage,
      shown: (actor) => this.#projector.shown(cellOf(actor)),
      namedBeside: (cell) => this.#namedBeside(cell),
      makesRoom: (cell, wanted, given) => this.#makesRoom(cell, wanted, given),
      retains: (cell, address) => this.#pools.retains(cell, address),
    });
    ports.providers.onChange((key) => {
      this.#workers.tend(key);
      this.#terms.leader?.providerChanged(key);
      this.#policies.request();
    });
    ports.namespaces?.onChange((namespace) => this.#namespaceChanged(namespace));
    this.#evacuations = new Evacuations({
      ...ports,
      isLeading,
      objects: () => this.#pools.all.keys(),
      recordsOf: this.recordsOf,
    });
    this.#projector = projector({
      writer: ports.writer,
      clock: ports.clock,
      recordsOf: this.recordsOf,
      factOf: (cell) => this.#pools.fact(cell),
      objectOf: (cell) => this.#pools.all.get(cell),
      noticesOf: (cell) => this.#standing.noticesOf(cell),
      term: () => this.term,
      cells: () => this.#pools.all.keys(),
      statusOf: (cell) => this.#pools.all.get(cell)?.status,
      hindranceOf: (cell) => this.#pools.hindrance(cell),
      classToo: (cell, event) => this.#tellClass(cell, event),
      routedIPs: () => (this.#terms.decides && ports.source.knows('RoutedIP') ? [...this.#pools.all.keys()].filter(isRoutedIP) : null),
      cleared: (cell) => this.#terms.leader?.tell(cell, { type: 'CLEARED' }),
    });
    this.#standing = new Standing({
      ...ports,
      pools: this.#pools,
      vips: this.#vips,
      terms: this.#terms,
      projector: this.#projector,
      policies: this.#policies,
    });
  }

  /** Resolves once everything that can run is running; waits for the rest (the store, the API server) in the background. */
  async start(): Promise<void> {
    const asked = this.#terms.checkStore();
    this.#alarms.every(STORE_CHECK_MS, () => {
      this.#workers.tend();
      void this.#terms.checkStore();
    });
    this.#alarms.every(LOOK_EVERY_MS, () => this.#standing.look());
    void this.#storeHealth.look();
    this.#alarms.every(STORE_JUDGE_MS, () => void this.#storeHealth.look());
    this.#alarms.every(this.#ports.settings.resyncEveryMs, () => {
      void this.#ports.source.resync(REST_MS);
      this.#vips.resync();
      this.#quota.resync();
      this.#inventory.request();
    });
    await Promise.all([this.#ports.source.start(this.#listener()), this.#vips.start()]);
    this.#synced = true;
    await asked;
    this.#contends = true;
    await this.#ports.leadership.start({
      acquired: () => {
        this.#terms.acquired();
        this.#workers.tend();
      },
      lost: (reason) => {
        this.#ports.log.warn('leads no longer', { message: reason });
        if (!this.#stopping) this.#ports.writer.forget();
        this.#terms.lost();
      },
      unfit: () => this.#terms.unfit(),
    });
  }

  /** Lets running jobs end, releases the Lease, finishes pending writes. Resolves within the shutdown grace period, whatever hangs. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#alarms.cancel();
    this.#terms.stop();
    const { leadership, source, writer, settings, clock, log } = this.#ports;
    const partings: readonly Parting[] = [
      // Jobs first: a running assign ends, and its outcome is received while the leader still exists.
      { what: 'jobs', until: 0.7, run: (ms) => this.#workers.close(ms) },
      { what: 'turns', until: 0.8, run: (ms) => this.#terms.close(ms) },
      { what: 'the Lease', until: 0.86, run: () => leadership.release() },
      { what: 'watches', until: 0.86, run: () => Promise.all([source.close(), this.#vips.close()]) },
      { what: 'the last writes', until: 1, run: (ms) => writer.flush(Math.min(ms, LAST_WRITES_MS)) },
    ];
    await part(partings, { graceMs: settings.shutdownGraceMs, clock, log });
  }

  hindrances(): Hindrances {
    const { outage, hindrance } = this.#terms;
    return {
      caches: this.#synced ? null : 'the caches are not synced yet',
      store: outage.isAway ? null : outage.error,
      leadership: hindrance === null ? null : `leads, but has not taken the records over yet: ${hindrance}`,
    };
  }

  /** How it runs without the store; null while it does not. */
  withoutStore(): string | null {
    return this.#terms.outage.notice;
  }

  /** Why the addresses of accounts could not be read when that was last tried, by key; none while another process leads. */
  unreadProviders(): Readonly<Record<string, string>> {
    const { leader } = this.#terms;
    return leader ? Object.fromEntries(unreadAccounts(leader)) : {};
  }

  /** Number of unreadable accounts of each provider; none while another process leads. */
  unreadAccounts(): ReadonlyMap<string, number> {
    const { leader } = this.#terms;
    return leader ? unreadCounts(leader) : new Map();
  }

  /** What is wrong with the store's configuration. */
  get storeHealth(): Pick<StoreHealth, 'faults' | 'notice'> {
    return this.#storeHealth;
  }

  /** Why this process has to be replaced; null while it can go on. Only what a restart fixes, never the outage of a dependency. */
  stuck(): string | null {
    const now = this.#ports.clock.monotonic();
    if (this.#stopping) return null;
    const { takingOverSince } = this.#terms;
    if (takingOverSince !== null && now - takingOverSince > STUCK_MS)
      return `leads, but for ${minutes(now - takingOverSince)} the records were neither taken over nor was there an error`;
    const triedAt = this.#ports.leadership.triedAt();
    if (this.#contends && now - triedAt > STUCK_MS)
      return `the Lease was neither renewed nor looked at for ${minutes(now - triedAt)}, not even in vain`;
    return null;
  }

  get leading(): boolean {
    return this.#terms.leader !== null;
  }

  get term(): number {
    return this.#terms.leader?.term ?? 0;
  }

  /** Identity of the leader, this process or another one; null when none is known. */
  get leader(): string | null {
    return this.#ports.leadership.holder();
  }

  /** Address counts of each usable IPGroup; none while another process leads. */
  groups(): ReturnType<Vips['figures']> {
    return this.#vips.figures();
  }

  /** What the accounts hold; null while another process leads, and before the first look. */
  get inventory(): Inventory | null {
    return this.#inventory.inventory;
  }

  /** How many objects are not served, by kind and reason; none while another process leads. */
  unserved(): ReturnType<Standing['unserved']> {
    return this.#standing.unserved();
  }

  /** Number of cells that fail repeatedly, by what fails. */
  failing(): Readonly<Record<'save' | 'turn', number>> {
    const cells = [...(this.#terms.leader?.cells.values() ?? [])];
    const failingAt = (at: 'save' | 'turn') => cells.filter(({ failing }) => failing === at).length;
    return { save: failingAt('save'), turn: failingAt('turn') };
  }

  /** The records of one cell in memory; null for none, and while another process leads. */
  readonly recordsOf = (cell: ActorId): ReadonlyMap<ActorId, ActorRecord> | null => this.#terms.leader?.recordsOf(cell) ?? null;

  /** Every record in memory, by cell; empty while another process leads. */
  records(): ReadonlyMap<ActorId, ReadonlyMap<ActorId, ActorRecord>> {
    return this.#terms.leader?.memory() ?? new Map();
  }

  #listener(): ClusterListener {
    return clusterListener({
      providers: this.#ports.providers,
      pools: this.#pools,
      guards: this.#guards,
      policies: this.#policies,
      evacuations: this.#evacuations,
      projector: this.#projector,
      writer: this.#ports.writer,
      leader: () => this.#terms.leader,
    });
  }

  #namespaceChanged(namespace: string | null): void {
    const isConcerned = (pool: PoolObject): boolean =>
      (namespace === null || pool.ref.namespace === namespace) && this.#pools.policies.goesByLabels(pool);
    const ids = [...this.#pools.all].flatMap(([id, pool]) => (isConcerned(pool) ? [id] : []));
    this.#terms.leader?.policiesChanged(ids);
    this.#terms.leader?.vips.namespaceChanged(namespace);
    this.#policies.request();
  }

  #tellClass(cell: ActorId, event: ClusterEvent): void {
    const object = this.#pools.all.get(cell);
    const served = object && this.#pools.policies.servesFor(object);
    const about = { ...event, message: `for RoutedIP ${object?.ref.namespace}/${object?.ref.name}: ${event.message}` };
    // The RoutedIP has the same Event: nothing is lost when this one cannot be written.
    if (served) this.#ports.writer.announce(served.ref, about).catch(() => undefined);
  }

  // ---------------------------------------------------------------- leading

  async #shownTerms(): Promise<readonly number[]> {
    // Watches do not pass on changes of the status alone: the creations and terms in it must be read as they are now.
    await this.#ports.source.resync();
    return [...this.#pools.all.values()].map(({ status }) => termIn(status));
  }

  async #namedBeside(cell: ActorId): Promise<ReadonlySet<string>> {
    await this.#ports.source.resync();
    return this.#pools.namedBeside(cell);
  }

  async #makesRoom(cell: ActorId, wanted: Address, given: Address): Promise<ObjectRef | null> {
    await this.#ports.source.resync();
    return this.#vips.isReserved(given) ? null : this.#pools.makesRoom(cell, wanted, given);
  }

  #isGone(actor: ActorId, uid: string): boolean {
    return this.#ports.source.knows(kindOf(actor)) && this.#pools.all.get(actor)?.ref.uid !== uid;
  }

  #leaderOf(term: number, halted: (why: Halt) => void): Leader {
    const { source, observers } = this.#ports;
    const ports = {
      ...this.#ports,
      pools: this.#pools,
      vips: this.#vips,
      quota: this.#quota,
      listsChanged: this.#inventory.request,
      isServed: (kind: string) => source.knows(kind),
      isGone: (actor: ActorId, uid: string) => this.#isGone(actor, uid),
      isAway: () => this.#terms.outage.isAway,
      observers: [...observers, this.#projector, this.#policies, this.#evacuations, this.#quota, ...this.#vips.observers],
    };
    return new Leader(term, ports, halted);
  }

  #reset(): void {
    for (const observer of [...this.#ports.observers, this.#projector, this.#policies, this.#quota]) observer.reset?.();
  }

  #opened(leader: Leader): void {
    this.#projector.showAll(leader.cells.keys());
    this.#evacuations.request();
    this.#quota.open();
    for (const pool of this.#pools.all.values()) this.#guards.see(pool);
    this.#policies.request();
    this.#vips.show();
  }
}

const minutes = (ms: number): string => `${Math.floor(ms / 60_000)} min`;
