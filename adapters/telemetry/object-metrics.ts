import type { Condition } from '../../machines/model/types.ts';
import { Gauge, type Registry } from './prom-client.ts';

/** One object with its conditions. */
export interface ShownObject {
  readonly kind: string;
  readonly conditions: Iterable<Condition>;
}

/** Counts objects by each of their conditions. Read at each scrape, so that nothing remains of deleted objects. */
export function objectMetrics(registry: Registry, objects: () => Iterable<ShownObject>): void {
  new Gauge({
    name: 'routedip_objects',
    help: 'Objects by what their conditions say.',
    labelNames: ['kind', 'condition', 'status', 'reason'] as const,
    registers: [registry],
    collect() {
      this.reset();
      for (const { kind, conditions } of objects())
        for (const { type: condition, status, reason } of conditions) this.inc({ kind, condition, status, reason });
    },
  });
}
