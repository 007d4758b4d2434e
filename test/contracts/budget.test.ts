import { afterAll, beforeAll, expect } from 'vitest';
import { type MemoryBudget, memoryBudget } from '../../adapters/memory/budget.ts';
import { virtualClock } from '../../adapters/memory/clock.ts';
import { redisBudget } from '../../adapters/redis/budget.ts';
import { type RedisLink, redisLink } from '../../adapters/redis/link.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { PATIENCE_MS } from '../support/wait-for.ts';
import { describeBudget } from './budget.ts';

describeBudget('in memory', async () => {
  const clock = virtualClock();
  let budget: MemoryBudget | null = null;
  return {
    replica: (limits) => {
      budget ??= memoryBudget(clock, limits);
      return budget;
    },
    now: clock.now,
    pass: clock.advance,
    goDown: async () => budget?.goDown(),
    close: async () => undefined,
  };
});

let redis: TestRedis;
beforeAll(async () => {
  redis = await startTestRedis();
});
afterAll(async () => {
  const refused = await redis.refused().catch(() => []);
  await redis.stop();
  expect(refused).toEqual([]);
});

describeBudget('in Redis', async () => {
  await redis.restart();
  await redis.flushAll();
  const links: RedisLink[] = [];
  return {
    replica: (limits) => {
      const link = redisLink({ url: redis.operatorUrl, commandTimeoutMs: PATIENCE_MS });
      links.push(link);
      return redisBudget({ link, prefix: '{budget}', tokenHash: 'abcdef', ...limits });
    },
    now: Date.now,
    // Time passes on the server, which has no virtual clock: it alone can tell when it is over.
    pass: async (ms) => {
      const timeOfServer = async () => {
        const [seconds = 0, microseconds = 0] = ((await redis.command('TIME')) as string[]).map(Number);
        return seconds * 1_000 + microseconds / 1_000;
      };
      const end = (await timeOfServer()) + ms;
      await expect.poll(timeOfServer, { timeout: ms + PATIENCE_MS, interval: 20 }).toBeGreaterThan(end);
    },
    goDown: redis.crash,
    close: async () => {
      for (const link of links) await link.close();
    },
  };
});
