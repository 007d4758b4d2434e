import type { Budget, BudgetReading } from '../actors/ports/budget.ts';
import type { Queues } from '../actors/ports/queues.ts';
import type { RecordStore } from '../actors/ports/records.ts';
import type { Switch } from '../actors/runtime/store-failover.ts';
import type { BullQueues } from '../adapters/bullmq/queues.ts';
import type { RedisBudgetOptions } from '../adapters/redis/budget.ts';

/** Where records, jobs and budgets are. */
export interface JobParts {
  readonly store: RecordStore;
  readonly queues: Queues;
  readonly budgetOf: BudgetOf;
  /** What the job dashboard shows; null where there is none. */
  readonly board: BullQueues | null;
  /** How to go on while it is away; absent where it never is. */
  readonly away?: Switch;
  readonly close: () => unknown;
}

/** The budget of the token of this hash: all who ask for that of one token share it. */
export type BudgetOf = (tokenHash: string, rates: Rates) => Budget & BudgetReading;

/** The rates of a token's budget, where they are not DigitalOcean's. */
export type Rates = Pick<RedisBudgetOptions, 'perMinute' | 'perHour' | 'createsPerMinute' | 'reserve'>;
