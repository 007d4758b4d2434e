import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { ActiveJob } from '../../../actors/ports/queues.ts';
import { MOST_DEATHS } from '../../../actors/runtime/doomed.ts';
import { jobOf, OUTCOMES, type OutcomeData } from '../../../actors/runtime/queue-data.ts';
import { bullQueues } from '../../../adapters/bullmq/queues.ts';
import { patientClient } from '../../../adapters/redis/client.ts';
import { redisLink } from '../../../adapters/redis/link.ts';
import { systemClock } from '../../../adapters/system/clock.ts';
import { endWithParent } from '../../../tools/leash.mjs';
import { startTestRedis, type TestRedis } from '../../support/redis.ts';
import { PATIENCE_MS } from '../../support/wait-for.ts';

const QUEUE = 'digitalocean@web.account';

let redis: TestRedis;
beforeAll(async () => {
  redis = await startTestRedis({ aof: true });
});
afterAll(() => redis.stop());

function startFatal(): { readonly child: ChildProcess; readonly said: () => string; readonly ended: Promise<number> } {
  const args = [join(import.meta.dirname, 'fatal-worker.ts'), redis.url, '{fatal}', QUEUE];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const leash = child.pid === undefined ? null : endWithParent(child.pid);
  let said = '';
  child.stdout.on('data', (data: Buffer) => {
    said += data.toString();
  });
  const ended = once(child, 'exit').then(([code]) => {
    leash?.release();
    return Number(code);
  });
  return { child, said: () => said, ended };
}

test('a job that ends each process that runs it is given up in the end, and its actor hears that its outcome is unknown', async () => {
  const link = redisLink({ url: redis.url, commandTimeoutMs: PATIENCE_MS });
  const queues = bullQueues({ link, connectPatient: () => patientClient({ url: redis.url }), prefix: '{fatal}', clock: systemClock() });
  const heard = Promise.withResolvers<OutcomeData>();
  onTestFinished(async () => {
    await queues.close();
    await link.close();
  });
  queues.queue(OUTCOMES).consume(async ({ data }: ActiveJob) => {
    heard.resolve(data as unknown as OutcomeData);
    return { kind: 'done' };
  }, 1);
  const command = { kind: 'job', id: 'x.1.1.0', actor: 'x', invokeId: 'release', queue: QUEUE, title: 'release', priority: 1 } as const;
  await queues.queue(QUEUE).add([jobOf({ ...command, job: 'release', input: { policy: 'Delete', address: '203.0.113.7' } }, 1)]);
  let deaths = 0;
  let last = startFatal();
  for (;;) {
    const code = await Promise.race([last.ended, heard.promise.then(() => null)]);
    if (code === null) break;
    expect(code).toBe(137);
    deaths += 1;
    if (deaths > MOST_DEATHS) throw new Error(`${deaths} processes have ended`);
    last = startFatal();
  }
  last.child.kill('SIGKILL');
  await last.ended;
  expect(deaths).toBe(MOST_DEATHS);
  expect(await heard.promise).toMatchObject({
    actor: 'x',
    outcome: { error: { kind: 'Unavailable', unknownOutcome: true, message: expect.stringContaining('ended 5 times in a row') } },
  });
  expect(last.said()).toContain('a job is given up');
  expect(last.said(), 'the names of accounts are in no series').toContain('{"given":"digitalocean"}');
});
