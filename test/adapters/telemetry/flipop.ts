import { labelsOf, type ScrapedMetric } from './scrape.ts';

export interface Series {
  readonly name: string;
  readonly type: string;
  /** Sorted. */
  readonly labels: readonly string[];
}

const POOL = ['dns', 'name', 'namespace', 'provider'];
const ADDRESS = ['dns', 'ip', 'name', 'namespace', 'provider'];
const CALL = ['call', 'kind', 'name', 'namespace', 'provider'];

/** As FLIPOP's own program serves them, sorted by name: what dashboards and alerts that exist ask for. */
export const FLIPOP_SERIES: readonly Series[] = [
  { name: 'flipop_floatingippoolcontroller_ip_assignment_errors', type: 'counter', labels: ADDRESS },
  { name: 'flipop_floatingippoolcontroller_ip_assignments', type: 'counter', labels: ADDRESS },
  { name: 'flipop_floatingippoolcontroller_ip_node', type: 'gauge', labels: [...ADDRESS, 'node', 'provider_id'].sort() },
  { name: 'flipop_floatingippoolcontroller_ip_state', type: 'gauge', labels: [...ADDRESS, 'state'] },
  { name: 'flipop_floatingippoolcontroller_node_status', type: 'gauge', labels: [...POOL, 'status'] },
  { name: 'flipop_floatingippoolcontroller_unfulfilled_ips', type: 'gauge', labels: POOL },
  { name: 'flipop_nodednsrecordset_records', type: 'gauge', labels: POOL },
  { name: 'flipop_providers_call_duration_seconds', type: 'histogram', labels: CALL },
  { name: 'flipop_providers_calls_total', type: 'counter', labels: [...CALL, 'outcome'].sort() },
];

/** The series of a scrape that bear FLIPOP's name, sorted by name, with the labels of their samples. */
export const flipopSeriesOf = (scrape: ReadonlyMap<string, ScrapedMetric>): readonly Series[] =>
  [...scrape.values()]
    .filter(({ name }) => name.startsWith('flipop_'))
    .map((metric) => ({ name: metric.name, type: metric.type, labels: labelsOf(metric) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
