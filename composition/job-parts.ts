import type { Budget, BudgetReading } from '../actors/ports/budget.ts';
import type { Queues } from '../actors/ports/queues.ts';
import type { RecordStore } from '../actors/ports/records.ts';
import type { Switch } from '../actors/runtime/store-failover.ts';
import type { BullQueues } from '../adapters/bullmq/queues.ts';
import type { RedisBudgetOptions } from '../adapters/redis/budget.ts';

/** The backends of records, jobs and budgets. */
export interface JobParts {
  readonly store: RecordStore;
  readonly queues: Queues;
  readonly budgetOf: BudgetOf;
  /** Queues for the job dashboard; null when there is none. */
  readonly board: BullQueues | null;
  /** Failover while the store is away; absent where it never is. */
  readonly away?: Switch;
  readonly close: () => unknown;
}

/** The budget of the token with this hash, shared by all its users. */
export type BudgetOf = (tokenHash: string, rates: Rates) => Budget & BudgetReading;

/** The rates of a token's budget where they differ from DigitalOcean's. */
export type Rates = Pick<RedisBudgetOptions, 'perMinute' | 'perHour' | 'createsPerMinute' | 'reserve'>;
