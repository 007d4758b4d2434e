import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { busyReplica } from '../adapters/telemetry-busy.ts';
import { metricsOf } from '../adapters/telemetry-scrape.ts';
import { anchorsOf } from '../support/markdown.ts';
import { judge, type Scrape } from './promql-check.ts';
import { answerAt } from './promql-run.ts';

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

/** `$labels.x` in the text of an annotation. */
const labelsIn = (text: string): readonly string[] => [...text.matchAll(/\$labels\.(\w+)/g)].map(([, label = '']) => label);

describe('the alerts', () => {
  test('are rules for the Prometheus Operator, each of a name of its own', () => {
    expect(document).toMatchObject({ apiVersion: 'monitoring.coreos.com/v1', kind: 'PrometheusRule' });
    expect(new Set(document.spec.groups.map(({ name }) => name)).size).toBe(document.spec.groups.length);
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  });

  test('tell of a stuck address, errors of the provider, a missing leader and a low budget', () => {
    expect(rules.map(({ alert }) => alert)).toEqual(
      expect.arrayContaining(['RoutedIPAddressStuck', 'RoutedIPProviderErrors', 'RoutedIPNoLeader', 'RoutedIPBudgetLow']),
    );
  });

  test.each(rules)('$alert asks for series and labels that a busy operator serves', ({ expr }) => {
    expect(scrape.size).toBeGreaterThan(35);
    expect(judge(expr, scrape).problems).toEqual([]);
  });

  test.each(rules)('$alert says what is wrong, how bad it is and what to do, in words that its query can fill in', (rule) => {
    const { summary = '', description = '', runbook = '' } = rule.annotations;
    const { labels } = judge(rule.expr, scrape);
    expect(['critical', 'warning', 'info']).toContain(rule.labels.severity);
    for (const text of [summary, description]) {
      expect(text.length).toBeGreaterThan(10);
      expect(labelsIn(text).filter((label) => !labels.has(label))).toEqual([]);
    }
    const [page, anchor] = runbook.split('#');
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

describe('the alert that the operator starts over', () => {
  const { expr } = rules.find(({ alert }) => alert === 'RoutedIPStartsOver') ?? { expr: '' };
  const counted = 'changes(max(routedip_term)[1h:1m]) > 6';

  /** What the leader serves from a time on, s. */
  interface Since {
    readonly from: number;
    readonly term: number;
    readonly away: boolean;
  }

  /** A leader that has Redis, then for so long has not, with the Lease given up 15 s after that and every ten minutes, for 5 s each; then it has it again. */
  const outage = (from: number, seconds: number, term: number): readonly Since[] => {
    const offers = Array.from({ length: Math.ceil(Math.max(0, seconds - 15) / 600) }, (_, index) => from + 15 + 600 * index);
    return [
      { from, term: term + 1, away: true },
      ...offers.flatMap((at, index) => [
        { from: at, term: 0, away: false },
        { from: at + 5, term: term + 2 + index, away: true },
      ]),
      { from: from + seconds, term: term + 2 + offers.length, away: false },
    ];
  };

  /** Whether it fires at any minute of five hours, whichever second of a minute samples are of. */
  const fires = (query: string, history: readonly Since[]): boolean => {
    const now = (at: number): Since | undefined => history.findLast(({ from }) => from <= at);
    const sample = (name: string, at: number): number | null => {
      const since = now(at);
      if (!since) return null;
      return name === 'routedip_term' ? since.term : Number(since.away);
    };
    const seconds = Array.from({ length: 60 }, (_, second) => second);
    const minutes = Array.from({ length: 300 }, (_, minute) => minute);
    const firesAt = (minute: number, second: number): boolean =>
      answerAt(query, 60 * minute, (name, at) => sample(name, at + second)) !== null;
    return seconds.some((second) => minutes.some((minute) => firesAt(minute, second)));
  };

  const HOUR = 3_600;
  const begin: Since = { from: 0, term: 5, away: false };

  test('is silent while Redis is away for two hours, although the term changes every ten minutes', () => {
    const history = [begin, ...outage(HOUR, 2 * HOUR, 5)];
    expect(history.at(-1)).toMatchObject({ term: 19, away: false });
    expect([fires(counted, history), fires(expr, history)]).toEqual([true, false]);
  });

  test('fires when the term changes every eight minutes and Redis is there', () => {
    const changes = Array.from({ length: 20 }, (_, index) => ({ from: HOUR + 480 * index, term: 6 + index, away: false }));
    expect([fires(expr, [begin]), fires(expr, [begin, ...changes])]).toEqual([false, true]);
  });

  test('fires when Redis comes and goes every eight minutes', () => {
    const outages = Array.from({ length: 20 }, (_, index) => outage(HOUR + 480 * index, 120, 5 + 3 * index)).flat();
    expect(fires(expr, [begin, ...outages])).toBe(true);
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
    expect(rules.some(({ expr }) => expr.includes('by (namespace'))).toBe(true);
  });

  test('takes none of the names that Prometheus gives to what it scrapes', () => {
    const given = ['job', 'instance', 'pod', 'container', 'endpoint'];
    const own = new Set([...scrape.values()].flatMap(({ samples }) => samples.flatMap(({ labels }) => Object.keys(labels))));
    expect(own.has('namespace')).toBe(true);
    expect(given.filter((label) => own.has(label))).toEqual([]);
  });
});
