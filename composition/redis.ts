import type { Clock, Log, RecordStore } from '../actors/ports.ts';
import { type BullQueues, bullQueues } from '../adapters/bullmq/queues.ts';
import type { Environment } from '../adapters/cli/options.ts';
import { patientClient } from '../adapters/redis/client.ts';
import { type RedisLink, redisLink } from '../adapters/redis/link.ts';
import { redisStore } from '../adapters/redis/store.ts';

export interface RedisContext {
  readonly environment: Pick<Environment, 'redisUrl' | 'redisLogin'>;
  /** In front of all keys, in braces. */
  readonly prefix: string;
  readonly clock: Clock;
  readonly log: Log;
  /** How long a job is held by a process that died, ms. */
  readonly lockDurationMs: number | undefined;
}

export interface RedisParts {
  readonly link: RedisLink;
  readonly queues: BullQueues;
  readonly store: RecordStore;
  readonly close: () => Promise<void>;
}

/** Records and jobs in Redis. Connects by itself, and again whenever it has to. */
export function redis({ environment, prefix, clock, log, lockDurationMs }: RedisContext): RedisParts {
  const address = { url: environment.redisUrl, options: environment.redisLogin };
  const link = redisLink({ ...address, name: 'routedip', onTrouble: (message) => log.warn('trouble with Redis', { message }) });
  const queues = bullQueues({
    link: { redis: link.redis, call: (what, run) => link.call(what, run) },
    connectPatient: () => patientClient({ ...address, name: 'routedip-jobs' }),
    prefix,
    clock,
    onTrouble: (message) => log.warn('trouble with the job queues', { message }),
    ...(lockDurationMs !== undefined && { lockDurationMs }),
  });
  return {
    link,
    queues,
    store: redisStore({ link, prefix, onWarning: (message) => log.warn('Redis is not set up for safety', { message }) }),
    close: async () => {
      try {
        await queues.close();
      } finally {
        await link.close();
      }
    },
  };
}
