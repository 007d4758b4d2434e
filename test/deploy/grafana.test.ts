import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { busyReplica } from '../adapters/telemetry-busy.ts';
import { metricsOf } from '../adapters/telemetry-scrape.ts';
import { judge, type Scrape } from './promql-check.ts';

interface Target {
  readonly expr: string;
  readonly legendFormat?: string;
  readonly datasource: { readonly uid: string };
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly Target[];
  readonly transformations?: readonly { readonly options: { readonly renameByName?: Readonly<Record<string, string>> } }[];
}

const dashboard = JSON.parse(readFileSync(new URL('../../deploy/grafana/routedip-operator.json', import.meta.url), 'utf8')) as {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly type: string; readonly definition?: string }[] };
  readonly annotations: { readonly list: readonly { readonly expr: string }[] };
};
const charts = dashboard.panels.filter(({ type }) => type !== 'row');
const queries = charts.flatMap(({ title, targets = [] }) => targets.map((target) => ({ title, ...target })));
const variables = dashboard.templating.list;

let scrape: Scrape;
beforeAll(async () => {
  scrape = metricsOf(await (await busyReplica()).text());
});

/** `{{label}}` in the name of a line. */
const labelsIn = (legend: string): readonly string[] => [...legend.matchAll(/\{\{\s*(\w+)\s*\}\}/g)].map(([, label = '']) => label);

const isVariable = (name: string): boolean => name.startsWith('__') || variables.some((variable) => variable.name === name);

const overlap = ({ gridPos: a }: Panel, { gridPos: b }: Panel): boolean =>
  a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;

describe('the dashboard', () => {
  test.each(queries)('$title asks for series and labels that a busy operator serves, and names its lines by them: $expr', (query) => {
    expect(scrape.size).toBeGreaterThan(35);
    const { problems, labels } = judge(query.expr, scrape);
    expect(problems).toEqual([]);
    expect(labelsIn(query.legendFormat ?? '').filter((label) => !labels.has(label))).toEqual([]);
  });

  test('shows columns of its tables that their queries answer', () => {
    const tables = charts.filter(({ type }) => type === 'table');
    expect(tables.length).toBeGreaterThan(1);
    for (const { title, targets = [], transformations = [] } of tables) {
      const labels = new Set(targets.flatMap(({ expr }) => [...judge(expr, scrape).labels]));
      const columns = transformations.flatMap(({ options }) => Object.keys(options.renameByName ?? {})).filter((name) => name !== 'Value');
      expect(columns.length, title).toBeGreaterThan(0);
      expect(
        columns.filter((column) => !labels.has(column)),
        title,
      ).toEqual([]);
    }
  });

  test('tells lines of one panel apart', () => {
    const drawn = charts.filter(({ type }) => type === 'timeseries' || type === 'state-timeline');
    expect(drawn.length).toBeGreaterThan(15);
    for (const { title, targets = [] } of drawn) {
      const legends = targets.map(({ legendFormat = '' }) => legendFormat);
      expect(new Set(legends).size, title).toBe(legends.length);
      for (const { expr, legendFormat = '' } of targets) {
        const lost = [...judge(expr, scrape).labels].filter((label) => !labelsIn(legendFormat).includes(label));
        expect(lost, `${title}: ${expr}`).toEqual([]);
      }
    }
  });

  test('has variables for the data source, the namespaces and the pools, and uses no other', () => {
    expect(variables.map(({ name }) => name)).toEqual(['datasource', 'namespace', 'pool']);
    for (const { definition } of variables.filter(({ type }) => type === 'query')) {
      const [, series = '', label = ''] = /^label_values\((.+), (\w+)\)$/.exec(definition ?? '') ?? [];
      const { problems, labels } = judge(series, scrape);
      expect(problems).toEqual([]);
      expect(labels).toContain(label);
    }
    const used = [...JSON.stringify(dashboard).matchAll(/\$\{?(\w+)\}?/g)].map(([, name = '']) => name);
    expect(used).toEqual(expect.arrayContaining(['datasource', 'namespace', 'pool', '__rate_interval']));
    expect(used.filter((name) => !isVariable(name))).toEqual([]);
  });

  test('marks changes of the leader', () => {
    expect(dashboard.annotations.list.length).toBeGreaterThan(0);
    for (const { expr } of dashboard.annotations.list) expect(judge(expr, scrape).problems).toEqual([]);
  });

  test('says of each panel what it shows, from which source, and where it stands', () => {
    expect(charts.length).toBeGreaterThan(20);
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    for (const panel of charts) {
      expect(panel.description?.length, panel.title).toBeGreaterThan(4);
      expect(panel.targets?.length, panel.title).toBeGreaterThan(0);
      for (const { datasource } of panel.targets ?? []) expect(datasource.uid).toBe(`\${${variables[0]?.name}}`);
      expect(panel.gridPos.x + panel.gridPos.w, panel.title).toBeLessThanOrEqual(24);
      const others = dashboard.panels.filter((other) => other !== panel && overlap(panel, other));
      expect(
        others.map(({ title }) => title),
        panel.title,
      ).toEqual([]);
    }
  });

  test('shows where addresses are, failover, errors, budgets, queues, the leader and that it works without Redis', () => {
    const asked = queries.map(({ expr }) => expr).join('\n');
    const wanted = ['ip_node', 'failover_duration', 'outcome="error"', 'budget_left', 'queue_jobs', 'routedip_leader', 'store_away'];
    expect(wanted.filter((part) => !asked.includes(part))).toEqual([]);
  });

  test('leaves no series of the operator unused by it and by the alerts but what stands for itself', () => {
    const rules = readFileSync(new URL('../../deploy/prometheus/rules.yaml', import.meta.url), 'utf8');
    const asked = queries.map(({ expr }) => expr).join('\n') + rules;
    const own = [...scrape.keys()].filter((name) => /^(flipop|routedip)_/.test(name));
    expect(own.length).toBeGreaterThan(25);
    expect(own.filter((name) => !asked.includes(name))).toEqual([]);
  });
});
