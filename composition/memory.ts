import type { Log } from '../actors/ports/observers.ts';
import type { Clock } from '../actors/ports/records.ts';
import { type MemoryBudget, memoryBudget } from '../adapters/memory/budget.ts';
import { memoryQueues } from '../adapters/memory/queues.ts';
import { memoryStore } from '../adapters/memory/store.ts';
import { endableClock } from '../adapters/system/clock.ts';
import type { JobParts } from './job-parts.ts';

/** Tokens come and go: this is more than are in use at a time. */
const MOST_BUDGETS = 1_000;

export interface MemoryContext {
  readonly clock: Clock;
  readonly log: Log;
  /** How long a closed consumer keeps the lock of a job, ms. */
  readonly lockDurationMs: number | undefined;
}

/** Records and jobs in the memory of this process. They end with it: its successor relies on the status of objects and on the provider. */
export function memory({ clock, log, lockDurationMs }: MemoryContext): JobParts {
  const own = endableClock(clock);
  const budgets = new Map<string, MemoryBudget>();
  const queues = memoryQueues(own, {
    failed: (queue, title, error) => log.error('a job ended in a defect', { queue, title, error: error.message, stack: error.stack }),
    ...(lockDurationMs !== undefined && { lockDurationMs }),
  });
  return {
    store: memoryStore({ fleeting: true }),
    queues,
    budgetOf: (tokenHash, rates) => {
      const budget = budgets.get(tokenHash) ?? memoryBudget(own, rates);
      budgets.delete(tokenHash);
      budgets.set(tokenHash, budget);
      const [oldest] = budgets.keys();
      if (budgets.size > MOST_BUDGETS && oldest !== undefined) budgets.delete(oldest);
      return budget;
    },
    board: null,
    // Running jobs no longer hold their locks; pending timers would keep the process from ending.
    close: async () => {
      await queues.close();
      own.end();
    },
  };
}
