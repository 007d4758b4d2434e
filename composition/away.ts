import type { Budget, BudgetReading } from '../actors/ports/budget.ts';
import { type Switch, switching } from '../actors/runtime/store-failover.ts';
import type { JobParts } from './job-parts.ts';
import { type MemoryContext, memory } from './memory.ts';

/** Records, jobs and budgets in Redis; in the memory of this process while Redis is away. */
export function redisOrMemory(usual: JobParts, context: MemoryContext): JobParts & { readonly away: Switch } {
  let standIn: JobParts | null = null;
  const away = switching(usual, () => {
    const opened = memory(context);
    standIn = opened;
    return {
      ...opened,
      close: () => {
        standIn = null;
        return opened.close();
      },
    };
  });
  return {
    ...usual,
    store: away.store,
    queues: away.queues,
    away,
    budgetOf: (tokenHash, rates) => {
      const redis = usual.budgetOf(tokenHash, rates);
      const now = (): Budget & BudgetReading => standIn?.budgetOf(tokenHash, rates) ?? redis;
      return {
        pay: (...asked) => now().pay(...asked),
        observe: (limits) => now().observe(limits),
        close: (ms) => now().close(ms),
        left: () => now().left(),
      };
    },
    close: async () => {
      await standIn?.close();
      await usual.close();
    },
  };
}
