import { Gauge, type Registry } from './prom-client.ts';

/** What the metrics show of one NodeDNSRecordSet. */
export interface RecordSetMetricsView {
  readonly namespace: string;
  readonly name: string;
  /** Of the DNS. */
  readonly provider: string;
  /** Full name of the record. */
  readonly dns: string;
  /** How many records the set holds, as last confirmed. */
  readonly records: number;
}

/** The `flipop_nodednsrecordset_*` series. A set that goes takes its series along. */
export interface RecordSetMetrics {
  /** Shows this from the next scrape on. */
  show(view: RecordSetMetricsView): void;
  /** The NodeDNSRecordSet is gone. */
  forget(namespace: string, name: string): void;
  /** Nothing is shown any more. */
  clear(): void;
}

export function recordSetMetrics(registry: Registry): RecordSetMetrics {
  const views = new Map<string, RecordSetMetricsView>();
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
