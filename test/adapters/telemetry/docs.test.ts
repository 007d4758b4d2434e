import { describe, expect, test } from 'vitest';
import { busyReplica } from './busy.ts';
import { FLIPOP_SERIES, flipopSeriesOf } from './flipop.ts';
import { type DocumentedSeries, documentedSeries } from './page.ts';
import { labelsOf, metricsOf, samplesOf } from './scrape.ts';

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

test('the series of FLIPOP are served with its names, types and labels, and no other under its name', async () => {
  expect(flipopSeriesOf(metricsOf(await (await busyReplica()).text()))).toEqual(FLIPOP_SERIES);
});
