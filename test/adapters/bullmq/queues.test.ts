import type { Socket } from 'node:net';
import type { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Unreachable } from '../../../actors/ports/errors.ts';
import type { JobQueue } from '../../../actors/ports/queues.ts';
import { type BullQueues, bullQueues } from '../../../adapters/bullmq/queues.ts';
import { patientClient } from '../../../adapters/redis/client.ts';
import { type RedisLink, redisLink } from '../../../adapters/redis/link.ts';
import { systemClock } from '../../../adapters/system/clock.ts';
import { startTestRedis, type TestRedis } from '../../support/redis.ts';
import { PATIENCE_MS, waitFor } from '../../support/wait-for.ts';

/** Resolves once the queue has the job, over a link that gives a call two seconds. */
const added = (queue: JobQueue, id: string): Promise<void> =>
  waitFor(`${id} is taken`, () =>
    queue.add([{ id, title: id, data: null }]).then(
      () => true,
      () => false,
    ),
  );

const QUEUES = ['digitalocean', 'cloudflare', 'outcomes', 'timers', 'vip', 'digitalocean-a', 'digitalocean-b'];

/** The ids of the jobs of a queue in the order in which they ran. */
const recorded = (queue: JobQueue): readonly string[] => {
  const ran: string[] = [];
  queue.consume(async ({ id }) => {
    ran.push(id);
    return { kind: 'done' };
  }, 10);
  return ran;
};

describe('queues over BullMQ', () => {
  let redis: TestRedis;
  let link: RedisLink;
  let queues: BullQueues;
  let patient: Redis[];
  beforeAll(async () => {
    redis = await startTestRedis({ aof: true });
  });
  const open = (commandTimeoutMs?: number): void => {
    link = redisLink({ url: redis.url, name: 'calls', ...(commandTimeoutMs !== undefined && { commandTimeoutMs }) });
    patient = [];
    const connectPatient = (): Redis => {
      const client = patientClient({ url: redis.url, name: 'work' });
      patient.push(client);
      return client;
    };
    queues = bullQueues({
      link,
      connectPatient,
      prefix: '{bull}',
      clock: systemClock(),
      lockDurationMs: 1_000,
      stalledIntervalMs: 200,
    });
  };
  beforeEach(async () => {
    await redis.flushAll();
    open(PATIENCE_MS);
  });
  const close = async (): Promise<void> => {
    await queues.close();
    await link.close();
  };
  afterEach(close);
  /** Over a link that gives a call as long as the operator's does. */
  const reopen = async (): Promise<void> => {
    await close();
    open();
  };
  afterAll(() => redis.stop());

  test('tell within two seconds that a frozen server cannot be reached', async () => {
    await reopen();
    const queue = queues.queue('digitalocean');
    await added(queue, 'a.1');
    await redis.freeze();
    const start = performance.now();
    await expect(queue.add([{ id: 'a.2', title: 'second', data: null }])).rejects.toBeInstanceOf(Unreachable);
    const took = performance.now() - start;
    await redis.thaw();
    expect(took).toBeGreaterThan(1_900);
    // What a busy machine adds; without a limit of its own a call waits for as long as the server is frozen.
    expect(took).toBeLessThan(15_000);
  });

  test('go on after a server was frozen for longer than a lock', async () => {
    await reopen();
    const queue = queues.queue('digitalocean');
    const ran = recorded(queue);
    await added(queue, 'a.1');
    await waitFor('the first job ran', () => ran.includes('a.1'));
    await redis.freeze();
    await expect(queue.add([{ id: 'a.2', title: 'meanwhile', data: null }])).rejects.toBeInstanceOf(Unreachable);
    await redis.thaw();
    await added(queue, 'a.3');
    await waitFor('the later job ran', () => ran.includes('a.3'));
  });

  test('use one connection for calls, one for the work of all consumers, and one on which all of them wait', async () => {
    for (const name of QUEUES) queues.queue(name).consume(async () => ({ kind: 'done' }), 100);
    const names = async (): Promise<string[]> => {
      const list = String(await redis.command('CLIENT', 'LIST'));
      return [...list.matchAll(/ name=(\S+)/g)].map(([, name]) => name ?? '').sort();
    };
    await waitFor('one waits', async () => String(await redis.command('CLIENT', 'LIST')).includes('cmd=bzpopmin'));
    expect(await names()).toEqual(['calls', 'work', 'work']);
  });

  test('ask as seldom as one alone while they have nothing to do', async () => {
    for (const name of QUEUES) queues.queue(name).consume(async () => ({ kind: 'done' }), 100);
    const asked = async (): Promise<{ readonly looks: number; readonly all: number }> => {
      const stats = String(await redis.command('INFO', 'commandstats'));
      const of = (command: string): number => Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
      return { looks: of('eval'), all: of('eval') + of('evalsha') + of('bzpopmin') };
    };
    const start = await asked();
    await waitFor('all have looked for jobs', async () => (await asked()).looks > start.looks + 1);
    const before = await asked();
    await waitFor('time passes', async () => (await asked()).looks >= before.looks + 5);
    const after = await asked();
    // With each look one blocking read.
    expect(after.all - before.all).toBeLessThanOrEqual(2 * (after.looks - before.looks) + 1);
  });

  test('find a job that no marker tells of, as when the process that took the marker has ended', async () => {
    const queue = queues.queue('digitalocean');
    const ran = recorded(queue);
    await queue.add([{ id: 'a.1', title: 'first', data: null }]);
    await waitFor('it ran', () => ran.length === 1);
    await queues.queue('elsewhere').add([{ id: 'a.2', title: 'second', data: null }]);
    await link.redis
      .multi()
      .rename('{bull}:elsewhere:a.2', '{bull}:digitalocean:a.2')
      .rename('{bull}:elsewhere:wait', '{bull}:digitalocean:wait')
      .exec();
    await waitFor('the other ran', () => ran.includes('a.2'));
  });

  test('find a job soon although the connection that waits has gone silent, as when a router forgot it', async () => {
    const queue = queues.queue('digitalocean');
    const ran = recorded(queue);
    await queue.add([{ id: 'a.1', title: 'first', data: null }]);
    await waitFor('it ran', () => ran.length === 1);
    await waitFor('one waits', async () => String(await redis.command('CLIENT', 'LIST')).includes('cmd=bzpopmin'));
    // Of the connections of workers the later one waits. What it is sent is not read any more.
    const waiting = patient.at(-1) as unknown as { readonly stream: Socket };
    waiting.stream.pause();
    await queue.add([{ id: 'a.2', title: 'second', data: null }]);
    await waitFor('the other ran', () => ran.includes('a.2'), 10_000);
  });

  test('do not ask without end while the server takes no writes, and go on when it does', async () => {
    const queue = queues.queue('digitalocean');
    const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>();
    const ran = new Set<string>();
    queue.consume(async ({ id }) => {
      ran.add(id);
      await mayEnd;
      return { kind: 'done' };
    }, 1);
    await queue.add(['a.1', 'a.2', 'a.3'].map((id) => ({ id, title: id, data: null })));
    await waitFor('the first runs', () => ran.size === 1);
    await redis.configSet('min-replicas-to-write', '1');
    end();
    const asked = async (command: string): Promise<number> => {
      const stats = String(await redis.command('INFO', 'commandstats'));
      return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
    };
    const looks = await asked('eval');
    const before = await asked('evalsha');
    await waitFor('time passes', async () => (await asked('eval')) >= looks + 4);
    expect((await asked('evalsha')) - before).toBeLessThan(50);
    await redis.configSet('min-replicas-to-write', '0');
    await waitFor('all ran', () => ran.size === 3);
  });

  test('run a job of a queue that is consumed only since they wait, and of each of two that always have jobs', async () => {
    const ran = new Map<string, number>();
    const consume = (name: string): void => {
      queues.queue(name).consume(async () => {
        const count = (ran.get(name) ?? 0) + 1;
        ran.set(name, count);
        await queues.queue(name).add([{ id: `a.${count}`, title: 'next', data: null }]);
        return { kind: 'done' };
      }, 1);
    };
    consume('first');
    await queues.queue('first').add([{ id: 'a.0', title: 'first', data: null }]);
    await waitFor('the first runs', () => (ran.get('first') ?? 0) > 3);
    consume('second');
    await queues.queue('second').add([{ id: 'a.0', title: 'first', data: null }]);
    await waitFor('both go on', () => [...ran.values()].every((count) => count > 20) && ran.size === 2);
  });

  test('show what a job is in words, and keep it for an hour after it ended', async () => {
    const queue = queues.queue('digitalocean');
    queue.consume(async () => ({ kind: 'done' }), 1);
    await queue.add([{ id: 'a.1', title: 'assign 203.0.113.7 → node-a', data: { address: '203.0.113.7' }, priority: 1 }]);
    await waitFor('it ended', async () => (await queues.bull('digitalocean').getJobCounts('completed')).completed === 1);
    const job = await queues.bull('digitalocean').getJob('a.1');
    expect(job?.name).toBe('assign 203.0.113.7 → node-a');
    expect(job?.opts).toMatchObject({ attempts: 1, removeOnComplete: { age: 3_600 } });
  });

  test('put every key under the prefix, in one slot of a cluster', async () => {
    const queue = queues.queue('digitalocean');
    queue.consume(async () => ({ kind: 'done' }), 1);
    await queue.add([
      { id: 'a.1', title: 'now', data: null, priority: 1 },
      { id: 'a.2', title: 'later', data: null, delayMs: 60_000 },
    ]);
    await waitFor('it ended', async () => (await queue.counts()).waiting === 0);
    const keys = (await redis.command('KEYS', '*')) as string[];
    expect(keys.length).toBeGreaterThan(3);
    expect(keys.filter((key) => !key.startsWith('{bull}:'))).toEqual([]);
  });

  test('do not hinder a process from ending that cannot reach its server', async () => {
    await redis.crash();
    const closing = bullQueues({
      link,
      connectPatient: () => patientClient({ url: redis.url }),
      prefix: '{bull}',
      clock: systemClock(),
    });
    closing.queue('digitalocean').consume(async () => ({ kind: 'done' }), 1);
    await closing.close();
    await redis.restart();
  });
});
