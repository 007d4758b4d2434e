import type { RecordSetFigures, Shown } from '../../actors/ports/figures.ts';
import { Gauge, type Registry } from './prom-client.ts';

/** The `flipop_nodednsrecordset_*` series. The series of a set disappear with it. */
export interface RecordSetMetrics extends Shown<RecordSetFigures> {
  /** Drops all views. */
  clear(): void;
}

export function recordSetMetrics(registry: Registry): RecordSetMetrics {
  const views = new Map<string, RecordSetFigures>();
  new Gauge({
    name: 'flipop_nodednsrecordset_records',
    help: 'Records of the set.',
    labelNames: ['namespace', 'name', 'provider', 'dns'] as const,
    registers: [registry],
    collect() {
      this.reset();
      for (const { namespace, name, provider, dns, records } of views.values()) this.set({ namespace, name, provider, dns }, records);
    },
  });
  return {
    show: (view) => void views.set(`${view.namespace}/${view.name}`, view),
    forget: (namespace, name) => void views.delete(`${namespace}/${name}`),
    clear: () => views.clear(),
  };
}
