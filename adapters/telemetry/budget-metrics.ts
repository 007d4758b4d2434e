import type { BudgetReading, BudgetWindow } from '../../actors/ports/budget.ts';
import { Gauge, type Registry } from './prom-client.ts';

/** The request budget of one token. */
export interface TokenBudget {
  readonly provider: string;
  /** Identifies the token without revealing it. */
  readonly tokenHash: string;
  readonly budget: BudgetReading;
}

type Reading = Omit<TokenBudget, 'budget'> & BudgetWindow;

/** Exports what is left of each budget, and its limits. They are read at each scrape; an unreadable one is omitted. */
export function budgetMetrics(registry: Registry, budgets: () => readonly TokenBudget[]): void {
  const labelNames = ['provider', 'token', 'window'] as const;
  const readOne = async ({ provider, tokenHash, budget }: TokenBudget): Promise<readonly Reading[]> => {
    // Without Redis there is no current value, and no series is better than a stale one. /readyz says what is wrong.
    const windows = await budget.left().catch(() => []);
    return windows.map((window) => ({ provider, tokenHash, ...window }));
  };
  let reading: Promise<readonly Reading[]> | null = null;
  /** Both gauges of one scrape share one reading. */
  const read = (): Promise<readonly Reading[]> => {
    reading ??= Promise.all(budgets().map(readOne))
      .then((readings) => readings.flat())
      .finally(() => {
        reading = null;
      });
    return reading;
  };
  const gauge = (name: string, help: string, value: (reading: Reading) => number): void => {
    new Gauge({
      name,
      help,
      labelNames,
      registers: [registry],
      async collect() {
        const readings = await read();
        this.reset();
        for (const reading of readings) {
          const { provider, tokenHash: token, window } = reading;
          this.set({ provider, token, window }, value(reading));
        }
      },
    });
  };
  gauge('routedip_provider_budget_left', 'Calls that the request budget of a token lets through now.', ({ left }) => left);
  gauge('routedip_provider_budget_limit', 'Calls that the request budget of a token lets through in its window.', ({ limit }) => limit);
}
