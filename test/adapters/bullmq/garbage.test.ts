import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { Unreachable } from '../../../actors/ports/errors.ts';
import type { ActiveJob, NewJob } from '../../../actors/ports/queues.ts';
import { assertCommand } from '../../../actors/runtime/queue-data.ts';
import { bullQueues } from '../../../adapters/bullmq/queues.ts';
import { patientClient } from '../../../adapters/redis/client.ts';
import { redisLink } from '../../../adapters/redis/link.ts';
import { systemClock } from '../../../adapters/system/clock.ts';
import { startTestRedis, type TestRedis } from '../../support/redis.ts';
import { waitFor } from '../../support/wait-for.ts';

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

const KEYS = ['meta', 'wait', 'active', 'delayed', 'prioritized', 'stalled', 'events', 'marker', 'completed', 'earlier'];

test.each(KEYS)(
  'what has another type in the place of %s is removed, jobs are queued and run again, and the records count as lost',
  async (name) => {
    const queue = `healed-${name}`;
    const link = redisLink({ url: redis.url });
    const queues = bullQueues({
      link,
      connectPatient: () => patientClient({ url: redis.url }),
      prefix: '{garbage}',
      recordsKey: '{garbage}:meta',
      clock: systemClock(),
      stalledIntervalMs: 200,
    });
    onTestFinished(async () => {
      await queues.close();
      await link.close();
    });
    const ran: string[] = [];
    const { promise: over, resolve: end } = Promise.withResolvers<void>();
    queues.queue(queue).consume(async ({ id }: ActiveJob) => {
      ran.push(id);
      if (id === 'long') await over;
      return { kind: 'done' };
    }, 2);
    const add = (id: string, more: Partial<NewJob> = {}) => queues.queue(queue).add([{ id, title: id, data: {}, ...more }]);
    await add('earlier');
    await waitFor('the first', () => ran.includes('earlier'));
    await add('long');
    await waitFor('the one that lasts', () => ran.includes('long'));
    await redis.command('HSET', '{garbage}:meta', 'term', '7');
    const key = `{garbage}:${queue}:${name}`;
    await redis.command('DEL', key);
    await redis.command('SADD', key, 'garbage');
    if (name === 'stalled') await redis.command('DEL', key).then(() => redis.command('SET', key, 'garbage'));
    if (name === 'earlier') await expect(queues.queue(queue).standOf(name)).rejects.toThrow(Unreachable);
    // As under a new term: what was refused may be there in part, and is asked for under another id.
    const runs = async (id: string, more?: Partial<NewJob>): Promise<void> => {
      let tries = 0;
      const isAdded = async (): Promise<boolean> => {
        tries += 1;
        try {
          await add(`${id}.${tries}`, more);
          return true;
        } catch (error) {
          expect(error).toBeInstanceOf(Unreachable);
          return false;
        }
      };
      await waitFor(`${id} is queued`, isAdded);
      await waitFor(`${id} runs`, () => ran.includes(`${id}.${tries}`));
    };
    await runs('next');
    await runs('important', { priority: 2 });
    await runs('soon', { delayMs: 100 });
    end();
    await waitFor('the records count as lost', async () => (await redis.command('EXISTS', '{garbage}:meta')) === 0);
    expect(queues.faults()).toMatchObject([{ reason: 'ForeignValues', message: expect.stringContaining(key) }]);
  },
);

const SPOILT = {
  data: { data: '{"input":' },
  opts: { opts: 'garbage' },
  'opts that are none': { opts: 'null' },
  progress: { progress: 'garbage' },
  'its count of starts': { ats: 'garbage' },
  'its count of stalls': { stc: '1e9' },
  all: { data: 'x', opts: 'x', progress: 'x', ats: 'x', stc: 'x', timestamp: 'x', priority: 'x', delay: 'x' },
};

test.each(Object.entries(SPOILT))('a job of ours that others have spoilt, %s, holds up no other one and ends', async (what, fields) => {
  const queue = `spoilt-${what.replaceAll(' ', '-')}`;
  const link = redisLink({ url: redis.url });
  const queues = bullQueues({
    link,
    connectPatient: () => patientClient({ url: redis.url }),
    prefix: '{garbage}',
    recordsKey: '{garbage}:meta',
    clock: systemClock(),
    stalledIntervalMs: 200,
    lockDurationMs: 500,
  });
  onTestFinished(async () => {
    await queues.close();
    await link.close();
  });
  const add = (id: string) => queues.queue(queue).add([{ id, title: id, data: {} }]);
  await add('spoilt');
  const key = `{garbage}:${queue}:spoilt`;
  await redis.command('HSET', key, ...Object.entries(fields).flat());
  if ('data' in fields) expect(await queues.queue(queue).standOf('spoilt')).toBeNull();
  const ran: string[] = [];
  queues.queue(queue).consume(async ({ id }: ActiveJob) => {
    ran.push(id);
    return { kind: 'done' };
  }, 1);
  await add('next');
  await waitFor('the next one runs', () => ran.includes('next'));
  const left = async (list: string) => (await redis.command('LRANGE', `{garbage}:${queue}:${list}`, '0', '-1')) as string[];
  await waitFor('it has ended', async () => [...(await left('wait')), ...(await left('active'))].length === 0);
  expect(await queues.queue(queue).standOf('spoilt')).toBeNull();
});

test.each([
  ['id', ['SET', 'garbage']],
  ['pc', ['SET', 'garbage']],
  ['meta', ['HSET', 'opts.maxLenEvents', 'garbage']],
])(
  'what is to be counted up and is no number in the place of %s is removed, and jobs are queued again',
  async (name, [command, ...value]) => {
    const queue = `uncounted-${name}`;
    const link = redisLink({ url: redis.url });
    const queues = bullQueues({ link, connectPatient: () => patientClient({ url: redis.url }), prefix: '{garbage}', clock: systemClock() });
    onTestFinished(async () => {
      await queues.close();
      await link.close();
    });
    const ran: string[] = [];
    queues.queue(queue).consume(async ({ id }: ActiveJob) => {
      ran.push(id);
      return { kind: 'done' };
    }, 1);
    await queues.queue(queue).add([{ id: 'first', title: 'first', data: {}, priority: 1 }]);
    await waitFor('the first one runs', () => ran.includes('first'));
    await redis.command(command ?? '', `{garbage}:${queue}:${name}`, ...value);
    let tries = 0;
    const isQueued = (): Promise<boolean> => {
      tries += 1;
      const next = { title: 'next', data: {}, priority: 1 };
      return queues
        .queue(queue)
        .add([{ ...next, id: `next.${tries}` }])
        .then(
          () => true,
          (error) => {
            expect(error).toBeInstanceOf(Unreachable);
            return false;
          },
        );
    };
    await waitFor('the next one is queued', isQueued);
    await waitFor('the next one runs', () => ran.includes(`next.${tries}`));
  },
);

test('a job that is in no list is not waited for', async () => {
  const link = redisLink({ url: redis.url });
  const queues = bullQueues({ link, connectPatient: () => patientClient({ url: redis.url }), prefix: '{garbage}', clock: systemClock() });
  onTestFinished(async () => {
    await queues.close();
    await link.close();
  });
  await queues.queue('emptied').add([{ id: 'lost', title: 'lost', data: {} }]);
  expect(await queues.queue('emptied').standOf('lost')).toEqual({ isRunning: false, starts: 0 });
  await redis.command('DEL', '{garbage}:emptied:wait');
  expect(await queues.queue('emptied').standOf('lost')).toBeNull();
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
