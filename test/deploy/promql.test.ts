import { describe, expect, test } from 'vitest';
import { metricsOf } from '../adapters/telemetry-scrape.ts';
import { parsePromQL } from './promql.ts';
import { judge } from './promql-check.ts';

const SCRAPE = metricsOf(`# TYPE up_total counter
up_total{call="a",outcome="success"} 1
up_total{call="a",outcome="error"} 1
# TYPE jobs gauge
jobs{queue="q"} 1
# TYPE leader gauge
leader 1
# TYPE took_seconds histogram
took_seconds_bucket{le="1",provider="p"} 1
took_seconds_bucket{le="+Inf",provider="p"} 1
took_seconds_sum{provider="p"} 1
took_seconds_count{provider="p"} 1
`);

describe('a query', () => {
  test('is read by the rank of its operators', () => {
    expect(parsePromQL('a + b * 2 > 1 or c')).toMatchObject({
      operator: 'or',
      left: { operator: '>', left: { operator: '+', right: { operator: '*' } } },
      right: { name: 'c' },
    });
  });

  test('has matchers, ranges, groupings and matchings', () => {
    expect(parsePromQL('sum by (x, y) (rate(a{b="c",d!~"e|f"}[5m])) / on (x) group_left (z) b')).toMatchObject({
      left: {
        name: 'sum',
        grouping: { mode: 'by', labels: ['x', 'y'] },
        of: {
          args: [
            {
              name: 'a',
              range: '5m',
              matchers: [
                { label: 'b', operator: '=', value: 'c' },
                { label: 'd', operator: '!~', value: 'e|f' },
              ],
            },
          ],
        },
      },
      matching: { mode: 'on', labels: ['x'] },
      group: { side: 'left', include: ['z'] },
    });
    expect(parsePromQL('sum(a) by (x)')).toEqual(parsePromQL('sum by (x) (a)'));
    expect(parsePromQL('changes(max(a)[1h:1m]) offset 5m')).toMatchObject({ args: [{ kind: 'subquery' }] });
  });

  test.each(['sum(a', 'a{b=c}', 'a[5]', 'a b', 'sum by x (a)', 'a +', '(a)[5m]', '', 'rate(a[5m]', 'a{b~"c"}', 'topk(a)'])(
    'that is none is refused: %s',
    (query) => expect(() => parsePromQL(query)).toThrow(),
  );
});

describe('the judgement of a query', () => {
  const right: Readonly<Record<string, readonly string[]>> = {
    'sum by (call) (rate(up_total{outcome="error"}[$__rate_interval]))': ['call'],
    'histogram_quantile(0.9, sum by (le, provider) (rate(took_seconds_bucket[5m])))': ['provider'],
    'sum by (call) (up_total{outcome="error"}) / sum by (call) (up_total) > 0.1': ['call'],
    'jobs{queue=~"$queue"} > 3': ['queue'],
    'time() - jobs': ['queue'],
    'max(leader) < 1 or absent(leader)': [],
    'changes(max(leader)[1h:1m]) > 2': [],
    'sum without (outcome) (up_total)': ['call'],
    'topk(2, up_total) unless jobs': ['call', 'outcome'],
  };
  test.each(Object.entries(right))('finds it right and knows its labels: %s', (query, labels) => {
    const judgement = judge(query, SCRAPE);
    expect(judgement.problems).toEqual([]);
    expect([...judgement.labels].sort()).toEqual(labels);
  });

  const wrong: Readonly<Record<string, string>> = {
    down_total: 'no series down_total',
    took_seconds: 'no series took_seconds',
    jobs_count: 'no series jobs_count',
    'up_total{verb="a"}': 'no label verb',
    'up_total{outcome="failure"}': 'never "failure"',
    'up_total{outcome!~"error|failure"}': 'never "failure"',
    'rate(jobs[5m])': 'rate is not for jobs',
    'delta(up_total[5m])': 'delta is not for up_total',
    'rate(up_total)': 'rate needs a range',
    'abs(up_total[5m])': 'abs takes no range',
    'rates(up_total)': 'rates is not known',
    'sum by (queue) (up_total)': 'queue is no label to group by',
    'histogram_quantile(0.9, sum by (provider) (rate(took_seconds_bucket[5m])))': 'needs the label le',
    'up_total / jobs': 'never match',
    'up_total * on (queue) jobs': 'queue is no label of both sides',
    'sum(up_total': 'is wanted',
  };
  test.each(Object.entries(wrong))('finds what is wrong: %s', (query, problem) => {
    expect(judge(query, SCRAPE).problems.join('\n')).toContain(problem);
  });
});
