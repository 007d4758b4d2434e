import type { Clock, Log, RecordStore } from '../actors/ports.ts';
import { type BullQueues, bullQueues } from '../adapters/bullmq/queues.ts';
import { patientClient, type RedisAddress } from '../adapters/redis/client.ts';
import { type RedisLink, redisLink } from '../adapters/redis/link.ts';
import { redisStore } from '../adapters/redis/store.ts';

export interface RedisContext {
  readonly address: RedisAddress;
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
export function redis({ address, prefix, clock, log, lockDurationMs }: RedisContext): RedisParts {
  const link = redisLink({ ...address, prefix, name: 'routedip', onTrouble: (message) => log.warn('trouble with Redis', { message }) });
  const queues = bullQueues({
    link: { redis: link.redis, call: (what, run) => link.call(what, run) },
    connectPatient: () => patientClient({ ...address, prefix, name: 'routedip-jobs' }),
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
