import type { FailoverFigures } from '../../actors/ports/figures.ts';
import type { JobObserver, Observer } from '../../actors/ports/observers.ts';
import type { Provider } from '../../actors/ports/provider.ts';
import { budgetMetrics, type TokenBudget } from './budget-metrics.ts';
import { exposition } from './exposition.ts';
import { driftMetrics, failoverMetrics } from './failover-metrics.ts';
import { type GroupMetricsView, groupMetrics } from './group-metrics.ts';
import { instrumentProvider } from './instrument-provider.ts';
import { type AccountView, inventoryMetrics } from './inventory-metrics.ts';
import { jobMetrics } from './job-metrics.ts';
import { type MachineRecord, machineMetrics } from './machine-metrics.ts';
import { objectMetrics, type ShownObject } from './object-metrics.ts';
import type { Objects } from './objects.ts';
import { type OutboxWatch, outboxMetrics } from './outbox-metrics.ts';
import { type PoolMetrics, poolMetrics } from './pool-metrics.ts';
import { processMetrics } from './process-metrics.ts';
import { Registry } from './prom-client.ts';
import { providerCalls } from './provider-calls.ts';
import { type RecordSetMetrics, recordSetMetrics } from './record-set-metrics.ts';
import { type RuntimeSources, runtimeMetrics } from './runtime-metrics.ts';
import type { Scraped } from './server.ts';
import { turnMetrics } from './turn-metrics.ts';

/** The sources of the metrics, read at each scrape. */
export interface MetricsSources extends RuntimeSources {
  /** Wall clock, ms since the epoch. */
  readonly now: () => number;
  /** Every record of this process while it leads; none while it does not. */
  readonly records: () => Iterable<MachineRecord>;
  readonly budgets: () => readonly TokenBudget[];
  /** The IPGroups that addresses are taken from, while this process leads; none while it does not. */
  readonly groups: () => readonly GroupMetricsView[];
  /** The inventory of accounts, while this process leads; none while it does not. */
  readonly accounts: () => readonly AccountView[];
  /** What this process shows of each object while it leads; none while it does not. */
  readonly objects: () => Iterable<ShownObject>;
}

/** All series of this process. */
export interface Metrics {
  readonly pools: PoolMetrics;
  readonly recordSets: RecordSetMetrics;
  readonly failover: (failover: FailoverFigures) => void;
  readonly drift: (provider: string) => void;
  /** Counts turns, transitions and the assignments in them, and the jobs that this replica runs. */
  readonly observer: Observer & JobObserver;
  /** The provider, with its calls counted and timed. */
  readonly instrument: (provider: Provider) => Provider;
  /** Observes what is saved, and what reaches its queue. */
  readonly outbox: Pick<OutboxWatch, 'store' | 'queues'>;
  /** Observes objects on every replica: the series of deleted objects are dropped. */
  readonly objects: Objects;
  /** The text that Prometheus scrapes. */
  scrape(): Promise<Scraped>;
}

/** The registry with all metrics of this process. */
export function createMetrics({ now, records, budgets, groups, accounts, objects, ...runtime }: MetricsSources): Metrics {
  const registry = new Registry();
  processMetrics(registry);
  runtimeMetrics(registry, runtime);
  budgetMetrics(registry, budgets);
  groupMetrics(registry, groups);
  inventoryMetrics(registry, accounts);
  objectMetrics(registry, objects);
  const pools = poolMetrics();
  const recordSets = recordSetMetrics(registry);
  const calls = providerCalls();
  const outbox = outboxMetrics(registry);
  const turns = turnMetrics({ registry, now, assignmentEnded: pools.count });
  const jobs = jobMetrics(registry);
  const machines = machineMetrics({ registry, records });
  return {
    pools,
    recordSets,
    failover: failoverMetrics(registry),
    drift: driftMetrics(registry),
    observer: {
      turnSaved: (turn) => {
        turns.turnSaved(turn);
        machines.turnSaved(turn);
      },
      eventSetAside: (event) => turns.eventSetAside?.(event),
      jobGivenUp: (queue) => jobs.jobGivenUp(queue),
      reset: () => {
        machines.reset?.();
        outbox.reset();
        pools.clear();
        recordSets.clear();
      },
      jobRan: jobs.jobRan,
    },
    outbox,
    instrument: (provider) => instrumentProvider(provider, calls),
    objects: {
      seen: calls.objectSeen,
      gone: (object) => {
        calls.objectGone(object);
        if (object.kind === 'FloatingIPPool') pools.forget(object.namespace, object.name);
        if (object.kind === 'NodeDNSRecordSet') recordSets.forget(object.namespace, object.name);
      },
    },
    scrape: async () => {
      const few = await registry.metrics();
      return { contentType: registry.contentType, body: () => exposition(few, [...pools.families, ...calls.families]) };
    },
  };
}
