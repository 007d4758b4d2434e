import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { busyReplica } from '../adapters/telemetry/busy.ts';
import { metricsOf, samplesOf } from '../adapters/telemetry/scrape.ts';
import { ALERTS, type AlertCase, type Series } from './alert-cases.ts';
import { type UnitTest, unitTest } from './promtool.ts';
import { runTool, temporaryFolder } from './tool.ts';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

const { groups } = (
  parse(readFileSync(new URL('../../deploy/prometheus/rules.yaml', import.meta.url), 'utf8')) as {
    readonly spec: { readonly groups: readonly { readonly rules: readonly Rule[] }[] };
  }
).spec;
const rules = groups.flatMap((group) => group.rules);

/** @throws Error when there is no such alert */
const ruleOf = (alert: string): Rule => {
  const rule = rules.find((each) => each.alert === alert);
  if (!rule) throw new Error(`no alert ${alert}`);
  return rule;
};

const seriesOf = (series: Series): UnitTest['input_series'] => Object.entries(series).map(([name, values]) => ({ series: name, values }));

/** The same, scraped in a cluster. */
const inCluster = (cluster: string, series: Series): Series =>
  Object.fromEntries(
    Object.entries(series).map(([name, values]) => [
      name.endsWith('}') ? `${name.slice(0, -1)},cluster="${cluster}"}` : `${name}{cluster="${cluster}"}`,
      values,
    ]),
  );

/** Minutes until it fires. */
const firesAt = ({ alert, begins }: AlertCase): number => begins + Number(/^(\d+)m$/.exec(ruleOf(alert).for ?? '0m')?.[1]);

/** What fires, with `labels` besides. */
const firing = (each: AlertCase, labels: object = {}) => {
  const rule = ruleOf(each.alert);
  return {
    exp_labels: { ...rule.labels, ...each.labels, ...labels },
    exp_annotations: { ...rule.annotations, summary: each.summary, description: each.description ?? rule.annotations.description },
  };
};

const OFTEN_ENOUGH = Array.from({ length: 41 }, (_, minute) => `${minute}m`);

let page: string;
beforeAll(async () => {
  page = await (await busyReplica()).text();
});

describe('promtool', () => {
  test('takes the rules, with nothing to mind', () => {
    const file = join(temporaryFolder(), 'rules.yaml');
    writeFileSync(file, stringify({ groups }));
    const { code, output } = runTool('promtool', ['check', 'rules', '--lint=all', '--lint-fatal', file]);
    expect([code, output]).toEqual([0, expect.stringContaining(`SUCCESS: ${rules.length} rules found`)]);
  });
});

describe('an alert', () => {
  test.each(ALERTS)('$alert fires, not before its time, and says so: $summary', (each) => {
    const at = firesAt(each);
    const alertname = each.alert;
    const found = unitTest(
      [
        {
          name: 'wrong',
          interval: '1m',
          input_series: seriesOf(each.wrong),
          alert_rule_test: [
            ...(at > 0 ? [{ eval_time: `${at - 1}m`, alertname, exp_alerts: [] }] : []),
            { eval_time: `${at}m`, alertname, exp_alerts: [firing(each)] },
          ],
        },
      ],
      groups,
    );
    expect(found).toBe('');
  });

  test.each(ALERTS)('$alert is silent where nothing is wrong: $summary', ({ alert, right }) => {
    const found = unitTest(
      right.map((series, index) => ({
        name: `right ${index}`,
        interval: '1m',
        input_series: seriesOf(series),
        alert_rule_test: OFTEN_ENOUGH.map((eval_time) => ({ eval_time, alertname: alert, exp_alerts: [] })),
      })),
      groups,
    );
    expect(right.length).toBeGreaterThan(0);
    expect(found).toBe('');
  });

  test.each(ALERTS)('$alert of two clusters in one Prometheus fires for the one that is wrong, and names it: $summary', (each) => {
    const found = unitTest(
      each.right.map((series, index) => ({
        name: `beside right ${index}`,
        interval: '1m',
        input_series: [...seriesOf(inCluster('a', each.wrong)), ...seriesOf(inCluster('b', series))],
        alert_rule_test: [{ eval_time: `${firesAt(each)}m`, alertname: each.alert, exp_alerts: [firing(each, { cluster: 'a' })] }],
      })),
      groups,
    );
    expect(found).toBe('');
  });

  test('of each name has been seen', () => {
    expect([...new Set(ALERTS.map(({ alert }) => alert)), 'RoutedIPStartsOver'].sort()).toEqual(rules.map(({ alert }) => alert).sort());
  });

  test('has been shown series that a busy operator serves', () => {
    const metrics = [...metricsOf(page).values()].flatMap(({ samples }) => samples);
    const shapeOf = ({ name, labels }: { readonly name: string; readonly labels: object }): string =>
      `${name} ${Object.keys(labels)
        .filter((label) => label !== 'instance')
        .sort()
        .join(' ')}`;
    const served = new Set(metrics.map(shapeOf));
    const shown = ALERTS.flatMap(({ wrong, right }) => [wrong, ...right].flatMap((series) => Object.keys(series)));
    const unknown = shown.flatMap((series) => samplesOf(`${series} 1`)).map(shapeOf);
    expect(unknown.length).toBeGreaterThan(30);
    expect(unknown.filter((shape) => !served.has(shape))).toEqual([]);
  });

  test('that nobody leads fires where no replica is left that could say so', () => {
    const alert = { exp_labels: { severity: 'critical' }, exp_annotations: { ...ruleOf('RoutedIPNoLeader').annotations } };
    const alert_rule_test = [{ eval_time: '1m', alertname: 'RoutedIPNoLeader', exp_alerts: [alert] }];
    expect(unitTest([{ name: 'none', interval: '1m', input_series: [], alert_rule_test }], groups)).toBe('');
  });
});

describe('the alert that the operator starts over', () => {
  const { expr, annotations, labels } = ruleOf('RoutedIPStartsOver');
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

  /** Scraped each minute at that second of it, for five hours; whether `query` answers at any of them. */
  const scraped = (history: readonly Since[], second: number, query: string, fires: boolean): UnitTest => {
    const at = Array.from({ length: 300 }, (_, minute) => history.findLast(({ from }) => from <= 60 * minute + second));
    const series = (name: string, of: (since: Since) => number) => ({
      series: name,
      values: at.map((since) => (since ? of(since) : '_')).join(' '),
    });
    return {
      name: `${query} at second ${second}`,
      interval: '1m',
      input_series: [series('routedip_term', ({ term }) => term), series('routedip_store_away', ({ away }) => Number(away))],
      promql_expr_test: [
        { expr: `group(max_over_time((${query})[5h:1m]))`, eval_time: '299m', exp_samples: fires ? [{ labels: '{}', value: 1 }] : [] },
      ],
    };
  };

  const SECONDS = Array.from({ length: 60 }, (_, second) => second);
  const HOUR = 3_600;
  const begin: Since = { from: 0, term: 5, away: false };

  test('is silent while Redis is away for two hours, although the term changes every ten minutes', () => {
    const history = [begin, ...outage(HOUR, 2 * HOUR, 5)];
    expect(history.at(-1)).toMatchObject({ term: 19, away: false });
    expect(unitTest(SECONDS.map((second) => scraped(history, second, expr, false)))).toBe('');
    // Scraped while the Lease is given up, each of these changes counts twice.
    expect(unitTest([scraped(history, 17, counted, true)])).toBe('');
  });

  test('fires when the term changes every eight minutes and Redis is there', () => {
    const changes = Array.from({ length: 20 }, (_, index) => ({ from: HOUR + 480 * index, term: 6 + index, away: false }));
    expect(unitTest([scraped([begin], 0, expr, false), scraped([begin, ...changes], 0, expr, true)])).toBe('');
  });

  test('fires when Redis comes and goes every eight minutes', () => {
    const outages = Array.from({ length: 20 }, (_, index) => outage(HOUR + 480 * index, 120, 5 + 3 * index)).flat();
    expect(unitTest([scraped([begin, ...outages], 0, expr, true)])).toBe('');
  });

  test('says how often', () => {
    const alert = {
      exp_labels: labels,
      exp_annotations: { ...annotations, description: annotations.description?.replace('{{ $value }}', '7') },
    };
    const input_series = seriesOf({ routedip_term: '1+1x7 8x60', routedip_store_away: '0x70' });
    const alert_rule_test = [{ eval_time: '30m', alertname: 'RoutedIPStartsOver', exp_alerts: [alert] }];
    expect(unitTest([{ name: 'seven', interval: '1m', input_series, alert_rule_test }], groups)).toBe('');
  });

  test('of two clusters in one Prometheus says which', () => {
    const wrong = inCluster('a', { routedip_term: '1+1x7 8x60', routedip_store_away: '0x70' });
    const right = inCluster('b', { routedip_term: '1x70', routedip_store_away: '0x70' });
    const alert = {
      exp_labels: { ...labels, cluster: 'a' },
      exp_annotations: { ...annotations, description: annotations.description?.replace('{{ $value }}', '7') },
    };
    const alert_rule_test = [{ eval_time: '30m', alertname: 'RoutedIPStartsOver', exp_alerts: [alert] }];
    const input_series = [...seriesOf(wrong), ...seriesOf(right)];
    expect(unitTest([{ name: 'which', interval: '1m', input_series, alert_rule_test }], groups)).toBe('');
  });
});
