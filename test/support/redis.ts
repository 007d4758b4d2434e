import { Redis } from 'ioredis';
import { type PrivateRedis, type RedisOptions, startRedis } from '../../tools/redis.mjs';
import { isStopped } from './processes.ts';
import { isRedis7 } from './redis-offers.ts';
import { LEAST_RIGHTS } from './redis-rights.ts';
import { waitFor } from './wait-for.ts';

/** A private Redis for one test file, with the accidents that the suite puts it through. Stop it in `afterAll`. */
export interface TestRedis extends PrivateRedis {
  /** For `AS_OPERATOR`. */
  readonly operatorUrl: string;
  /** What `AS_OPERATOR` was refused, in words of `ACL LOG`. */
  readonly refused: () => Promise<readonly string[]>;
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

/** The user of every Redis of the tests that has no more rights than the documents say it needs, in the operator's environment. */
export const AS_OPERATOR = { REDIS_USERNAME: 'operator', REDIS_PASSWORD: 'password-of-the-tests' };

/** Redis 6.2 knows `client` as a whole only: whoever may not list connections may not name its own. */
const isName = (refusal: string): boolean => !isRedis7 && refusal.includes(' object client ');

/** @throws SetupError when there is no Redis on this machine */
export const startTestRedis = async (options: RedisOptions = {}): Promise<TestRedis> => {
  const user = ['--user', AS_OPERATOR.REDIS_USERNAME, 'on', `>${AS_OPERATOR.REDIS_PASSWORD}`, ...LEAST_RIGHTS];
  const redis = await startRedis({ ...options, extra: [...(options.extra ?? []), ...user] });
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
    operatorUrl: redis.url.replace('://', `://${AS_OPERATOR.REDIS_USERNAME}:${AS_OPERATOR.REDIS_PASSWORD}@`),
    refused: async () => ((await command('ACL', 'LOG')) as unknown[][]).map((entry) => entry.join(' ')).filter((entry) => !isName(entry)),
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
