import { describe, expect, test } from 'vitest';
import { busyReplica } from './telemetry-busy.ts';
import { type DocumentedSeries, documentedSeries } from './telemetry-page.ts';
import { labelsOf, metricsOf, samplesOf } from './telemetry-scrape.ts';

type Row = Pick<DocumentedSeries, 'name' | 'type' | 'labels'>;

const byName = (a: Row, b: Row): number => (a.name < b.name ? -1 : 1);

describe('docs/metrics.md', () => {
  test('lists every series that a busy operator serves, with its type and its labels, and no other', async () => {
    const served = [...metricsOf(await (await busyReplica()).text()).values()];
    expect(served.length).toBeGreaterThan(35);
    const silent = served.filter(({ samples }) => samples.length === 0).map(({ name }) => name);
    expect(silent, 'the labels of a series without samples cannot be seen').toEqual([]);
    const shown: readonly Row[] = served.map((metric) => ({ name: metric.name, type: metric.type, labels: labelsOf(metric) }));
    const documented: readonly Row[] = documentedSeries().map(({ name, type, labels }) => ({ name, type, labels }));
    expect([...documented].sort(byName)).toEqual([...shown].sort(byName));
  });

  test('says of each series what it means', () => {
    expect(documentedSeries().filter(({ meaning }) => meaning.length < 8)).toEqual([]);
  });

  test('says rightly that no series of routedip_* bears the name of an object, a node or an address', async () => {
    const samples = samplesOf(await (await busyReplica()).text());
    const values = (prefix: string) =>
      new Set(samples.filter(({ name }) => name.startsWith(prefix)).flatMap(({ labels }) => Object.values(labels)));
    const names = ['ingress', 'other', 'default', 'b', 'c', '203.0.113.7', '203.0.113.8', 'digitalocean://b'];
    expect(names.filter((name) => !values('flipop_').has(name))).toEqual([]);
    expect(values('routedip_').size).toBeGreaterThan(20);
    expect(names.filter((name) => values('routedip_').has(name))).toEqual([]);
  });
});

/** As FLIPOP's own program serves them: what dashboards and alerts that exist ask for. */
const FLIPOP: readonly Row[] = [
  { name: 'flipop_floatingippoolcontroller_ip_assignment_errors', type: 'counter', labels: ['dns', 'ip', 'name', 'namespace', 'provider'] },
  { name: 'flipop_floatingippoolcontroller_ip_assignments', type: 'counter', labels: ['dns', 'ip', 'name', 'namespace', 'provider'] },
  {
    name: 'flipop_floatingippoolcontroller_ip_node',
    type: 'gauge',
    labels: ['dns', 'ip', 'name', 'namespace', 'node', 'provider', 'provider_id'],
  },
  { name: 'flipop_floatingippoolcontroller_ip_state', type: 'gauge', labels: ['dns', 'ip', 'name', 'namespace', 'provider', 'state'] },
  { name: 'flipop_floatingippoolcontroller_node_status', type: 'gauge', labels: ['dns', 'name', 'namespace', 'provider', 'status'] },
  { name: 'flipop_floatingippoolcontroller_unfulfilled_ips', type: 'gauge', labels: ['dns', 'name', 'namespace', 'provider'] },
  { name: 'flipop_nodednsrecordset_records', type: 'gauge', labels: ['dns', 'name', 'namespace', 'provider'] },
  { name: 'flipop_providers_call_duration_seconds', type: 'histogram', labels: ['call', 'kind', 'name', 'namespace', 'provider'] },
  { name: 'flipop_providers_calls_total', type: 'counter', labels: ['call', 'kind', 'name', 'namespace', 'outcome', 'provider'] },
];

test('the series of FLIPOP are served with its names, types and labels, and no other under its name', async () => {
  const served = metricsOf(await (await busyReplica()).text());
  const own = [...served.values()].filter(({ name }) => name.startsWith('flipop_'));
  const rows: readonly Row[] = own.map((metric) => ({ name: metric.name, type: metric.type, labels: labelsOf(metric) }));
  expect([...rows].sort(byName)).toEqual([...FLIPOP].sort(byName));
});
