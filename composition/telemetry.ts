import type { Log, Observer } from '../actors/ports/observers.ts';
import type { Clock } from '../actors/ports/records.ts';
import { figures } from '../actors/status/metrics.ts';
import { moveLog } from '../actors/status/move-log.ts';
import { createMetrics, type Metrics } from '../adapters/telemetry/metrics.ts';
import type { Parts } from './readiness.ts';

export interface Telemetry {
  readonly metrics: Metrics;
  /** Observers for the supervisor. */
  readonly observers: readonly Observer[];
}

/** The metrics of an operator under construction: missing parts are left out of a scrape. */
export function telemetry(
  version: string,
  { clock, log, observes }: { readonly clock: Clock; readonly log: Log; readonly observes: boolean },
  parts: Readonly<Parts>,
): Telemetry {
  const metrics = createMetrics({
    version,
    now: () => clock.now(),
    queues: async () => (await parts.queueCounts?.()) ?? {},
    leadership: () => ({ leading: parts.supervisor?.leading ?? false, term: parts.supervisor?.term ?? 0 }),
    observes,
    isStoreAway: () => parts.supervisor?.withoutStore() != null,
    storeFaults: () => parts.supervisor?.storeHealth.faults.map(({ reason }) => reason) ?? [],
    records: () => [...(parts.supervisor?.records().values() ?? [])].flatMap((cell) => [...cell.values()]),
    budgets: () => parts.budgets?.() ?? [],
    caches: () => parts.source?.caches() ?? [],
    unserved: () => parts.supervisor?.unserved() ?? [],
    unreadAccounts: () => parts.supervisor?.unreadAccounts() ?? new Map(),
    failing: () => parts.supervisor?.failing() ?? {},
    groups: () => parts.supervisor?.groups() ?? [],
    accounts: () => parts.supervisor?.inventory?.accounts ?? [],
    objects: () => parts.writer?.shown() ?? [],
  });
  const shown = figures({
    recordsOf: (cell) => parts.supervisor?.recordsOf(cell) ?? null,
    pools: metrics.pools,
    recordSets: metrics.recordSets,
    failover: metrics.failover,
    drift: metrics.drift,
  });
  return { metrics, observers: [metrics.observer, shown, moveLog({ log, clock })] };
}
