import type { metricsOf, ScrapedMetric } from '../adapters/telemetry/scrape.ts';

export type Scrape = ReturnType<typeof metricsOf>;

const OVER_COUNTERS = ['rate', 'irate', 'increase'];
const OVER_GAUGES = ['delta', 'deriv', 'changes'];

const metricOf = (name: string, scrape: Scrape): ScrapedMetric | undefined =>
  scrape.get(name) ?? scrape.get(name.replace(/_(bucket|sum|count)$/, ''));

/** No variable of a dashboard, no pattern. */
const isPlain = (value: string): boolean => /^[\w:/.-]+$/.test(value) && !/[.][*+]/.test(value);

const SELECTOR = /(?:\b(\w+)\()?\b((?:flipop|routedip|process|nodejs)_\w+)(?:\{([^}]*)\})?/g;

/** In which a query names what is not in the scrape: series, labels and values of its selectors; and a function that is for another type of metric. As sentences;
 *  empty when it is right. That it is PromQL at all, and what it answers, promtool says: `npm run test:tools`. */
export const misnamed = (query: string, scrape: Scrape): readonly string[] =>
  [...query.matchAll(SELECTOR)].flatMap(([, called = '', name = '', matchers = '']) => {
    const metric = metricOf(name, scrape);
    const samples = metric?.samples.filter((sample) => sample.name === name) ?? [];
    if (samples.length === 0) return [`there is no series ${name}`];
    const misused = (metric?.type === 'gauge' ? OVER_COUNTERS : OVER_GAUGES).includes(called);
    return [...(misused ? [`${called} is not for ${name}`] : []), ...mismatched(name, matchers, samples)];
  });

const mismatched = (name: string, matchers: string, samples: ScrapedMetric['samples']): readonly string[] =>
  [...matchers.matchAll(/(\w+)[=!~]+"([^"]*)"/g)].flatMap(([, label = '', value = '']) => {
    const seen = new Set(samples.map(({ labels }) => labels[label]));
    if (seen.has(undefined)) return [`${name} has no label ${label}`];
    const never = value.split('|').filter((each) => isPlain(each) && !seen.has(each));
    return never.map((each) => `${label} of ${name} is never "${each}"`);
  });
