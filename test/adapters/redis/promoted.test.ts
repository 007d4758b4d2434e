import { afterAll, beforeAll, expect, test } from 'vitest';
import { consumeJobs } from '../../../actors/jobs/worker.ts';
import { DEFAULT_SETTINGS } from '../../../actors/ports/settings.ts';
import { jobOf } from '../../../actors/runtime/queue-data.ts';
import { bullQueues } from '../../../adapters/bullmq/queues.ts';
import { memoryProvider } from '../../../adapters/memory/provider.ts';
import { patientClient } from '../../../adapters/redis/client.ts';
import { redisLink } from '../../../adapters/redis/link.ts';
import { redisStore } from '../../../adapters/redis/store.ts';
import { systemClock } from '../../../adapters/system/clock.ts';
import type { Address, ProviderID } from '../../../machines/model/types.ts';
import { startTestRedis, type TestRedis } from '../../support/redis.ts';
import { PATIENCE_MS, waitFor } from '../../support/wait-for.ts';

const prefix = '{promoted}';
const CELL = 'pool/default/web';
const ADDRESS = '203.0.113.7' as Address;
const ACTOR = `${CELL}/ip/${ADDRESS}`;
const COMMAND = `${ACTOR}.3.1.0`;
const clock = systemClock();

let master: TestRedis;
let replica: TestRedis;
beforeAll(async () => {
  [master, replica] = await Promise.all([startTestRedis(), startTestRedis()]);
  await replica.command('REPLICAOF', '127.0.0.1', String(master.port));
  await waitFor(
    'the replica follows',
    async () => String(await replica.command('INFO', 'replication')).includes('master_link_status:up'),
    PATIENCE_MS,
  );
});
afterAll(() => Promise.all([master.stop(), replica.stop()]));

/** A process of which this is the Redis. */
const on = ({ url }: TestRedis) => {
  const link = redisLink({ url, commandTimeoutMs: PATIENCE_MS });
  const queues = bullQueues({ link, connectPatient: () => patientClient({ url }), prefix, clock, onTrouble: () => undefined });
  const close = async (): Promise<void> => {
    await queues.close();
    await link.close();
  };
  return { store: redisStore({ link, prefix }), queues, close };
};

/** Runs the jobs of the provider there, until `done` holds of how they ended. */
async function work(redis: TestRedis, done: (ran: readonly string[]) => boolean) {
  const { store, queues, close } = on(redis);
  const provider = memoryProvider(clock, { name: 'memory' });
  provider.cloud.addAddress(ADDRESS, 'nyc3', 'memory://dead' as ProviderID);
  provider.cloud.addNode('memory://dead' as ProviderID, 'memory://alive' as ProviderID);
  const ran: string[] = [];
  const consumer = consumeJobs(
    'memory',
    provider,
    {
      store,
      queues,
      clock,
      writer: {} as never,
      // The Lease bears the same term, and is renewed: nothing is to be seen there of another Redis.
      leadership: { lease: () => ({ renewedAt: clock.monotonic(), durationMs: 15_000 }), seenTerm: () => 3 },
      log: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined } as never,
      probe: () => undefined,
      observers: [{ turnSaved: () => undefined, jobRan: ({ outcome }) => void ran.push(outcome) }],
      settings: DEFAULT_SETTINGS,
    },
    1,
  );
  try {
    await waitFor('the job has run', () => done(ran), PATIENCE_MS);
  } finally {
    await consumer.close(0);
    await close();
  }
  return { ran, sent: provider.writes().map(({ verb }) => verb) };
}

test('what was decided on one server is not sent from the replica of it that was promoted, and is from that one', async () => {
  const leader = on(master);
  const [id, node] = [COMMAND, { name: 'alive', providerID: 'memory://alive' as ProviderID }];
  await leader.store.openTerm(3);
  const record = {
    chart: 'ip',
    chartVersion: 1,
    snapshot: { value: 'Assigning', context: {} },
    waiting: { assign: { commandId: id } },
    version: 1,
    term: 3,
  };
  const write = { cell: CELL, term: 3, outbox: { add: [], clear: [] }, claims: { take: [], free: [] }, seen: {}, journal: [] };
  expect(await leader.store.save({ ...write, records: [{ actor: ACTOR, expected: 0, record }] })).toEqual({ kind: 'saved' });
  const input = { provider: 'memory', address: ADDRESS, holder: 'memory://dead' as ProviderID, node, inDoubtUntil: null };
  const command = {
    kind: 'job',
    id,
    actor: ACTOR,
    invokeId: 'assign',
    job: 'assign',
    input,
    title: 'assign',
    queue: 'memory',
    priority: 1,
  };
  await leader.queues.queue('memory').add([jobOf(command as never, 3)]);
  await waitFor(
    'the replica has it all',
    async () =>
      String(await master.command('WAIT', '1', '100')) === '1' && (await replica.command('EXISTS', `${prefix}:memory:${id}`)) === 1,
    PATIENCE_MS,
  ).catch(() => undefined);
  await replica.command('REPLICAOF', 'NO', 'ONE');

  const promoted = on(replica);
  expect(await promoted.store.fence(CELL, ACTOR, 'assign')).toEqual({ commandId: id, term: 3, isElsewhere: true });
  expect((await promoted.store.state()).term).toBe(3);
  expect(await work(replica, (ran) => ran.length > 0)).toEqual({ ran: ['fenced'], sent: [] });

  // Nor is anything decided there by whoever leads still: what it lacks may hold the same node.
  const next = { ...record, version: 2 };
  expect(await promoted.store.save({ ...write, records: [{ actor: ACTOR, expected: 1, record: next }] })).toEqual({ kind: 'lost' });

  // It is the only thing that keeps it from being sent.
  expect((await work(master, (ran) => ran.length > 0)).sent).toEqual(['assignRoutedIP']);

  // A leader that opens a term on the promoted one decides there.
  expect(await promoted.store.openTerm(4)).toBe(true);
  expect(await promoted.store.fence(CELL, ACTOR, 'assign')).toEqual({ commandId: id, term: 4, isElsewhere: false });
  // A program of before opens its terms without a word about the server: what it decides goes on.
  await replica.command('HSET', `${prefix}:meta`, 'term', '5');
  expect(await promoted.store.fence(CELL, ACTOR, 'assign')).toEqual({ commandId: id, term: 5, isElsewhere: false });
  await Promise.all([leader.close(), promoted.close()]);
});
