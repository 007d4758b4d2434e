import type { Observer } from '../../actors/ports.ts';
import { type PoolMetrics, poolMetrics } from './pool-metrics.ts';
import { processMetrics } from './process-metrics.ts';
import { Gauge, Registry } from './prom-client.ts';
import { turnMetrics } from './turn-metrics.ts';

type QueueCounts = Readonly<Record<string, number>>;

interface MetricsSources {
  readonly version: string;
  /** Wall clock, ms since the epoch. */
  readonly now: () => number;
  /** Jobs by queue, then by state. Asked at each scrape; one that throws leaves its series out of that scrape. */
  readonly queues: () => Promise<Readonly<Record<string, QueueCounts>>>;
  /** Whether this process decides, and under which term; term 0 for none. */
  readonly leadership: () => { readonly leading: boolean; readonly term: number };
}

/** All series of this process. */
export interface Metrics {
  /** For what registers series of its own, e.g. `instrumentProvider`. */
  readonly registry: Registry;
  readonly pools: PoolMetrics;
  /** Counts turns and transitions, and the assignments in them. */
  readonly observer: Observer;
  /** The text that Prometheus scrapes. */
  scrape(): Promise<{ readonly contentType: string; readonly body: string }>;
}

/** The registry with everything that is counted in this process. */
export function createMetrics({ version, now, queues, leadership }: MetricsSources): Metrics {
  const registry = new Registry();
  processMetrics(registry);
  const pools = poolMetrics(registry);
  const turns = turnMetrics({ registry, now, assignmentEnded: pools.count });
  registerBuild(registry, version);
  registerQueues(registry, queues);
  registerLeadership(registry, leadership);
  return {
    registry,
    pools,
    observer: { turnSaved: turns.turnSaved, reset: pools.clear },
    scrape: async () => ({ contentType: registry.contentType, body: await registry.metrics() }),
  };
}

function registerBuild(registry: Registry, version: string): void {
  const labelNames = ['version', 'node'] as const;
  const build = new Gauge({ name: 'routedip_build_info', help: '1, with what this is.', labelNames, registers: [registry] });
  build.set({ version, node: process.version }, 1);
}

function registerQueues(registry: Registry, queues: MetricsSources['queues']): void {
  new Gauge({
    name: 'routedip_queue_jobs',
    help: 'Jobs in a queue, by state.',
    labelNames: ['queue', 'state'] as const,
    registers: [registry],
    async collect() {
      this.reset();
      // While Redis is away there is no answer, and no series is more honest than the last one. /readyz says what is wrong.
      const counts = await queues().catch(() => ({}));
      for (const [queue, states] of Object.entries(counts)) {
        for (const [state, jobs] of Object.entries(states)) this.set({ queue, state }, jobs);
      }
    },
  });
}

function registerLeadership(registry: Registry, leadership: MetricsSources['leadership']): void {
  const registers = [registry];
  new Gauge({
    name: 'routedip_leader',
    help: '1 while this process decides.',
    registers,
    collect() {
      this.set(leadership().leading ? 1 : 0);
    },
  });
  new Gauge({
    name: 'routedip_term',
    help: 'Term under which this process decides, or last saw another do so.',
    registers,
    collect() {
      this.set(leadership().term);
    },
  });
}
