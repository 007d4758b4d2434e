import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { ActiveJob } from '../../actors/ports/queues.ts';
import { assertCommand } from '../../actors/worker.ts';
import { bullQueues } from '../../adapters/bullmq/queues.ts';
import { patientClient } from '../../adapters/redis/client.ts';
import { redisLink } from '../../adapters/redis/link.ts';
import { systemClock } from '../../adapters/system/clock.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';

let redis: TestRedis;
beforeAll(async () => {
  redis = await startTestRedis();
});
afterAll(() => redis.stop());

test('a job that somebody else has put there is not run, is told of, and holds up no other one', async () => {
  const troubles: string[] = [];
  const link = redisLink({ url: redis.url });
  const queues = bullQueues({
    link,
    connectPatient: () => patientClient({ url: redis.url }),
    prefix: '{garbage}',
    clock: systemClock(),
    onTrouble: (message) => troubles.push(message),
  });
  const client = new Redis(redis.url, { maxRetriesPerRequest: null });
  const theirs = new Queue('jobs', { connection: client, prefix: '{garbage}' });
  onTestFinished(async () => {
    await theirs.close();
    client.disconnect();
    await queues.close();
    await link.close();
  });
  const foreign = [null, 5, 'text', [], {}, { starts: 0 }, { input: {} }, { input: {}, starts: 'x' }];
  for (const [index, data] of foreign.entries()) await theirs.add('foreign', data, { jobId: `foreign-${index}` });
  await theirs.add('foreign', { input: {}, starts: 0, progress: null }, { jobId: 'foreign-time', timestamp: 'x' as unknown as number });
  for (const [id, value] of [
    ['half', '{"input":'],
    ['empty', ''],
  ] as const) {
    await client.hset(`{garbage}:jobs:${id}`, { name: 'foreign', data: value, opts: '{}', timestamp: '1' });
    await client.lpush('{garbage}:jobs:wait', id);
  }
  const ran: string[] = [];
  queues.queue('jobs').consume(async ({ id }: ActiveJob) => {
    ran.push(id);
    return { kind: 'done' };
  }, 2);
  await queues.queue('jobs').add([{ id: 'ours', title: 'ours', data: { actor: 'a' } }]);
  await waitFor('ours', () => ran.includes('ours'));
  await waitFor('all are told of', () =>
    foreign.every((_, index) => troubles.some((each) => each.includes(`job foreign-${index} was not run`))),
  );
  expect(ran).toEqual(['ours']);
});

test.each([
  [null],
  [5],
  [[]],
  [{}],
  [{ actor: 7, commandId: 'a.1.1.0' }],
  [{ actor: 'a', commandId: 7 }],
  [{ actor: 'a', commandId: 'a.1.1.0', job: 'unknown' }],
  [{ actor: 'a', commandId: 'a.1.1.0', job: '__proto__' }],
])('%j says nothing that can be done', (data) => {
  const known = { assign: true };
  expect(() => assertCommand(data as never, ({ job }) => Object.hasOwn(known, String(job)))).toThrow('it says nothing that can be done');
  assertCommand({ actor: 'a', commandId: 'a.1.1.0', job: 'assign' }, ({ job }) => Object.hasOwn(known, String(job)));
});
