import type { Log } from '../actors/ports/observers.ts';
import type { Clock } from '../actors/ports/records.ts';
import { bullQueues } from '../adapters/bullmq/queues.ts';
import { redisBudget } from '../adapters/redis/budget.ts';
import { patientClient, type RedisAddress } from '../adapters/redis/client.ts';
import { redisLink } from '../adapters/redis/link.ts';
import { recordsKey, redisStore } from '../adapters/redis/store.ts';
import type { JobParts } from './job-parts.ts';

export interface RedisContext {
  readonly address: RedisAddress;
  /** Prefix of all keys, in braces. */
  readonly prefix: string;
  readonly clock: Clock;
  readonly log: Log;
  /** How long a dead process keeps the lock of a job, ms. */
  readonly lockDurationMs: number | undefined;
}

/** Records and jobs in Redis. Connects and reconnects by itself. */
export function redis({ address, prefix, clock, log, lockDurationMs }: RedisContext): JobParts {
  const link = redisLink({ ...address, prefix, name: 'routedip', onTrouble: (error) => log.warn('trouble with Redis', { error }) });
  const queues = bullQueues({
    link: { redis: link.redis, call: (what, run) => link.call(what, run) },
    connectPatient: () => patientClient({ ...address, prefix, name: 'routedip-jobs' }),
    prefix,
    recordsKey: recordsKey(prefix),
    clock,
    onTrouble: (error) => log.warn('trouble with the job queues', { error }),
    ...(lockDurationMs !== undefined && { lockDurationMs }),
  });
  const store = redisStore({ link, prefix });
  return {
    queues,
    board: queues,
    budgetOf: (tokenHash, rates) => redisBudget({ link, prefix, tokenHash, ...rates }),
    store: { ...store, judge: async () => [...(await store.judge()), ...queues.faults()] },
    close: async () => {
      try {
        await queues.close();
      } finally {
        await link.close();
      }
    },
  };
}
