import type { Account } from '../../machines/status/inventory.ts';
import { Gauge, type Registry } from './prom-client.ts';

/** What the metrics show of an account. */
export type AccountView = Pick<Account, 'account' | 'provider' | 'problem' | 'totals'>;

/** Exports the number of orphaned addresses of each account. An unreadable account is omitted: its earlier value may be outdated. */
export function inventoryMetrics(registry: Registry, accounts: () => readonly AccountView[]): void {
  new Gauge({
    name: 'routedip_orphaned_addresses',
    help: 'Addresses of an account that nobody in this cluster claims, and that are on no machine or were made for this cluster.',
    labelNames: ['provider', 'account'] as const,
    registers: [registry],
    collect() {
      this.reset();
      for (const { account, provider, problem, totals } of accounts())
        if (problem === null && totals !== null) this.set({ provider, account }, totals.orphans);
    },
  });
}
