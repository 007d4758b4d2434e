import type { FailoverFigures } from '../../actors/ports/figures.ts';
import { Histogram, type Registry } from './prom-client.ts';

/** Measures failovers. Answers what is told of each. */
export function failoverMetrics(registry: Registry): (failover: FailoverFigures) => void {
  const duration = new Histogram({
    name: 'routedip_failover_duration_seconds',
    help: 'From the loss of its node until an address was active on another one.',
    labelNames: ['provider'] as const,
    buckets: [0.25, 0.5, 1, 1.5, 2, 3, 5, 10, 20, 30, 60, 120, 300, 900],
    registers: [registry],
  });
  return ({ provider, tookMs }) => duration.observe({ provider }, Math.max(0, tookMs) / 1000);
}
