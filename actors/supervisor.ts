import { termIn } from '../machines/rebuild.ts';
import type { ActorId } from '../machines/types.ts';
import { Alarms } from './alarms.ts';
import type { Halt } from './cell.ts';
import { type Charts, cellOf } from './charts.ts';
import { clusterListener } from './cluster-listener.ts';
import { Evacuations } from './evacuations.ts';
import { Guards } from './guards.ts';
import { Leader } from './leader.ts';
import { isRoutedIP, ObservedPools } from './pools.ts';
import type { ClusterEvent, ClusterListener, ClusterSource, ClusterWriter } from './ports/cluster.ts';
import type { ProviderDirectory } from './ports/directory.ts';
import type { Leadership } from './ports/leadership.ts';
import type { ActorRecord, Clock, Log, Observer, Probe, Queues, RecordStore } from './ports.ts';
import { projector } from './project.ts';
import { PolicyProjector } from './project-policies.ts';
import type { Settings } from './settings.ts';
import type { Memory } from './takeover.ts';
import { type VipKinds, Vips } from './vip/vips.ts';
import { Workers } from './workers.ts';

export interface SupervisorPorts {
  readonly charts: Charts;
  readonly store: RecordStore;
  readonly queues: Queues;
  readonly clock: Clock;
  readonly log: Log;
  readonly probe: Probe;
  readonly leadership: Leadership;
  readonly source: ClusterSource;
  readonly writer: ClusterWriter;
  readonly providers: ProviderDirectory;
  readonly observers: readonly Observer[];
  readonly settings: Settings;
  /** Absent when no Services are served. */
  readonly vips?: VipKinds;
  /** Where the operator runs: Jobs of classes run there, and Secrets of classes are there, unless they say otherwise. */
  readonly operatorNamespace?: string;
}

/** What stands between this process and its work; null for nothing. */
export interface Hindrances {
  readonly caches: string | null;
  readonly store: string | null;
  readonly leadership: string | null;
}

interface LastTerm {
  readonly term: number;
  /** The server that held the records; null when that was not known any more. */
  readonly runId: string | null;
  readonly memory: Memory;
}

/** What lasts so long without an end or an error will not end any more, ms. */
const STUCK_MS = 300_000;

/** How often the store is asked whether it is still the same and still holds what we wrote. */
const STORE_CHECK_MS = 1000;

/** One process: runs jobs always, and cells while it leads. Starts over, under a new term, whenever the store was lost or written by another. */
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
  #leader: Leader | null = null;
  #holdsLease = false;
  #stopping = false;
  /** Counts changes of leadership: an opening that is overtaken gives up. */
  #round = 0;
  #opening: Promise<void> = Promise.resolve();
  #wake: () => void = () => undefined;
  #synced = false;
  #runId: string | null = null;
  #storeError: string | null = 'not asked yet';
  /** When the store answered last, monotonic ms. */
  #storeSeenAt = Number.NEGATIVE_INFINITY;
  /** What this process knew when its last term ended. */
  #last: LastTerm | null = null;
  #openError: string | null = null;
  /** Since when it takes the records over without having heard of an error, monotonic ms; null while it does not. */
  #takingOverSince: number | null = null;
  #contends = false;

  constructor(ports: SupervisorPorts) {
    this.#ports = ports;
    this.#alarms = new Alarms(ports.clock);
    this.#pools = new ObservedPools(ports.operatorNamespace);
    const isLeading = (): boolean => this.#leader !== null;
    this.#guards = new Guards({ ...ports, isLeading });
    this.#policies = new PolicyProjector({ ...ports, pools: this.#pools, isLeading });
    this.#vips = new Vips({ ...ports, kinds: ports.vips, desk: () => this.#leader?.vips ?? null });
    this.#workers = new Workers({ ...ports, shown: (actor) => this.#projector.shown(cellOf(actor)) });
    ports.providers.onChange((key) => {
      this.#workers.tend();
      this.#leader?.providerChanged(key);
    });
    this.#evacuations = new Evacuations({
      ...ports,
      isLeading,
      objects: () => this.#pools.all.keys(),
      recordsOf: (cell) => this.#leader?.recordsOf(cell) ?? null,
    });
    this.#projector = projector({
      writer: ports.writer,
      clock: ports.clock,
      recordsOf: (cell) => this.#leader?.recordsOf(cell) ?? null,
      factOf: (cell) => this.#pools.fact(cell),
      cells: () => this.#pools.all.keys(),
      statusOf: (cell) => this.#pools.all.get(cell)?.status,
      hindranceOf: (cell) => this.#pools.hindrance(cell),
      classToo: (cell, event) => this.#tellClass(cell, event),
      routedIPs: () => (ports.source.knows('RoutedIP') ? [...this.#pools.all.keys()].filter(isRoutedIP) : null),
      cleared: (cell) => this.#leader?.tell(cell, { type: 'CLEARED' }),
    });
  }

  /** Resolves once everything runs that can run; what is not there yet (the store, the API server) is waited for in the background. */
  async start(): Promise<void> {
    const asked = this.#checkStore();
    this.#alarms.every(STORE_CHECK_MS, () => {
      this.#workers.tend();
      void this.#checkStore();
    });
    this.#alarms.every(this.#ports.settings.resyncEveryMs, () => {
      this.#ports.source.resync();
      this.#vips.resync();
    });
    await Promise.all([this.#ports.source.start(this.#listener()), this.#vips.start()]);
    this.#synced = true;
    await asked;
    this.#contends = true;
    await this.#ports.leadership.start({
      acquired: () => {
        this.#holdsLease = true;
        this.#workers.tend();
        this.#lead(null);
      },
      lost: (reason) => {
        this.#ports.log.warn('leads no longer', { reason });
        this.#holdsLease = false;
        this.#stepDown();
      },
      unfit: () => this.#unfit(),
    });
  }

  /** Lets running jobs end, hands the lease over, shows what is still to be shown. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#alarms.cancel();
    this.#wake();
    this.#round += 1;
    const { settings } = this.#ports;
    // Jobs first: an assign that is under way ends, and its outcome is heard while the leader still stands.
    await this.#workers.close(settings.shutdownGraceMs);
    await this.#opening.catch(() => undefined);
    await this.#leader?.close('stale', settings.shutdownGraceMs);
    await this.#ports.leadership
      .release()
      .catch((error) => this.#ports.log.warn('the lease could not be released', { error: String(error) }));
    await this.#ports.source.close();
    await this.#vips.close();
    await this.#ports.writer.flush(2000);
  }

  hindrances(): Hindrances {
    return {
      caches: this.#synced ? null : 'the caches are not synced yet',
      store: this.#storeError,
      leadership:
        !this.#holdsLease || this.#leader ? null : `leads, but has not taken the records over yet: ${this.#openError ?? 'it is about to'}`,
    };
  }

  /** Why another process has to take this one's place; null while it can go on. Nothing that a restart does not mend: not the outage of anything. */
  stuck(): string | null {
    const now = this.#ports.clock.monotonic();
    if (this.#stopping) return null;
    if (this.#takingOverSince !== null && now - this.#takingOverSince > STUCK_MS)
      return `leads, but for ${minutes(now - this.#takingOverSince)} the records were neither taken over nor was there an error`;
    const triedAt = this.#ports.leadership.triedAt();
    if (this.#contends && now - triedAt > STUCK_MS)
      return `the Lease was neither renewed nor looked at for ${minutes(now - triedAt)}, not even in vain`;
    return null;
  }

  get leading(): boolean {
    return this.#leader !== null;
  }

  get term(): number {
    return this.#leader?.term ?? 0;
  }

  /** Who leads, as it names itself: this process or another one; null when nobody is known to. */
  get leader(): string | null {
    return this.#ports.leadership.holder();
  }

  /** What is left of each IPGroup; none while another process leads. */
  groups(): ReturnType<Vips['figures']> {
    return this.#vips.figures();
  }

  /** Every record in memory, by cell; empty while another process leads. */
  records(): ReadonlyMap<ActorId, ReadonlyMap<ActorId, ActorRecord>> {
    return this.#leader?.memory() ?? new Map();
  }

  #listener(): ClusterListener {
    return clusterListener({
      providers: this.#ports.providers,
      pools: this.#pools,
      guards: this.#guards,
      policies: this.#policies,
      evacuations: this.#evacuations,
      projector: this.#projector,
      leader: () => this.#leader,
    });
  }

  #tellClass(cell: ActorId, event: ClusterEvent): void {
    const object = this.#pools.all.get(cell);
    const served = object && this.#pools.policies.servesFor(object);
    const about = { ...event, message: `for RoutedIP ${object?.ref.namespace}/${object?.ref.name}: ${event.message}` };
    // The RoutedIP bears the same Event: nothing is lost when this one cannot be written.
    if (served) this.#ports.writer.announce(served.ref, about).catch(() => undefined);
  }

  // ---------------------------------------------------------------- leading

  /** Opens a term, again and again until it works or the lease is gone. */
  #lead(memory: Memory | null): void {
    this.#round += 1;
    this.#takingOverSince = this.#ports.clock.monotonic();
    const round = this.#round;
    this.#opening = this.#opening.catch(() => undefined).then(() => this.#open(round, memory));
  }

  async #open(round: number, memory: Memory | null): Promise<void> {
    await this.#leader?.close('stale', 1000);
    this.#leader = null;
    for (let attempt = 1; this.#isCurrent(round); attempt += 1) {
      try {
        await this.#openOnce(memory, round);
        return;
      } catch (error) {
        this.#openError = error instanceof Error ? error.message : String(error);
        if (this.#takingOverSince !== null) this.#takingOverSince = this.#ports.clock.monotonic();
        this.#ports.log.warn('the records could not be taken over yet', { attempt, error: this.#openError });
        await this.#pause(Math.min(500 * attempt, 5000));
      }
    }
  }

  /** Ends early when the process is to stop. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#ports.clock.after(ms, resolve);
      this.#wake = () => {
        cancel();
        resolve();
      };
    });
  }

  async #openOnce(memory: Memory | null, round: number): Promise<void> {
    const { store, leadership, log } = this.#ports;
    await store.check();
    const { term: stored, runId } = await store.state();
    // A change of a status alone is told to nobody: what is remembered of creations and terms is to be what stands there now.
    this.#ports.source.resync();
    const shown = [...this.#pools.all.values()].map(({ status }) => termIn(status));
    const highest = Math.max(leadership.seenTerm(), stored ?? 0, ...shown);
    const known = memory ?? this.#remembered(highest, stored, runId);
    const term = highest + 1;
    await leadership.writeTerm(term);
    // Should this fail further on, the next try is not to take its own term for somebody else's.
    if (this.#last?.term === highest) this.#last = { ...this.#last, term };
    if (!(await store.openTerm(term))) throw new Error(`the store holds a higher term than ${term}`);
    this.#runId = runId;
    const leader = new Leader(
      term,
      {
        ...this.#ports,
        pools: this.#pools,
        vips: this.#vips,
        isServed: (kind) => this.#ports.source.knows(kind),
        observers: [...this.#ports.observers, this.#projector, this.#evacuations, ...this.#vips.observers],
      },
      (why) => this.#halted(leader, why),
    );
    for (const observer of [...this.#ports.observers, this.#projector]) observer.reset?.();
    // From here on facts reach it; what it may not hear yet it asks for when it opens.
    this.#leader = leader;
    try {
      await leader.open(known);
    } catch (error) {
      this.#leader = null;
      await leader.close('stale', 0);
      throw error;
    }
    this.#openError = null;
    this.#last = null;
    if (!this.#isCurrent(round)) return;
    this.#takingOverSince = null;
    log.info('leads', { term, cells: leader.cells.size, from: known ? 'memory' : 'store' });
    this.#projector.showAll(leader.cells.keys());
    this.#evacuations.request();
    for (const pool of this.#pools.all.values()) this.#guards.see(pool);
    this.#policies.request();
    this.#vips.show();
  }

  #isCurrent = (round: number): boolean => round === this.#round && this.#holdsLease && !this.#stopping;

  #halted(leader: Leader, why: Halt): void {
    if (leader !== this.#leader || !this.#holdsLease || this.#stopping) return;
    this.#lead(why === 'lost' ? leader.memory() : null);
  }

  #stepDown(): void {
    this.#round += 1;
    if (!this.#stopping) this.#ports.writer.forget();
    const leader = this.#leader;
    const hasOpened = this.#takingOverSince === null;
    if (leader && hasOpened) this.#last = { term: leader.term, runId: this.#runId, memory: leader.memory() };
    this.#takingOverSince = null;
    this.#leader = null;
    for (const observer of [...this.#ports.observers, this.#projector]) observer.reset?.();
    this.#opening = this.#opening.catch(() => undefined).then(() => leader?.close('stale', 1000));
  }

  /** What this process knew when it led last, provided that nobody has led since and the store has lost what it acknowledged then, or may have. */
  #remembered(highest: number, stored: number | null, runId: string): Memory | null {
    if (this.#last?.term !== highest) return null;
    return stored === null || runId !== this.#last.runId ? this.#last.memory : null;
  }

  /** Without the store nothing can be decided here, while it may well answer others: they are to lead. A leader waits for some time before it says so, since
   *  a store that was restarted is there for all of them at once. */
  #unfit(): string | null {
    if (this.#storeError === null) return null;
    const awayMs = this.#ports.clock.monotonic() - this.#storeSeenAt;
    return this.#holdsLease && awayMs <= this.#ports.settings.storePatienceMs ? null : `the store does not answer: ${this.#storeError}`;
  }

  /** Finds out when the store is away, was emptied, or is another server than before: an acknowledged write may be gone then. */
  async #checkStore(): Promise<void> {
    try {
      const { term, runId } = await this.#ports.store.state();
      this.#storeError = null;
      this.#storeSeenAt = this.#ports.clock.monotonic();
      // Somebody has led since: what this process remembers is of no use any more.
      if (this.#last && (term ?? 0) > this.#last.term) this.#last = null;
      const leader = this.#leader;
      if (!leader || !this.#holdsLease || this.#runId === null) return;
      if (term !== null && term > leader.term) this.#lead(null);
      else if (term === null || runId !== this.#runId) {
        this.#ports.log.warn(term === null ? 'the store was emptied' : 'the store is another server than before', { runId });
        this.#runId = null;
        this.#lead(leader.memory());
      }
    } catch (error) {
      this.#storeError = error instanceof Error ? error.message : String(error);
    }
  }
}

const minutes = (ms: number): string => `${Math.floor(ms / 60_000)} min`;
