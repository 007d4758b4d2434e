import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { busyReplica } from './telemetry-busy.ts';
import { labelsOf, metricsOf, samplesOf } from './telemetry-scrape.ts';

interface Row {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
}

const cellsOf = (row: string): readonly string[] => row.split('|').map((cell) => cell.trim());

const page = readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8');

/** The series that the tables of the page name. */
const documented: readonly Row[] = page
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .flatMap((line) => {
    const [, names = '', type = '', labels = ''] = cellsOf(line);
    const listed = labels === '' ? [] : labels.split(', ').sort();
    return [...names.matchAll(/`([a-z_0-9]+)`/g)].map(([, name = '']) => ({ name, type, labels: listed }));
  });

describe('docs/metrics.md', () => {
  test('lists every series that a busy operator serves, with its type and its labels, and no other', async () => {
    const served = [...metricsOf(await (await busyReplica()).text()).values()];
    expect(served.length).toBeGreaterThan(35);
    const silent = served.filter(({ samples }) => samples.length === 0).map(({ name }) => name);
    expect(silent, 'the labels of a series without samples cannot be seen').toEqual([]);
    const rows = served.map((metric) => ({ name: metric.name, type: metric.type, labels: labelsOf(metric) }));
    const byName = (a: Row, b: Row): number => (a.name < b.name ? -1 : 1);
    expect([...documented].sort(byName)).toEqual(rows.sort(byName));
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

  test('says of each series what it means', () => {
    const rows = page.split('\n').filter((line) => line.startsWith('| `'));
    expect(rows.filter((line) => (cellsOf(line)[4] ?? '').length < 8)).toEqual([]);
  });
});
