import type { FailoverFigures } from '../../actors/ports/figures.ts';
import { Counter, Histogram, type Registry } from './prom-client.ts';

/** Measures failovers. Returns the function to call for each. */
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

/** Counts addresses moved externally. Returns the function to call for each, with the name of its provider. */
export function driftMetrics(registry: Registry): (provider: string) => void {
  const drift = new Counter({
    name: 'routedip_drift_total',
    help: 'Addresses that the provider showed elsewhere than where they had been confirmed.',
    labelNames: ['provider'] as const,
    registers: [registry],
  });
  return (provider) => drift.inc({ provider });
}
