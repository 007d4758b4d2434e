import { createMetrics } from '../../adapters/telemetry/metrics.ts';

/** The wall clock of the metrics, ms since the epoch. */
export const NOW = 1_000_000;

/** All series of a process, and the lines of one of them as Prometheus would scrape them. */
export function metrics(sources: Partial<Parameters<typeof createMetrics>[0]> = {}) {
  const created = createMetrics({
    version: '1.2.3',
    now: () => NOW,
    queues: async () => ({}),
    leadership: () => ({ leading: true, term: 7 }),
    observes: false,
    isStoreAway: () => false,
    unserved: () => [],
    unreadAccounts: () => new Map(),
    failing: () => ({ save: 0, turn: 0 }),
    storeFaults: () => [],
    records: () => [],
    budgets: () => [],
    groups: () => [],
    accounts: () => [],
    objects: () => [],
    caches: () => [],
    ...sources,
  });
  const text = async (): Promise<string> => [...(await created.scrape()).body()].join('');
  const lines = async (): Promise<readonly string[]> => (await text()).split('\n').filter((line) => !line.startsWith('#'));
  const of = async (name: string): Promise<readonly string[]> =>
    (await lines()).filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return { ...created, text, of };
}
