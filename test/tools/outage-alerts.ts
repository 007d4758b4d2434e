// Which alerts fire when an outage goes on as it did between two scrapes.
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { metricsOf, type Sample } from '../adapters/telemetry/scrape.ts';
import { unitTest } from './promtool.ts';

export interface Scrape {
  readonly text: string;
  /** Ms since the epoch. */
  readonly time: number;
}

/** Longer than any of these alerts waits. */
const STEADY_MINUTES = 20;
const OUTAGE_MINUTES = 30;

interface Rule {
  readonly alert: string;
  readonly expr: string;
}

const { groups } = (
  parse(readFileSync(new URL('../../deploy/prometheus/rules.yaml', import.meta.url), 'utf8')) as {
    readonly spec: { readonly groups: readonly { readonly rules: readonly Rule[] }[] };
  }
).spec;

/** Why not all of the alerts fire, or the first one does so before; empty when all is as it should be. All that was scraped is shown to their rules: gauges stay as they are in
 *  the end, counters and times go on as they did from the first scrape to the second. */
export function whySilent(alerts: readonly string[], before: Scrape, after: Scrape): string {
  const [first] = alerts;
  const tests = alerts.map((alert) => ({
    name: alert,
    interval: '1m',
    input_series: seriesFor(ruleOf(alert), before, after),
    promql_expr_test: [
      ...(alert === first ? [{ expr: firing(alert), eval_time: `${STEADY_MINUTES - 1}m`, exp_samples: [{ labels: '{}', value: 0 }] }] : []),
      {
        expr: `${firing(alert)} > bool 0`,
        eval_time: `${STEADY_MINUTES + OUTAGE_MINUTES - 1}m`,
        exp_samples: [{ labels: '{}', value: 1 }],
      },
    ],
  }));
  return alerts.length === 0 ? '' : unitTest(tests, groups);
}

const firing = (alert: string): string => `(count(ALERTS{alertname="${alert}",alertstate="firing"}) or vector(0))`;

/** @throws Error when there is no such alert */
function ruleOf(alert: string): Rule {
  const rule = groups.flatMap(({ rules }) => rules).find((each) => each.alert === alert);
  if (!rule) throw new Error(`there is no alert ${alert}`);
  return rule;
}

type Values = (was: number | undefined, is: number | undefined, scrapes: { readonly was: Scrape; readonly is: Scrape }) => string;

function seriesFor({ expr }: Rule, was: Scrape, is: Scrape) {
  const words = new Set(expr.match(/[a-zA-Z_:][\w:]*/g));
  const [before, after] = [samplesFor(words, was), samplesFor(words, is)];
  return [...new Set([...before.keys(), ...after.keys()])].map((series) => {
    const { type, value: past } = before.get(series) ?? { type: after.get(series)?.type ?? '', value: undefined };
    const values: Values = series.includes('_timestamp_seconds') ? ofTime : type === 'counter' ? ofCounter : ofGauge;
    return { series, values: values(past, after.get(series)?.value, { was, is }) };
  });
}

function samplesFor(words: ReadonlySet<string>, { text }: Scrape): ReadonlyMap<string, { readonly type: string; readonly value: number }> {
  const metrics = [...metricsOf(text).values()];
  return new Map(
    metrics.flatMap(({ type, samples }) =>
      samples.filter(({ name }) => words.has(name)).map((sample) => [nameOf(sample), { type, value: sample.value }] as const),
    ),
  );
}

const nameOf = ({ name, labels }: Sample): string =>
  `${name}{${Object.entries(labels).map(([label, text]) => `${label}=${JSON.stringify(text)}`)}}`;

const rising = (from: number, perMinute: number, minutes: number): string => {
  const sign = perMinute < 0 ? '-' : '+';
  return `${from.toFixed(6)}${sign}${Math.abs(perMinute).toFixed(6)}x${minutes - 1}`;
};

const missing = (minutes: number): string => `_x${minutes}`;

const minutesBetween = ({ was, is }: Parameters<Values>[2]): number => (is.time - was.time) / 60_000;

const ofGauge: Values = (was, is) =>
  [
    was === undefined ? missing(STEADY_MINUTES) : rising(was, 0, STEADY_MINUTES),
    is === undefined ? missing(OUTAGE_MINUTES) : rising(is, 0, OUTAGE_MINUTES),
  ].join(' ');

const ofCounter: Values = (was, is, scrapes) => {
  const from = was ?? 0;
  return [
    was === undefined ? missing(STEADY_MINUTES) : rising(was, 0, STEADY_MINUTES),
    is === undefined ? missing(OUTAGE_MINUTES) : rising(from, (is - from) / minutesBetween(scrapes), OUTAGE_MINUTES),
  ].join(' ');
};

/** In the time of the unit test, which begins at 0. */
const ofTime: Values = (was, is, scrapes) => {
  if (was === undefined || is === undefined) return missing(STEADY_MINUTES + OUTAGE_MINUTES);
  const from = was - scrapes.was.time / 1_000;
  const perMinute = Math.min(60, (is - was) / minutesBetween(scrapes));
  return [rising(from, 60, STEADY_MINUTES), rising(from + STEADY_MINUTES * 60, perMinute, OUTAGE_MINUTES)].join(' ');
};
