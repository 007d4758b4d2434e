import { describe, expect, test } from 'vitest';
import { metricsOf } from '../adapters/telemetry/scrape.ts';
import { misnamed } from './query-names.ts';

const SCRAPE = metricsOf(`# TYPE routedip_up_total counter
routedip_up_total{call="a",outcome="success"} 1
routedip_up_total{call="a",outcome="error"} 1
# TYPE routedip_jobs gauge
routedip_jobs{queue="q"} 1
# TYPE routedip_took_seconds histogram
routedip_took_seconds_bucket{le="1",provider="p"} 1
routedip_took_seconds_bucket{le="+Inf",provider="p"} 1
routedip_took_seconds_sum{provider="p"} 1
routedip_took_seconds_count{provider="p"} 1
`);

describe('the names in a query', () => {
  test.each([
    'sum by (call) (rate(routedip_up_total{outcome="error"}[$__rate_interval]))',
    'histogram_quantile(0.9, sum by (le, provider) (rate(routedip_took_seconds_bucket[5m])))',
    'routedip_jobs{queue=~"$queue"} > 3 or changes(routedip_jobs[1h])',
    'sum(routedip_up_total{outcome!~"error|success", call="a"})',
  ])('are right: %s', (query) => expect(misnamed(query, SCRAPE)).toEqual([]));

  const wrong: Readonly<Record<string, string>> = {
    routedip_down_total: 'no series routedip_down_total',
    routedip_took_seconds: 'no series routedip_took_seconds',
    'sum(routedip_up_total{verb="a"})': 'no label verb',
    'routedip_up_total{call="a", outcome="failure"}': 'never "failure"',
    'routedip_up_total{outcome!~"error|failure"}': 'never "failure"',
    'rate(routedip_jobs[5m])': 'rate is not for routedip_jobs',
    'sum(delta(routedip_up_total[5m]))': 'delta is not for routedip_up_total',
  };
  test.each(Object.entries(wrong))('are wrong: %s', (query, problem) => expect(misnamed(query, SCRAPE).join('\n')).toContain(problem));
});
