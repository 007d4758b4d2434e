import type { AddressFigures, PoolFigures, Shown } from '../../actors/ports/figures.ts';
import { type Family, label } from './exposition.ts';

/** The `flipop_floatingippoolcontroller_*` series. The series of a pool or an address disappear with it. */
export interface PoolMetrics extends Shown<PoolFigures> {
  /** An assignment of one address ended; it counts even if its pool is not shown yet. */
  count(assignment: AssignmentEnd): void;
  /** Drops all views; the counts of assignments are kept. */
  clear(): void;
  /** Rendered from the last views: nothing stale remains, and events cost nothing. */
  readonly families: readonly Family[];
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

export function poolMetrics(): PoolMetrics {
  const views = new Map<string, PoolFigures>();
  const counts = new Map<string, Map<string, Counts>>();
  const keyOf = (namespace: string, name: string): string => `${namespace}/${name}`;

  return {
    show: (view) => {
      const key = keyOf(view.namespace, view.name);
      views.set(key, view);
      for (const ip of counts.get(key)?.keys() ?? []) if (!view.ips.some((shown) => shown.ip === ip)) counts.get(key)?.delete(ip);
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
    families: families(views, ({ namespace, name }, ip) => counts.get(keyOf(namespace, name))?.get(ip)),
  };
}

function families(
  views: ReadonlyMap<string, PoolFigures>,
  countsOf: (view: PoolFigures, ip: string) => Counts | undefined,
): readonly Family[] {
  const family = (name: string, type: Family['type'], help: string, samplesOf: (view: PoolFigures) => readonly string[]): Family => ({
    name: PREFIX + name,
    type,
    help,
    *lines() {
      // A copy: a pool that is removed and added again while this is sent would appear twice.
      for (const view of [...views.values()]) for (const sample of samplesOf(view)) yield `${PREFIX}${name}{${sample}`;
    },
  });
  const counter = (name: string, help: string, outcome: keyof Counts): Family =>
    family(name, 'counter', help, (view) => ofAddresses(view, (labels, { ip }) => `${labels}} ${countsOf(view, ip)?.[outcome] ?? 0}`));

  return [
    family('node_status', 'gauge', 'Matching nodes of the pool: available ones wait for an address, assigned ones have one.', (view) => [
      `${labelsOf(view)},status="available"} ${view.assignableNodes}`,
      `${labelsOf(view)},status="assigned"} ${view.ips.filter(({ providerID }) => providerID).length}`,
    ]),
    family('ip_state', 'gauge', '1 for the state that the address is in.', (view) =>
      ofAddresses(view, (labels, { state }) => `${labels},${label('state', state)}} 1`),
    ),
    family('ip_node', 'gauge', '1 for the node that the address is on.', (view) =>
      ofAddresses(view, (labels, { providerID, nodeName = '' }) =>
        providerID ? `${labels},${label('provider_id', providerID)},${label('node', nodeName)}} 1` : null,
      ),
    ),
    family('unfulfilled_ips', 'gauge', 'Addresses that are desired and not acquired yet.', (view) => [
      `${labelsOf(view)}} ${Math.max(0, view.desired - view.ips.length)}`,
    ]),
    counter('ip_assignments', 'Assignments of the address that the provider confirmed.', 'success'),
    counter('ip_assignment_errors', 'Assignments of the address that failed.', 'error'),
  ];
}

/** Labels of a pool; those of an address go between the two halves. */
const halvesOf = ({ namespace, name, provider, dns }: PoolFigures) =>
  [`${label('namespace', namespace)},${label('name', name)}`, `${label('provider', provider)},${label('dns', dns)}`] as const;

const labelsOf = (view: PoolFigures): string => halvesOf(view).join(',');

/** A sample per address, except where it is null. */
function ofAddresses(view: PoolFigures, sampleOf: (labels: string, address: AddressFigures) => string | null): readonly string[] {
  const [former, latter] = halvesOf(view);
  const samples = view.ips.map((address) => sampleOf(`${former},${label('ip', address.ip)},${latter}`, address));
  return samples.filter((sample) => sample !== null);
}
