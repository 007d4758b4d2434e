import { Histogram, type Registry } from './prom-client.ts';

/** An address that lost its node is active on another one. */
export interface Failover {
  readonly provider: string;
  /** From the turn that heard of the loss to the one that heard the confirmation, ms. */
  readonly tookMs: number;
}

/** Measures failovers. Answers what is told of each. */
export function failoverMetrics(registry: Registry): (failover: Failover) => void {
  const duration = new Histogram({
    name: 'routedip_failover_duration_seconds',
    help: 'From the loss of its node until an address was active on another one.',
    labelNames: ['provider'] as const,
    buckets: [0.25, 0.5, 1, 1.5, 2, 3, 5, 10, 20, 30, 60, 120, 300, 900],
    registers: [registry],
  });
  return ({ provider, tookMs }) => duration.observe({ provider }, Math.max(0, tookMs) / 1000);
}
