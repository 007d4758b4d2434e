import { afterAll, beforeAll, expect } from 'vitest';
import { memoryStore } from '../../adapters/memory/store.ts';
import { type RedisLink, redisLink } from '../../adapters/redis/link.ts';
import { redisStore } from '../../adapters/redis/store.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { PATIENCE_MS } from '../support/wait-for.ts';
import { describeRecords } from './records.ts';

const journalLength = 5;

describeRecords('in memory', async () => {
  const store = memoryStore({ journalLength });
  return {
    store,
    another: () => store.connect(),
    wipe: async () => store.wipe(),
    restart: async () => store.restart(),
    goDown: async () => store.goDown(),
    comeBack: async () => store.comeBack(),
    close: () => store.close(),
  };
});

let redis: TestRedis;
beforeAll(async () => {
  redis = await startTestRedis({ aof: true });
});
afterAll(() => redis.stop());

describeRecords('in Redis', async () => {
  await redis.flushAll();
  const links: RedisLink[] = [];
  const open = () => {
    const link = redisLink({ url: redis.operatorUrl, commandTimeoutMs: PATIENCE_MS });
    links.push(link);
    return redisStore({ link, prefix: '{records}', journalLength });
  };
  const store = open();
  return {
    store,
    another: open,
    wipe: redis.flushAll,
    restart: redis.restart,
    goDown: redis.crash,
    comeBack: redis.restart,
    close: async () => {
      for (const link of links) await link.close();
      expect(await redis.refused()).toEqual([]);
    },
  };
});
