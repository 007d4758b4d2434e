import { Gauge, type Registry } from './prom-client.ts';

/** Shows how many changes of each sort an operator that only observes holds back. Without one there is no such series. */
export function withheldMetrics(registry: Registry, withheld: (() => readonly { readonly what: string }[]) | undefined): void {
  if (withheld === undefined) return;
  new Gauge({
    name: 'routedip_withheld_changes',
    help: 'Changes that this operator would make, and does not, since it only observes.',
    labelNames: ['what'] as const,
    registers: [registry],
    collect() {
      this.reset();
      for (const { what } of withheld()) this.inc({ what });
    },
  });
}
