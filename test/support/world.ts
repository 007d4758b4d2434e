import { charts } from '../../actors/controllers/chart-registry.ts';
import type { KillPoint, Log, LogFields } from '../../actors/ports/observers.ts';
import type { Clock, Json } from '../../actors/ports/records.ts';
import { DEFAULT_SETTINGS, type Settings } from '../../actors/ports/settings.ts';
import type { Charts } from '../../actors/runtime/charts.ts';
import { switching } from '../../actors/runtime/store-failover.ts';
import { Supervisor, type SupervisorPorts } from '../../actors/supervisor.ts';
import { virtualClock } from '../../adapters/memory/clock.ts';
import { type MemoryCluster, memoryCluster } from '../../adapters/memory/cluster.ts';
import { type MemoryDirectory, memoryDirectory } from '../../adapters/memory/directory.ts';
import { type MemoryContender, memoryLease } from '../../adapters/memory/leadership.ts';
import { memoryLedger } from '../../adapters/memory/ledger.ts';
import { memoryNamespaces } from '../../adapters/memory/namespaces.ts';
import type { ProcessCluster } from '../../adapters/memory/process-cluster.ts';
import { type MemoryProvider, type MemoryProviderOptions, memoryProvider } from '../../adapters/memory/provider.ts';
import { memoryQueues } from '../../adapters/memory/queues.ts';
import { type MemoryStore, memoryStore } from '../../adapters/memory/store.ts';
import { type MemoryVipCluster, memoryVipCluster } from '../../adapters/memory/vip-cluster.ts';
import type { ProcessVips } from '../../adapters/memory/vip-process.ts';
import type { MemoryVipOptions } from '../../adapters/memory/vip-world.ts';
import { endableClock } from '../../adapters/system/clock.ts';
import { queryOf } from '../../machines/model/matching.ts';
import type { Address, ObjectRef, ObservedNode, ObservedPod, ProviderID } from '../../machines/model/types.ts';
import type { ProviderFacts } from '../../machines/spec/providers.ts';
import type { IPState, PoolStatus } from '../../machines/status/pool.ts';
import { termIn } from '../../machines/status/restore-pool.ts';
import { Invariants } from './invariants.ts';
import { known } from './log-keys.ts';
import { pausingClock, pausingSource } from './pausing.ts';
import { standIn, unlessDead } from './stand-in.ts';

export const PROVIDER = 'digitalocean';
const PREFIX = 'digitalocean://';

/** A Ready node that may hold an address, named as given; say what is different. */
export const node = (name: string, change: Partial<ObservedNode> = {}): ObservedNode => ({
  name,
  uid: `uid-${name}`,
  labels: { pool: 'work' },
  taints: [],
  ready: true,
  deleting: false,
  unschedulable: false,
  providerID: `${PREFIX}${name}`,
  region: 'nyc3',
  createdAt: 0,
  ...change,
});

export const pod = (name: string, nodeName: string, change: Partial<ObservedPod> = {}): ObservedPod => ({
  namespace: 'ingress',
  name,
  labels: { app: 'nginx' },
  nodeName,
  serving: true,
  ...change,
});

/** `made`: how many machines of the node's name there were, with this one. No provider gives the id of one to another. */
export const providerIDOf = (name: string, made = 1): ProviderID => `${PREFIX}${name}${made > 1 ? `#${made}` : ''}` as ProviderID;

/** The name of the node for which the machine was made. */
export const nodeNameOf = (providerID: string): string => providerID.slice(PREFIX.length).split('#')[0] ?? '';

/** Charts are the same wherever the figures are: to make them takes longer than a process takes to start, and what they have found out of themselves they keep. */
const made = new Map<string, Charts>();
const chartsOf = (settings: Settings, perNode: number): Charts => {
  const key = JSON.stringify([settings, perNode]);
  const known = made.get(key) ?? charts(settings, () => perNode);
  made.set(key, known);
  return known;
};

const FACTS: ProviderFacts = { addresses: true, dns: true, ipv6: false, addressesPerNode: 1, providerIDPrefix: PREFIX, missing: null };

export interface WorldOptions {
  readonly settings?: Partial<Settings>;
  readonly provider?: Omit<MemoryProviderOptions, 'name' | 'providerIDPrefix'>;
  readonly facts?: Partial<ProviderFacts>;
  /** Services with addresses of IPGroups are served, too. */
  readonly vips?: Omit<MemoryVipOptions, 'clock'> & {
    /** VirtualIPs are handled, too. */
    readonly virtualIPs?: boolean;
    /** Whether jobs about them may be taken yet; they may unless a test says otherwise. */
    readonly mayAct?: () => boolean;
  };
  /** Each process keeps records and jobs in its own memory: there is no Redis. */
  readonly fleeting?: boolean;
  /** Processes go on in memory while the store is away. */
  readonly away?: boolean;
  /** How long what the cluster is to show lags behind, ms; what is written before its effect does not. Default 0. */
  readonly lagMs?: number;
  /** Whatever goes through many objects pauses for so long after every other one of them, ms; not at all by default. */
  readonly pauseMs?: number;
  /** Puts deliberate defects into the charts. */
  readonly spoil?: (charts: Charts) => Charts;
}

/** Told at each kill point of a process; answers true to end the process there. */
export type Killer = (point: KillPoint, about: string) => boolean;

/** One operator process in the world. */
export interface OperatorProcess {
  readonly supervisor: Supervisor;
  /** What this process knows of the providers. */
  readonly providers: MemoryDirectory;
  readonly lease: MemoryContender;
  readonly cluster: ProcessCluster;
  /** Services, IPGroups and IPs as it sees them; undefined where they are not served. */
  readonly vips: ProcessVips | undefined;
  /** This process's way to the record store. */
  readonly store: Pick<MemoryStore, 'cut' | 'mend' | 'load' | 'isFleeting'>;
  /** The locks of its jobs are renewed no more, as if it were stopped by SIGSTOP; what runs goes on and is heard by nobody. */
  freeze(): void;
  /** Ends it without a word, as SIGKILL does. */
  kill(): void;
  /** Stops it as SIGTERM does. */
  stop(): Promise<void>;
  readonly dead: boolean;
}

/** Everything outside the operator, in memory, on one virtual clock; and operator processes that run, die and come again in it. */
export class World {
  readonly clock = virtualClock();
  readonly store = memoryStore();
  readonly queues = memoryQueues(this.clock);
  readonly lease = memoryLease(this.clock);
  /** What namespaces keep; and where the inventory is written down, nowhere unless a test says so. */
  readonly ledger = memoryLedger();
  inventoryWriter: SupervisorPorts['inventoryWriter'];
  readonly namespaces = memoryNamespaces();
  readonly cluster: MemoryCluster = memoryCluster({ queryOf, goes: (tell) => this.goes(tell), now: () => this.clock.now() });
  /** How those who watch hear that an object is gone; at once unless a test says otherwise. */
  goes: (tell: () => void) => void = (tell) => tell();
  /** Told of each process before it starts. */
  begins: (process: OperatorProcess) => void = () => undefined;
  /** Where the jobs of a process wait while it goes on without the store. */
  queuesWithout: (clock: Clock) => ReturnType<typeof memoryQueues> = memoryQueues;
  readonly provider: MemoryProvider;
  readonly settings: Settings;
  /** Services, IPGroups and IPs; null where they are not served. */
  readonly vips: MemoryVipCluster | null;
  readonly facts: ProviderFacts;
  /** Warnings and errors of all processes, for assertions and for reading. */
  readonly log: { level: string; message: string; fields: LogFields | undefined }[] = [];
  readonly invariants: Invariants;
  readonly #handlesVirtualIPs: boolean;
  readonly #mayAct: () => boolean;
  readonly #spoil: (charts: Charts) => Charts;
  readonly #fleeting: boolean;
  readonly #pauseMs: number;
  readonly #away: boolean;
  readonly #running = new Set<OperatorProcess>();
  /** By uid: the pools, RoutedIPs and record sets that are there. */
  readonly #objects = new Map<string, ObjectRef>();
  #startedAt = 0;
  /** Jumps of the wall clock, oldest first; virtual ms, ms. */
  readonly #jumps: { readonly at: number; readonly ms: number }[] = [];
  #processes = 0;

  constructor({
    settings = {},
    provider = {},
    facts = {},
    vips,
    fleeting = false,
    away = false,
    lagMs = 0,
    pauseMs = 0,
    spoil = (charts) => charts,
  }: WorldOptions = {}) {
    this.#fleeting = fleeting;
    this.#pauseMs = pauseMs;
    this.#away = away;
    if (lagMs > 0) this.#lag(lagMs);
    this.settings = { ...DEFAULT_SETTINGS, ...settings };
    this.facts = { ...FACTS, ...facts };
    this.vips = vips ? memoryVipCluster({ ...vips, clock: this.clock }) : null;
    this.#handlesVirtualIPs = vips?.virtualIPs ?? false;
    this.#mayAct = vips?.mayAct ?? (() => true);
    this.#spoil = spoil;
    this.provider = memoryProvider(this.clock, { actionMs: 300, callMs: 10, ...provider, name: PROVIDER, providerIDPrefix: PREFIX });
    void this.cluster.process().start({
      poolObserved: ({ ref }) => void this.#objects.set(ref.uid, ref),
      poolGone: ({ uid }) => void this.#objects.delete(uid),
      clusterObserved: () => undefined,
    });
    const { callDeadlineMs } = this.settings;
    this.invariants = new Invariants({
      provider: this.provider,
      monotonic: this.clock.monotonic,
      callDeadlineMs,
      perNode: this.facts.addressesPerNode,
      elapsed: (from, to) => this.elapsed(from, to),
      statusOf: (ref) => this.cluster.pool(ref)?.status,
      load: (cell) => (this.processes.find(({ supervisor }) => supervisor.leading)?.store ?? this.store).load(cell),
      killAll: () => {
        for (const process of this.processes) process.kill();
      },
    });
    this.invariants.isAway = () => this.processes.some(({ store }) => store.isFleeting?.());
  }

  /** How long it is from one virtual time to another as who goes by the wall clock may have it, ms: a jump forward counts as time. */
  elapsed(from: number, to: number): number {
    return this.#jumps.filter(({ at, ms }) => ms > 0 && at >= from && at <= to).reduce((sum, { ms }) => sum + ms, to - from);
  }

  /** The wall clock jumps. */
  jump(ms: number): void {
    this.#jumps.push({ at: this.clock.monotonic(), ms });
    this.clock.jump(ms);
  }

  /** Starts a process; resolves when it has started, not when it leads, or when it has died on the way. */
  async start(kills: Killer = () => false): Promise<OperatorProcess> {
    this.#processes += 1;
    for (const former of this.#running) if (former.dead) this.#running.delete(former);
    const clock = pausingClock(endableClock(this.clock), this.#pauseMs);
    // What a process remembers without Redis went with the last one.
    if (this.#fleeting && this.processes.length === 0) this.invariants.forget();
    const store = this.#fleeting ? memoryStore({ fleeting: true }) : this.store.connect();
    const queues = this.#fleeting ? memoryQueues(clock) : this.queues.connect();
    const lease = this.#watched(this.lease.contender(`process-${this.#processes}`));
    const cluster = this.cluster.process();
    const state = { dead: false };
    const death = Promise.withResolvers<void>();
    const end = () => {
      if (state.dead) return;
      state.dead = true;
      death.resolve();
      clock.end();
      lease.end();
      cluster.end();
      vips?.end();
      virtualIPs?.end();
      provider.end();
      store.reopen();
      queues.reopen();
    };
    const probe = (point: KillPoint, about: string) => {
      if (state.dead || !kills(point, about)) return;
      end();
      // From here on nothing that this process does has an effect; only what is about to be sent has to be held back.
      if (point === 'beforeSend') throw new Error(`killed ${point} ${about}`);
    };
    const vips = this.vips?.process({ probe });
    const virtualIPs = this.#handlesVirtualIPs ? this.vips?.virtualIPs.process({ probe }) : undefined;
    const provider = this.provider.process({ probe });
    const providers = memoryDirectory({ [PROVIDER]: { facts: this.facts, provider } });
    const living = unlessDead(queues, () => state.dead);
    const away = this.#away ? switching({ store, queues: living }, () => standIn(clock, this.queuesWithout, () => state.dead)) : null;
    const supervisor = new Supervisor({
      charts: this.#spoil(chartsOf(this.settings, this.facts.addressesPerNode)),
      store: away?.store ?? store,
      queues: away?.queues ?? living,
      ...(away && { away }),
      clock,
      log: this.#logOf(() => state.dead),
      probe,
      leadership: lease,
      source: pausingSource(clock, cluster, this.#pauseMs),
      writer: cluster,
      ledger: this.ledger.connect(() => state.dead),
      namespaces: this.namespaces.connect(() => state.dead),
      inventoryWriter: this.inventoryWriter,
      ...(vips && { vips: { source: vips, writer: vips, mayAct: this.#mayAct, ...(virtualIPs && { virtualIPs }) } }),
      providers,
      observers: [this.invariants],
      settings: this.settings,
    });
    const running: OperatorProcess = {
      supervisor,
      providers,
      lease,
      cluster,
      vips,
      // What counts is what this process goes by: that may be its own memory.
      store: { ...(away?.store ?? store), cut: store.cut, mend: store.mend },
      freeze: queues.stopRenewing,
      kill: end,
      stop: async () => {
        let stopped = false;
        void supervisor.stop().then(() => {
          stopped = true;
        });
        await this.clock.runUntil(() => stopped, this.settings.shutdownGraceMs);
        end();
      },
      get dead() {
        return state.dead;
      },
    };
    this.#running.add(running);
    this.#startedAt = this.clock.monotonic();
    this.begins(running);
    await Promise.race([supervisor.start(), death.promise]);
    return running;
  }

  #watched(contender: MemoryContender): MemoryContender {
    return {
      ...contender,
      writeTerm: async (term, server) => {
        const known = this.#knownTerm();
        const isKnown = known > 0 || this.store.checkpoint().data.term !== null;
        await contender.writeTerm(term, server);
        this.invariants.termWritten(term, known);
        if (!isKnown) this.invariants.forgetSent(null);
      },
    };
  }

  /** The highest term that stands on the Lease, in a status or in the store, which nobody can read while it is away. */
  #knownTerm(): number {
    const shown = [...this.#objects.values()].map((ref) => termIn(this.cluster.pool(ref)?.status));
    const stored = this.#away ? null : this.store.checkpoint().data.term;
    return Math.max(this.lease.term(), stored ?? 0, ...shown);
  }

  #lag(ms: number): void {
    this.cluster.lag();
    this.clock.after(ms, () => {
      this.cluster.catchUp();
      this.#lag(ms);
    });
  }

  /** When the newest process was started, monotonic ms. */
  get startedAt(): number {
    return this.#startedAt;
  }

  /** The processes that were started and have not ended. */
  get processes(): readonly OperatorProcess[] {
    return [...this.#running].filter(({ dead }) => !dead);
  }

  #logOf(isDead: () => boolean): Log {
    const write = (level: string) => (message: string, fields?: LogFields) => {
      if (!isDead()) this.log.push({ level, message, fields: known(fields) });
    };
    return { debug: () => {}, info: write('info'), warn: write('warn'), error: write('error') };
  }

  /** Adds an address to the account, on a node or on nothing. */
  address(address: string, nodeName: string | null = null): Address {
    this.provider.cloud.addAddress(address as Address, 'nyc3', nodeName === null ? null : providerIDOf(nodeName));
    return address as Address;
  }

  /** Nodes in the cluster with the machines behind them. */
  nodes(...nodes: readonly ObservedNode[]): void {
    this.provider.cloud.addNode(...nodes.map(({ providerID }) => providerID as ProviderID));
    this.cluster.setNode(...nodes);
  }

  pool(name: string, spec: { readonly [field: string]: Json }) {
    return this.cluster.setPool({ name, spec: { provider: PROVIDER, region: 'nyc3', match: { nodeLabel: 'pool=work' }, ...spec } });
  }

  /** Node name that holds the address at the provider; null for none. */
  holderOf(address: string): string | null {
    return nodeNameOf(this.provider.cloud.find(address as Address).providerID ?? '') || null;
  }

  status(ref: ObjectRef): Partial<PoolStatus> {
    return (this.cluster.pool(ref)?.status ?? {}) as Partial<PoolStatus>;
  }

  /** Address → FLIPOP's word for what it does, as the pool's status shows it. */
  states(ref: ObjectRef): Readonly<Record<string, IPState>> {
    return Object.fromEntries(Object.entries(this.status(ref).ips ?? {}).map(([address, { state }]) => [address, state]));
  }

  /** Waits until the pool's status shows exactly these words, in this order of addresses; answers the ms that passed. */
  untilStates(ref: ObjectRef, states: Readonly<Record<string, IPState>>, maxMs = 60_000): Promise<number> {
    const wanted = JSON.stringify(Object.entries(states).sort());
    return this.clock.runUntil(() => JSON.stringify(Object.entries(this.states(ref)).sort()) === wanted, maxMs);
  }

  /** Waits until the provider shows the address on the node; answers the ms that passed. */
  untilOn(address: string, nodeName: string | null, maxMs = 10_000): Promise<number> {
    return this.clock.runUntil(() => this.holderOf(address) === nodeName, maxMs);
  }

  /** Assigns that were sent, as `address → node`, with the virtual time at which they were. */
  assigns(): readonly { readonly at: number; readonly what: string; readonly result: string }[] {
    return this.provider
      .writes()
      .filter(({ verb }) => verb === 'assignRoutedIP')
      .map(({ at, args, result }) => ({ at, what: `${args[0]} → ${nodeNameOf(String(args[1]))}`, result }));
  }

  /** Errors that handling threw: a run that logs one is broken, whatever the end looks like. */
  faults(): readonly unknown[] {
    return this.log.filter(({ level }) => level === 'error');
  }
}
