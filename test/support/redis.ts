import { Redis } from 'ioredis';
import { type PrivateRedis, type RedisOptions, startRedis } from '../../tools/redis.mjs';
import { isStopped } from './processes.ts';
import { waitFor } from './wait-for.ts';

/** A private Redis for one test file, with the accidents that the suite puts it through. Stop it in `afterAll`. */
export interface TestRedis extends PrivateRedis {
  /** One command over a connection of its own; resolves with the reply. */
  readonly command: (name: string, ...args: string[]) => Promise<unknown>;
  /** Everything is gone at once, as after a FLUSHALL by hand. */
  readonly flushAll: () => Promise<void>;
  /** `CONFIG SET name value`, e.g. `maxmemory-policy` `allkeys-lru`. */
  readonly configSet: (name: string, value: string) => Promise<void>;
  /** SIGKILL: connections reset. With `aof`, what it acknowledged is back after `restart()`. */
  readonly crash: () => Promise<void>;
  /** SIGSTOP: connections stay open and nothing answers, until `thaw()`. */
  readonly freeze: () => Promise<void>;
  readonly thaw: () => Promise<void>;
}

/** @throws SetupError when there is no Redis on this machine */
export const startTestRedis = async (options: RedisOptions = {}): Promise<TestRedis> => {
  const redis = await startRedis(options);
  const command = async (name: string, ...args: string[]): Promise<unknown> => {
    const client = new Redis(redis.url, { maxRetriesPerRequest: 1, retryStrategy: () => null, lazyConnect: true });
    // The command's own promise tells the failure; without a listener ioredis also prints it.
    client.on('error', () => undefined);
    try {
      await client.connect();
      return await client.call(name, ...args);
    } finally {
      client.disconnect();
    }
  };
  return {
    url: redis.url,
    port: redis.port,
    dir: redis.dir,
    get pid() {
      return redis.pid;
    },
    stop: redis.stop,
    kill: redis.kill,
    restart: redis.restart,
    command,
    flushAll: async () => {
      await command('FLUSHALL');
    },
    configSet: async (name, value) => {
      await command('CONFIG', 'SET', name, value);
    },
    crash: () => redis.kill('SIGKILL'),
    freeze: async () => {
      await redis.kill('SIGSTOP');
      await waitFor('Redis is stopped', () => isStopped(redis.pid));
    },
    thaw: () => redis.kill('SIGCONT'),
  };
};
