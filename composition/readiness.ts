import type { Supervisor } from '../actors/supervisor.ts';
import type { ReachableConnection } from '../adapters/kubernetes/client/reachability.ts';
import type { KubernetesSource } from '../adapters/kubernetes/source/source.ts';
import type { KubernetesWriter } from '../adapters/kubernetes/writer/writer.ts';
import type { TokenBudget } from '../adapters/telemetry/budget-metrics.ts';
import type { Check } from '../adapters/telemetry/server.ts';
import type { VipParts } from './vips.ts';

/** The parts of an operator built so far: metrics and probes are served before the rest. */
export interface Parts {
  /** What the start waits for; null for nothing. */
  waitingFor: string | null;
  supervisor?: Supervisor;
  source?: KubernetesSource;
  writer?: KubernetesWriter;
  /** Allocator for Services with IPGroup addresses. */
  allocator?: VipParts;
  connection?: ReachableConnection;
  /** How many jobs each queue holds, by their state. */
  queueCounts?: () => Promise<Readonly<Record<string, Readonly<Record<string, number>>>>>;
  /** The request budgets of the tokens in use. */
  budgets?: () => readonly TokenBudget[];
}

/** For /healthz: null, or why the process has to be restarted. */
export const fatal = (parts: Readonly<Parts>) => (): string | null => parts.supervisor?.stuck() ?? null;

/** For /readyz: each check returns null, or what is missing. */
export function readiness(parts: Readonly<Parts>): Readonly<Record<string, Check>> {
  const caches = () => {
    const missing = [...new Set([...(parts.source?.missing() ?? []), ...(parts.allocator?.source.missing() ?? [])])];
    return missing.length > 0 ? `caches not synced: ${missing.join('; ')}` : null;
  };
  return {
    kubernetes: () => parts.waitingFor ?? caches() ?? parts.supervisor?.hindrances().caches ?? parts.connection?.outage() ?? null,
    admission: () => parts.allocator?.hindrance() ?? null,
    rights: () => parts.allocator?.forbidden() ?? null,
    redis: () => parts.supervisor?.hindrances().store ?? null,
    leadership: () => parts.supervisor?.hindrances().leadership ?? null,
  };
}

/** Additional notices of /readyz. */
export const notices = (parts: Readonly<Parts>): Readonly<Record<string, () => string | null>> => ({
  redis: () => parts.supervisor?.withoutStore() ?? parts.supervisor?.storeHealth.notice ?? null,
  writes: () => parts.writer?.refused() ?? null,
  services: () => parts.allocator?.notice() ?? null,
  providers: () => unread(Object.values(parts.supervisor?.unreadProviders() ?? {})),
});

/** Only one is named: there may be thousands of issuers. */
function unread(whys: readonly string[]): string | null {
  const [first] = whys;
  if (first === undefined) return null;
  return whys.length === 1 ? first : `${first}; and ${whys.length - 1} more providers`;
}
