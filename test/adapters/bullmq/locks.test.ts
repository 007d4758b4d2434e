import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { ActiveJob } from '../../../actors/ports/queues.ts';
import { type BullQueues, bullQueues } from '../../../adapters/bullmq/queues.ts';
import { patientClient } from '../../../adapters/redis/client.ts';
import { type RedisLink, redisLink } from '../../../adapters/redis/link.ts';
import { systemClock } from '../../../adapters/system/clock.ts';
import { startTestRedis, type TestRedis } from '../../support/redis.ts';
import { PATIENCE_MS, waitFor } from '../../support/wait-for.ts';

const HOUR_MS = 3_600_000;

let redis: TestRedis;
let link: RedisLink;
let queues: BullQueues;
/** How long a command of a worker is under way before Redis has it, ms. */
let slowness: number;

beforeEach(async () => {
  redis = await startTestRedis();
  slowness = 0;
  const connectPatient = () => {
    const client = patientClient({ url: redis.url });
    const send = client.sendCommand.bind(client);
    client.sendCommand = (command, stream) => {
      if (slowness === 0) return send(command, stream);
      setTimeout(() => send(command, stream), slowness);
      return command.promise;
    };
    return client;
  };
  link = redisLink({ url: redis.url, commandTimeoutMs: PATIENCE_MS });
  queues = bullQueues({ link, connectPatient, prefix: '{locks}', clock: systemClock(), lockDurationMs: 1_000, stalledIntervalMs: 200 });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await queues.close();
  await link.close();
  await redis.stop();
});

/** The runs of the jobs of a queue, none of which ends by itself. */
const held = (name: string, concurrency: number) => {
  const runs: { readonly job: ActiveJob; readonly end: () => void }[] = [];
  const run = async (job: ActiveJob): Promise<{ readonly kind: 'done' }> => {
    const { promise, resolve: end } = Promise.withResolvers<void>();
    runs.push({ job, end });
    await promise;
    return { kind: 'done' };
  };
  queues.queue(name).consume(run, concurrency);
  return runs;
};

/** Resolves once the lock was renewed again, and once more. */
const renewed = async (job: ActiveJob): Promise<void> => {
  for (let time = 0; time < 2; time += 1) {
    const { renewedAt } = job.lock();
    await waitFor('its lock is renewed', () => job.lock().renewedAt > renewedAt);
  }
};

test('the lock of a job is renewed although the clock was set back', async () => {
  const runs = held('digitalocean', 1);
  await queues.queue('digitalocean').add([{ id: 'a.1', title: 'first', data: null }]);
  await waitFor('it runs', () => runs.length === 1);
  const now = Date.now.bind(Date);
  vi.spyOn(Date, 'now').mockImplementation(() => now() - HOUR_MS);
  for (const { job } of runs) await renewed(job);
  expect(runs).toHaveLength(1);
});

test('the lock of a job is renewed while it waits for those that are fetched after it', async () => {
  const jobs = Array.from({ length: 20 }, (_, index) => ({ id: `a.${index}`, title: 'one of many', data: null }));
  await queues.queue('digitalocean').add(jobs);
  slowness = 60;
  const begin = performance.now();
  const runs = held('digitalocean', jobs.length);
  await waitFor('one runs', () => runs.length > 0);
  const now = performance.now();
  const renewedAt = runs[0]?.job.lock().renewedAt ?? 0;
  slowness = 0;
  // Without it, its lock would be as old as its fetch, which was the first of all.
  expect(renewedAt - begin).toBeGreaterThan((now - begin) / 2);
});

test('the lock of a run that took over is renewed when the run ends that lost it', async () => {
  const runs = held('digitalocean', 2);
  await queues.queue('digitalocean').add([{ id: 'a.1', title: 'first', data: null }]);
  await waitFor('it runs', () => runs.length === 1);
  // As after an outage that was longer than a lock.
  await redis.command('DEL', '{locks}:digitalocean:a.1:lock');
  await waitFor('it runs again', () => runs.length === 2);
  const [first, second] = runs;
  first?.end();
  if (second) await renewed(second.job);
  expect(second?.job.rerun).toBe(true);
  expect(runs).toHaveLength(2);
});
