import type { Clock, Log } from '../actors/ports.ts';
import { type MemoryBudget, memoryBudget } from '../adapters/memory/budget.ts';
import { memoryQueues } from '../adapters/memory/queues.ts';
import { memoryStore } from '../adapters/memory/store.ts';
import { endableClock } from '../adapters/system/clock.ts';
import type { JobParts } from './jobs.ts';

export interface MemoryContext {
  readonly clock: Clock;
  readonly log: Log;
  /** How long a job is held by a consumer that was closed, ms. */
  readonly lockDurationMs: number | undefined;
}

/** Records and jobs in the memory of this process. They end with it: whoever comes after it goes by the status of the objects and by the provider. */
export function memory({ clock, log, lockDurationMs }: MemoryContext): JobParts {
  const own = endableClock(clock);
  const budgets = new Map<string, MemoryBudget>();
  return {
    store: memoryStore({ fleeting: true }),
    queues: memoryQueues(own, {
      failed: (queue, title, error) =>
        log.error('a job ended in a defect', { queue, job: title, error: error.message, stack: error.stack }),
      ...(lockDurationMs !== undefined && { lockDurationMs }),
    }),
    budgetOf: (tokenHash, rates) => {
      const budget = budgets.get(tokenHash) ?? memoryBudget(own, rates);
      budgets.set(tokenHash, budget);
      return budget;
    },
    board: null,
    // Timers that wait would keep the process from ending.
    close: own.end,
  };
}
