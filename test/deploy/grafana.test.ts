import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { busyReplica } from '../adapters/telemetry/busy.ts';
import { metricsOf } from '../adapters/telemetry/scrape.ts';
import { dashboard, type Panel } from './dashboard.ts';
import { misnamed, type Scrape } from './query-names.ts';

const charts = dashboard.panels.filter(({ type }) => type !== 'row');
const queries = charts.flatMap(({ title, targets = [] }) => targets.map((target) => ({ title, ...target })));
const variables = dashboard.templating.list;

let scrape: Scrape;
beforeAll(async () => {
  scrape = metricsOf(await (await busyReplica()).text());
});

const isVariable = (name: string): boolean => name.startsWith('__') || variables.some((variable) => variable.name === name);

const overlap = ({ gridPos: a }: Panel, { gridPos: b }: Panel): boolean =>
  a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;

describe('the dashboard', () => {
  test.each(queries)('$title asks for series and labels that a busy operator serves: $expr', ({ expr }) => {
    expect(scrape.size).toBeGreaterThan(35);
    expect(misnamed(expr, scrape)).toEqual([]);
  });

  test('has variables for the data source, the namespaces and the pools, and uses no other', () => {
    expect(variables.map(({ name }) => name)).toEqual(['datasource', 'namespace', 'pool']);
    for (const { definition } of variables.filter(({ type }) => type === 'query')) {
      expect(definition).toMatch(/^label_values\(.+, \w+\)$/);
      expect(misnamed(definition ?? '', scrape)).toEqual([]);
    }
    const used = [...JSON.stringify(dashboard).matchAll(/\$\{?(\w+)\}?/g)].map(([, name = '']) => name);
    expect(used).toEqual(expect.arrayContaining(['datasource', 'namespace', 'pool', '__rate_interval']));
    expect(used.filter((name) => !isVariable(name))).toEqual([]);
  });

  test('marks changes of the leader', () => {
    expect(dashboard.annotations.list.length).toBeGreaterThan(0);
    for (const { expr } of dashboard.annotations.list) expect(misnamed(expr, scrape)).toEqual([]);
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
