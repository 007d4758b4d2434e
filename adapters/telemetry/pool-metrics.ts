import type { PoolFigures, Shown } from '../../actors/ports/figures.ts';
import { Counter, Gauge, type Registry } from './prom-client.ts';

/** The `flipop_floatingippoolcontroller_*` series. A pool or an address that goes takes its series along. */
export interface PoolMetrics extends Shown<PoolFigures> {
  /** An assignment of one address came to its end; one of a pool that is not shown yet counts all the same. */
  count(assignment: AssignmentEnd): void;
  /** Nothing is shown any more; the counts of assignments go on. */
  clear(): void;
}

export interface AssignmentEnd {
  readonly namespace: string;
  readonly name: string;
  readonly ip: string;
  readonly outcome: 'success' | 'error';
}

interface Counts {
  success: number;
  error: number;
}

const PREFIX = 'flipop_floatingippoolcontroller_';
const POOL = ['namespace', 'name', 'provider', 'dns'] as const;
const ADDRESS = ['namespace', 'name', 'ip', 'provider', 'dns'] as const;

/** Registers the series. They are computed at each scrape from the last views: nothing stale can stay, and an event costs nothing. */
export function poolMetrics(registry: Registry): PoolMetrics {
  const views = new Map<string, PoolFigures>();
  const counts = new Map<string, Map<string, Counts>>();
  const keyOf = (namespace: string, name: string): string => `${namespace}/${name}`;
  registerGauges(registry, views);
  registerCounters(registry, views, (view, ip) => counts.get(keyOf(view.namespace, view.name))?.get(ip));

  return {
    show: (view) => {
      const key = keyOf(view.namespace, view.name);
      views.set(key, view);
      for (const ip of counts.get(key)?.keys() ?? []) if (!view.ips[ip]) counts.get(key)?.delete(ip);
    },
    forget: (namespace, name) => {
      views.delete(keyOf(namespace, name));
      counts.delete(keyOf(namespace, name));
    },
    count: ({ namespace, name, ip, outcome }) => {
      const ofPool = counts.get(keyOf(namespace, name)) ?? new Map<string, Counts>();
      const ofAddress = ofPool.get(ip) ?? { success: 0, error: 0 };
      ofAddress[outcome] += 1;
      counts.set(keyOf(namespace, name), ofPool.set(ip, ofAddress));
    },
    clear: () => views.clear(),
  };
}

function registerGauges(registry: Registry, views: ReadonlyMap<string, PoolFigures>): void {
  const gauge = <L extends string>(name: string, help: string, labelNames: readonly L[], fill: (gauge: Gauge<L>) => void): void => {
    new Gauge<L>({
      name: PREFIX + name,
      help,
      labelNames: [...labelNames],
      registers: [registry],
      collect() {
        this.reset();
        fill(this);
      },
    });
  };

  gauge(
    'node_status',
    'Matching nodes of the pool: available ones wait for an address, assigned ones have one.',
    [...POOL, 'status'],
    (series) => {
      for (const view of views.values()) {
        series.set({ ...poolLabels(view), status: 'available' }, view.assignableNodes);
        series.set({ ...poolLabels(view), status: 'assigned' }, Object.values(view.ips).filter((ip) => ip.providerID).length);
      }
    },
  );
  gauge('ip_state', '1 for the state that the address is in.', [...ADDRESS, 'state'], (series) => {
    for (const [view, ip] of addresses(views)) series.set({ ...addressLabels(view, ip), state: view.ips[ip]?.state ?? '' }, 1);
  });
  gauge('ip_node', '1 for the node that the address is on.', [...ADDRESS, 'provider_id', 'node'], (series) => {
    for (const [view, ip] of addresses(views)) {
      const { providerID, nodeName } = view.ips[ip] ?? {};
      if (providerID) series.set({ ...addressLabels(view, ip), provider_id: providerID, node: nodeName ?? '' }, 1);
    }
  });
  gauge('unfulfilled_ips', 'Addresses that are desired and not acquired yet.', POOL, (series) => {
    for (const view of views.values()) series.set(poolLabels(view), Math.max(0, view.desired - view.acquired));
  });
}

function registerCounters(
  registry: Registry,
  views: ReadonlyMap<string, PoolFigures>,
  countsOf: (view: PoolFigures, ip: string) => Counts | undefined,
): void {
  const counter = (name: string, help: string, outcome: keyof Counts): void => {
    new Counter({
      name: PREFIX + name,
      help,
      labelNames: ADDRESS,
      registers: [registry],
      collect() {
        this.reset();
        for (const [view, ip] of addresses(views)) this.inc(addressLabels(view, ip), countsOf(view, ip)?.[outcome] ?? 0);
      },
    });
  };
  counter('ip_assignments', 'Assignments of the address that the provider confirmed.', 'success');
  counter('ip_assignment_errors', 'Assignments of the address that failed.', 'error');
}

const poolLabels = ({ namespace, name, provider, dns }: PoolFigures) => ({ namespace, name, provider, dns });
const addressLabels = ({ namespace, name, provider, dns }: PoolFigures, ip: string) => ({ namespace, name, ip, provider, dns });

function* addresses(views: ReadonlyMap<string, PoolFigures>): Generator<readonly [PoolFigures, string]> {
  for (const view of views.values()) for (const ip of Object.keys(view.ips)) yield [view, ip];
}
