import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { busyReplica } from '../adapters/telemetry/busy.ts';
import { metricsOf } from '../adapters/telemetry/scrape.ts';
import { anchorsOf } from '../support/markdown.ts';
import { misnamed, type Scrape } from './query-names.ts';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

const document = parse(read('deploy/prometheus/rules.yaml')) as {
  readonly apiVersion: string;
  readonly kind: string;
  readonly spec: { readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[] };
};
const rules = document.spec.groups.flatMap((group) => group.rules);

let scrape: Scrape;
beforeAll(async () => {
  scrape = metricsOf(await (await busyReplica()).text());
});

describe('the alerts', () => {
  test('are rules for the Prometheus Operator, each of a name of its own', () => {
    expect(document).toMatchObject({ apiVersion: 'monitoring.coreos.com/v1', kind: 'PrometheusRule' });
    expect(new Set(document.spec.groups.map(({ name }) => name)).size).toBe(document.spec.groups.length);
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  });

  test('are the same in the chart, all with a runbook that its value can lead elsewhere', () => {
    const text = read('deploy/chart/files/rules.yaml');
    expect(parse(text)).toEqual(document.spec);
    expect(text.match(/ runbook_url: docs\//g)).toHaveLength(rules.length);
  });

  test('tell of a stuck address, errors of the provider, a missing leader and a low budget', () => {
    expect(rules.map(({ alert }) => alert)).toEqual(
      expect.arrayContaining(['RoutedIPAddressStuck', 'RoutedIPProviderErrors', 'RoutedIPNoLeader', 'RoutedIPBudgetLow']),
    );
  });

  test.each(rules)('$alert asks for series and labels that a busy operator serves', ({ expr }) => {
    expect(scrape.size).toBeGreaterThan(35);
    expect(misnamed(expr, scrape)).toEqual([]);
  });

  test.each(rules)('$alert keeps the label by which Prometheus tells clusters apart', ({ expr }) => {
    const aggregated = [...expr.matchAll(/\b(?:sum|min|max|avg|count|group|quantile|topk|bottomk)\b\s*(?:by \(([^)]*)\))?/g)];
    expect(aggregated.length).toBeGreaterThan(0);
    for (const [aggregation, labels = ''] of aggregated) expect(labels.split(', '), aggregation).toContain('cluster');
  });

  test.each(rules)('$alert says what is wrong, how bad it is and what to do', (rule) => {
    const { summary = '', description = '', runbook_url = '' } = rule.annotations;
    expect(['critical', 'warning', 'info']).toContain(rule.labels.severity);
    for (const text of [summary, description]) expect(text.length).toBeGreaterThan(10);
    const [page, anchor] = runbook_url.split('#');
    expect(page).toBe('docs/operations.md');
    expect(anchorsOf(read('docs/operations.md'))).toContain(anchor);
  });

  test('are all in docs/metrics.md, and no other', () => {
    const named = [...read('docs/metrics.md').matchAll(/^\| `(RoutedIP\w+)` \| (\w+) \|/gm)].map(([, alert, severity]) => ({
      alert,
      severity,
    }));
    expect(named.length).toBeGreaterThan(5);
    expect(named).toEqual(rules.map(({ alert, labels }) => ({ alert, severity: labels.severity })));
  });
});

describe('the scraping', () => {
  const [monitor] = parseAllDocuments(read('deploy/prometheus/pod-monitor.yaml')).map((each) => each.toJS());
  const operator = parse(read('deploy/operator.yaml')) as {
    readonly metadata: { readonly namespace: string };
    readonly spec: {
      readonly template: {
        readonly metadata: { readonly labels: Readonly<Record<string, string>> };
        readonly spec: { readonly containers: readonly { readonly ports: readonly { readonly name: string }[] }[] };
      };
    };
  };

  test('finds the pods of the operator and their port for metrics', () => {
    expect(monitor).toMatchObject({ kind: 'PodMonitor', metadata: { namespace: operator.metadata.namespace } });
    const { labels } = operator.spec.template.metadata;
    expect(labels).toMatchObject(monitor.spec.selector.matchLabels);
    const ports = operator.spec.template.spec.containers.flatMap((container) => container.ports.map(({ name }) => name));
    expect(ports).toContain(monitor.spec.podMetricsEndpoints[0].port);
  });

  test('keeps the namespaces of pools, which the queries ask for', () => {
    expect(monitor.spec.podMetricsEndpoints).toMatchObject([{ honorLabels: true }]);
    expect(rules.some(({ expr }) => expr.includes('by (cluster, namespace'))).toBe(true);
  });

  test('takes none of the names that Prometheus gives to what it scrapes', () => {
    const given = ['job', 'instance', 'pod', 'container', 'endpoint'];
    const own = new Set([...scrape.values()].flatMap(({ samples }) => samples.flatMap(({ labels }) => Object.keys(labels))));
    expect(own.has('namespace')).toBe(true);
    expect(given.filter((label) => own.has(label))).toEqual([]);
  });
});
