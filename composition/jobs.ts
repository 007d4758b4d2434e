import type { Options } from '../adapters/cli/options.ts';
import type { Connection } from '../adapters/kubernetes/client/connection.ts';
import { memoryStore } from '../adapters/memory/store.ts';
import type { RedisAddress } from '../adapters/redis/client.ts';
import { redisOrMemory } from './away.ts';
import type { JobParts } from './job-parts.ts';
import { memory } from './memory.ts';
import { redis } from './redis.ts';
import { redisPrefix, type Waiting } from './redis-prefix.ts';

export interface JobsContext extends Waiting {
  readonly connection: Connection;
}

/** Records and jobs in Redis, or without its address in the memory of this process. @throws StoppedEarly */
export async function jobs(options: Options, address: RedisAddress | null, context: JobsContext): Promise<JobParts> {
  const { clock, log, connection } = context;
  const lockDurationMs = options.lockDuration;
  if (address === null) {
    log.info('keeps records and jobs in memory: only this process runs them, and what it knows ends with it');
    const kept = memory({ clock, log, lockDurationMs });
    // An observer sends nothing that a successor must know: no status has to be written first.
    return options.observe ? { ...kept, store: memoryStore() } : kept;
  }
  const prefix = await redisPrefix(options.redisPrefix, connection, context);
  return redisOrMemory(redis({ address, prefix, clock, log, lockDurationMs }), { clock, log, lockDurationMs });
}
