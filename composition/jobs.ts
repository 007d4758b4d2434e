import type { Budget, BudgetReading } from '../actors/ports/budget.ts';
import type { Queues } from '../actors/ports/queues.ts';
import type { RecordStore } from '../actors/ports/records.ts';
import type { Switch } from '../actors/runtime/store-failover.ts';
import type { BullQueues } from '../adapters/bullmq/queues.ts';
import type { Options } from '../adapters/cli/options.ts';
import type { Connection } from '../adapters/kubernetes/client/connection.ts';
import { memoryStore } from '../adapters/memory/store.ts';
import type { RedisBudgetOptions } from '../adapters/redis/budget.ts';
import type { RedisAddress } from '../adapters/redis/client.ts';
import { redisOrMemory } from './away.ts';
import { memory } from './memory.ts';
import { redis } from './redis.ts';
import { redisPrefix, type Waiting } from './redis-prefix.ts';

/** The rates of a token's budget, where they are not DigitalOcean's. */
export type Rates = Pick<RedisBudgetOptions, 'perMinute' | 'perHour' | 'createsPerMinute' | 'reserve'>;

/** The budget of the token of this hash: all who ask for that of one token share it. */
export type BudgetOf = (tokenHash: string, rates: Rates) => Budget & BudgetReading;

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

export interface JobsContext extends Waiting {
  readonly connection: Connection;
}

/** Records and jobs in Redis, or without an address of one in the memory of this process. @throws StoppedEarly */
export async function jobs(options: Options, address: RedisAddress | null, context: JobsContext): Promise<JobParts> {
  const { clock, log, connection } = context;
  const lockDurationMs = options.lockDuration;
  if (address === null) {
    log.info('keeps records and jobs in memory: only this process runs them, and what it knows ends with it');
    const kept = memory({ clock, log, lockDurationMs });
    // Nothing is sent that a successor would have to know of: no status has to say it first.
    return options.observe ? { ...kept, store: memoryStore() } : kept;
  }
  const prefix = await redisPrefix(options.redisPrefix, connection, context);
  return redisOrMemory(redis({ address, prefix, clock, log, lockDurationMs }), { clock, log, lockDurationMs });
}
