import { once } from 'node:events';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { endForGood } from '../../../adapters/bullmq/connections.ts';
import { startTestRedis, type TestRedis } from '../../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(() => server.stop());

const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

test('a connection that has ended already keeps no process from ending', async () => {
  const redis = new Redis(server.url);
  await once(redis, 'ready');
  redis.disconnect();
  await once(redis, 'end');
  const before = timers();
  // What is asserted next could not fail if ioredis set no timer.
  redis.disconnect();
  expect(timers()).toBe(before + 1);
  endForGood(redis);
  expect(timers()).toBe(before + 1);
});

test('a connection that is there ends, and does not come again', async () => {
  const redis = new Redis(server.url);
  await once(redis, 'ready');
  endForGood(redis);
  await once(redis, 'end');
  expect(redis.status).toBe('end');
});
