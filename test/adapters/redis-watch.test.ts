import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type RedisLink, redisLink } from '../../adapters/redis/link.ts';
import { type RedisWatch, redisWatch } from '../../adapters/redis/watch.ts';
import { systemClock } from '../../adapters/system/clock.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';

describe('the watch over Redis', () => {
  let redis: TestRedis;
  let link: RedisLink;
  let watch: RedisWatch;
  let told: string[];
  beforeAll(async () => {
    redis = await startTestRedis({ aof: true });
  });
  beforeEach(async () => {
    told = [];
    link = redisLink({ url: redis.url, commandTimeoutMs: 300 });
    watch = redisWatch({
      link,
      clock: systemClock(),
      intervalMs: 50,
      listener: { away: () => told.push('away'), back: () => told.push('back'), serverChanged: () => told.push('changed') },
    });
    await link.call('ping', (client) => client.ping());
  });
  afterEach(async () => {
    watch.stop();
    await link.close();
  });
  afterAll(() => redis.stop());

  test('tells that the server went away, is another one, and is back', async () => {
    await redis.crash();
    await waitFor('it went away', () => told.includes('away'));
    expect(watch.isThere()).toBe(false);
    await redis.restart();
    await waitFor('it is back', () => told.includes('back'));
    expect(told).toEqual(['away', 'changed', 'back']);
    expect(watch.isThere()).toBe(true);
  });

  test('tells that a server froze and is back, the same one', async () => {
    await redis.freeze();
    await waitFor('it went away', () => told.includes('away'));
    await redis.thaw();
    await waitFor('it is back', () => told.includes('back'));
    expect(told).toEqual(['away', 'back']);
  });

  test('tells nothing of a server that is emptied: it is there', async () => {
    await redis.flushAll();
    await redis.crash();
    await waitFor('it went away', () => told.length > 0);
    expect(told).toEqual(['away']);
    await redis.restart();
    await waitFor('it is back', () => told.includes('back'));
  });

  test('tells nothing any more once stopped', async () => {
    watch.stop();
    const other: string[] = [];
    const still = redisWatch({
      link,
      clock: systemClock(),
      intervalMs: 50,
      listener: { away: () => other.push('away'), back: () => other.push('back'), serverChanged: () => other.push('changed') },
    });
    await redis.crash();
    await waitFor('another watch sees it', () => other.includes('away'));
    await redis.restart();
    await waitFor('another watch sees it', () => other.includes('back'));
    still.stop();
    expect(told).toEqual([]);
  });

  test('compares with the identity that its user knew before', async () => {
    const other: string[] = [];
    const still = redisWatch({
      link,
      clock: systemClock(),
      runId: 'of an earlier server',
      listener: { away: () => other.push('away'), back: () => other.push('back'), serverChanged: (runId) => other.push(runId) },
    });
    await waitFor('the change is told', () => other.length > 0);
    still.stop();
    expect(other).toEqual([expect.stringMatching(/^[0-9a-f]{40}$/)]);
  });
});
