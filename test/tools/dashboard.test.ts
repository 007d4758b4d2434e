import { beforeAll, describe, expect, test } from 'vitest';
import { busyReplica } from '../adapters/telemetry/busy.ts';
import { metricsOf } from '../adapters/telemetry/scrape.ts';
import { dashboard, type Target } from '../deploy/dashboard.ts';
import { type UnitTest, unitTest } from './promtool.ts';

const VARIABLES: Readonly<Record<string, string>> = { $__rate_interval: '5m', $__range: '15m', $namespace: '.*', $pool: '.*' };

/** A query as Grafana would send it, in brackets. */
const sent = (query: string): string => `(${query.replaceAll(/\$\w+/g, (name) => VARIABLES[name] ?? name)})`;

const quoted = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels)
    .map(([label, value]) => `${label}=${JSON.stringify(value)}`)
    .join(',');

/** What a busy operator has served each minute for half an hour: counters have grown by as much as they are. */
const seriesOf = (page: string): UnitTest['input_series'] =>
  [...metricsOf(page).values()].flatMap(({ type, samples }) =>
    samples.map(({ name, labels, value }) => {
      const number = Number.isFinite(value) ? value : 0;
      return { series: `${name}{${quoted(labels)}}`, values: `${number}+${type === 'gauge' ? 0 : number}x30` };
    }),
  );

const YES = [{ labels: '{}', value: 1 }];

let input_series: UnitTest['input_series'];
beforeAll(async () => {
  input_series = seriesOf(await (await busyReplica()).text());
  expect(input_series.length).toBeGreaterThan(300);
});

/** Each query, which has to answer 1 and nothing else. */
const expectTrue = (...queries: readonly string[]): void => {
  const promql_expr_test = queries.map((expr) => ({ expr, eval_time: '30m', exp_samples: YES }));
  expect(unitTest([{ name: 'busy', interval: '1m', input_series, promql_expr_test }])).toBe('');
};

/** Whether each line that `query` draws bears that label. */
const bears = (query: string, label: string): string => `count(${query} unless on (${label}) vector(1)) / count(${query})`;

/** `{{label}}` in the name of a line. */
const labelsIn = (legend: string): readonly string[] => [...legend.matchAll(/\{\{\s*(\w+)\s*\}\}/g)].map(([, label = '']) => label);

const panelsOf = (...types: readonly string[]) => dashboard.panels.filter(({ type }) => types.includes(type));
const targetsOf = (...types: readonly string[]): readonly (Target & { readonly title: string })[] =>
  panelsOf(...types).flatMap(({ title, targets = [] }) => targets.map((target) => ({ title, ...target })));

describe('the dashboard', () => {
  test('has no panel of another type', () => {
    expect(panelsOf('stat', 'table', 'timeseries', 'state-timeline', 'row')).toHaveLength(dashboard.panels.length);
  });

  test.each(targetsOf('stat'))('answers $title', ({ expr }) => expectTrue(`group(${sent(expr)})`));

  test.each(targetsOf('timeseries', 'state-timeline'))(
    'draws $title, tells its lines apart, and names them by what they bear: $expr',
    (target) => {
      const query = sent(target.expr);
      const labels = labelsIn(target.legendFormat ?? '');
      // No label is left beside those in the legend.
      expectTrue(`group without (${labels.join(', ')}) (${query})`, ...labels.map((label) => bears(query, label)));
    },
  );

  test.each(panelsOf('table'))('has columns in $title that its queries answer', ({ targets = [], transformations = [] }) => {
    const columns = transformations.flatMap(({ options }) => Object.keys(options.renameByName ?? {})).filter((name) => name !== 'Value');
    expect(columns.length).toBeGreaterThan(0);
    for (const { expr } of targets) expectTrue(...columns.map((column) => bears(sent(expr), column)));
  });

  test('offers values of its variables', () => {
    const asked = dashboard.templating.list.flatMap(
      ({ definition }) => /^label_values\((.+), (\w+)\)$/.exec(definition ?? '')?.slice(1) ?? [],
    );
    expect(asked).toHaveLength(4);
    const [namespaces = '', namespace = '', pools = '', pool = ''] = asked;
    expectTrue(bears(sent(namespaces), namespace), bears(sent(pools), pool));
  });

  test('marks a change of the leader, and none where there is none', () => {
    const [mark, ...others] = dashboard.annotations.list;
    expect(others).toEqual([]);
    const marks = (values: string, exp_samples: typeof YES): UnitTest => ({
      name: values,
      interval: '30s',
      input_series: [{ series: 'routedip_term', values }],
      promql_expr_test: [{ expr: `group(${sent(mark?.expr ?? '')})`, eval_time: '5m', exp_samples }],
    });
    expect(unitTest([marks('4x8 5x3', YES), marks('4x12', [])])).toBe('');
  });
});
