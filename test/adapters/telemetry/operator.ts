import { charts } from '../../../actors/controllers/chart-registry.ts';
import type { Log } from '../../../actors/ports/observers.ts';
import type { Clock, Json } from '../../../actors/ports/records.ts';
import { DEFAULT_SETTINGS } from '../../../actors/ports/settings.ts';
import { OUTCOMES, TIMERS } from '../../../actors/runtime/queue-data.ts';
import { figures } from '../../../actors/status/metrics.ts';
import { Supervisor } from '../../../actors/supervisor.ts';
import { type MemoryBudget, memoryBudget } from '../../../adapters/memory/budget.ts';
import { type VirtualClock, virtualClock } from '../../../adapters/memory/clock.ts';
import { memoryCluster } from '../../../adapters/memory/cluster.ts';
import { memoryDirectory } from '../../../adapters/memory/directory.ts';
import { memoryLease } from '../../../adapters/memory/leadership.ts';
import { memoryProvider } from '../../../adapters/memory/provider.ts';
import { memoryQueues } from '../../../adapters/memory/queues.ts';
import { memoryStore } from '../../../adapters/memory/store.ts';
import { endableClock } from '../../../adapters/system/clock.ts';
import { createMetrics, type Metrics, type MetricsSources } from '../../../adapters/telemetry/metrics.ts';
import { toldToo } from '../../../adapters/telemetry/objects.ts';
import { queryOf } from '../../../machines/model/matching.ts';
import type { Address, ObjectRef, ObservedNode } from '../../../machines/model/types.ts';
import type { ProviderFacts } from '../../../machines/spec/providers.ts';
import { node, PROVIDER, providerIDOf } from '../../support/world.ts';
import { type Sample, samplesOf } from './scrape.ts';

const FACTS: ProviderFacts = {
  addresses: true,
  dns: true,
  ipv6: false,
  addressesPerNode: 1,
  providerIDPrefix: 'digitalocean://',
  missing: null,
};

/** The token of the operator, as its metrics name it. */
export const TOKEN_HASH = '0123456789abcdef';

const SILENT: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** What all replicas share. */
function outside() {
  const clock = virtualClock();
  const provider = memoryProvider(clock, { name: PROVIDER, providerIDPrefix: FACTS.providerIDPrefix, actionMs: 300, callMs: 10 });
  return {
    clock,
    provider,
    cluster: memoryCluster({ queryOf }),
    store: memoryStore(),
    queues: memoryQueues(clock),
    lease: memoryLease(clock),
    budget: memoryBudget(clock),
  };
}

type Outside = ReturnType<typeof outside>;

/** One replica with its metrics. */
export interface Replica {
  readonly supervisor: Supervisor;
  readonly metrics: Metrics;
  readonly text: () => Promise<string>;
  /** The samples of one series, by name, that bear these labels. */
  readonly samples: (name: string, labels?: Readonly<Record<string, string>>) => Promise<readonly Sample[]>;
  /** The sum of those samples; null when there are none. */
  readonly value: (name: string, labels?: Readonly<Record<string, string>>) => Promise<number | null>;
}

/** Operators in memory, put together as main.ts does, on one virtual clock. */
export class MeasuredWorld {
  readonly #outside: Outside = outside();
  readonly #pools: ObjectRef[] = [];
  #replicas = 0;

  get clock(): VirtualClock {
    return this.#outside.clock;
  }

  get provider(): Outside['provider'] {
    return this.#outside.provider;
  }

  get cluster(): Outside['cluster'] {
    return this.#outside.cluster;
  }

  get queues(): Outside['queues'] {
    return this.#outside.queues;
  }

  get budget(): MemoryBudget {
    return this.#outside.budget;
  }

  nodes(...names: readonly string[]): void {
    this.provider.cloud.addNode(...names.map((name) => providerIDOf(name)));
    this.cluster.setNode(...names.map((name) => node(name)));
  }

  change(name: string, change: Partial<ObservedNode>): void {
    this.cluster.setNode(node(name, change));
  }

  address(address: string, nodeName: string | null = null): void {
    this.provider.cloud.addAddress(address as Address, 'nyc3', nodeName === null ? null : providerIDOf(nodeName));
  }

  pool(name: string, spec: { readonly [field: string]: Json }): ObjectRef {
    const ref = this.cluster.setPool({ name, spec: { provider: PROVIDER, region: 'nyc3', match: { nodeLabel: 'pool=work' }, ...spec } });
    this.#pools.push(ref);
    return ref;
  }

  /** Waits until the status shows the address in this state. */
  untilState(ref: ObjectRef, address: string, state: string, maxMs = 60_000): Promise<number> {
    const stateOf = () => (this.cluster.pool(ref)?.status as { ips?: Record<string, { state: string }> } | null)?.ips?.[address]?.state;
    return this.clock.runUntil(() => stateOf() === state, maxMs);
  }

  /** Starts one more replica; the first one leads. */
  async start(sources: Partial<MetricsSources> = {}): Promise<Replica> {
    this.#replicas += 1;
    const { lease, store, queues, cluster, provider, budget } = this.#outside;
    const clock: Clock = endableClock(this.clock);
    const parts: { supervisor?: Supervisor } = {};
    const [ownQueues, ownCluster] = [queues.connect(), cluster.process()];
    const names = [PROVIDER, OUTCOMES, TIMERS];
    const metrics = createMetrics({
      version: '1.2.3',
      now: () => clock.now(),
      queues: async () => Object.fromEntries(await Promise.all(names.map(async (name) => [name, await ownQueues.queue(name).counts()]))),
      leadership: () => ({ leading: parts.supervisor?.leading ?? false, term: parts.supervisor?.term ?? 0 }),
      // A Service that waits, one that is contended, and the group that is nearly full, are not of this cluster: no addresses of IPGroups are given here.
      records: () => [
        ...[...(parts.supervisor?.records().values() ?? [])].flatMap((cell) => [...cell.values()]),
        ...(parts.supervisor?.leading ? ['Pending', 'Contended'] : []).map((value) => ({
          chart: 'vip-service',
          snapshot: { value, context: {} },
        })),
      ],
      objects: () =>
        this.#pools.map((ref) => ({ kind: ref.kind, conditions: parts.supervisor?.leading ? this.cluster.conditions(ref) : [] })),
      groups: () => [{ name: 'edge', capacity: 5n, allocated: 3n, available: 2n }],
      accounts: () => parts.supervisor?.inventory?.accounts ?? [],
      observes: false,
      isStoreAway: () => parts.supervisor?.withoutStore() != null,
      unserved: () => [{ kind: 'RoutedIP', reason: 'ProviderUnread', count: 1 }],
      unreadAccounts: () => parts.supervisor?.unreadAccounts() ?? new Map(),
      failing: () => parts.supervisor?.failing() ?? { save: 0, turn: 0 },
      storeFaults: () => parts.supervisor?.storeHealth.faults.map(({ reason }) => reason) ?? [],
      budgets: () => [{ provider: PROVIDER, tokenHash: TOKEN_HASH, budget }],
      caches: () => [{ kind: 'FloatingIPPool', synced: true, syncedAt: clock.now() }],
      ...sources,
    });
    const shown = figures({
      recordsOf: (cell) => parts.supervisor?.records().get(cell) ?? null,
      pools: metrics.pools,
      recordSets: metrics.recordSets,
      failover: metrics.failover,
      drift: metrics.drift,
    });
    const supervisor = new Supervisor({
      charts: charts(DEFAULT_SETTINGS, () => 1),
      store: metrics.outbox.store(store.connect()),
      queues: metrics.outbox.queues(ownQueues),
      clock,
      log: SILENT,
      probe: () => {},
      leadership: lease.contender(`replica-${this.#replicas}`),
      source: toldToo(ownCluster, metrics.objects),
      writer: ownCluster,
      providers: memoryDirectory({ [PROVIDER]: { facts: FACTS, provider: metrics.instrument(provider.process({ budget })) } }),
      observers: [metrics.observer, shown],
      settings: DEFAULT_SETTINGS,
    });
    parts.supervisor = supervisor;
    await supervisor.start();
    return replicaOf(supervisor, metrics);
  }
}

function replicaOf(supervisor: Supervisor, metrics: Metrics): Replica {
  const text = async () => [...(await metrics.scrape()).body()].join('');
  const samples: Replica['samples'] = async (name, labels = {}) =>
    samplesOf(await text()).filter(
      (sample) => sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
    );
  const value: Replica['value'] = async (name, labels) => {
    const found = await samples(name, labels);
    return found.length === 0 ? null : found.reduce((sum, sample) => sum + sample.value, 0);
  };
  return { supervisor, metrics, text, samples, value };
}
