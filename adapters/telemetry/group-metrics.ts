import { Gauge, type Registry } from './prom-client.ts';

/** What the metrics show of one IPGroup. */
export interface GroupMetricsView {
  readonly name: string;
  readonly capacity: bigint;
  readonly allocated: bigint;
  readonly available: bigint;
}

/** Exports how many addresses each IPGroup has left. Read at each scrape, so that the series of a group disappear with it. Figures above 2^53 are rounded. */
export function groupMetrics(registry: Registry, groups: () => readonly GroupMetricsView[]): void {
  new Gauge({
    name: 'routedip_ipgroup_capacity',
    help: 'Addresses that an IPGroup can give in all.',
    labelNames: ['ipgroup'] as const,
    registers: [registry],
    collect() {
      this.reset();
      for (const { name, capacity } of groups()) this.set({ ipgroup: name }, Number(capacity));
    },
  });
  new Gauge({
    name: 'routedip_ipgroup_addresses',
    help: 'Addresses of an IPGroup that are reserved, and that are free.',
    labelNames: ['ipgroup', 'state'] as const,
    registers: [registry],
    collect() {
      this.reset();
      for (const { name, allocated, available } of groups()) {
        this.set({ ipgroup: name, state: 'allocated' }, Number(allocated));
        this.set({ ipgroup: name, state: 'available' }, Number(available));
      }
    },
  });
}
