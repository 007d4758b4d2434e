import { expect, onTestFinished, test } from 'vitest';
import type { TestRedis } from '../../support/redis.ts';
import { drawingOf } from '../drawing.ts';
import { harmTo, PARTS, recovered, spoilPeers } from './peers.ts';
import { spoilOf, spoiltLine } from './spoil.ts';
import { openPeers } from './world.ts';

test('garbage from everybody it speaks to does the operator no harm, and it serves when that is over', { timeout: 180_000 }, async () => {
  const peers = await openPeers({ seed: 5, program: null });
  onTestFinished(() => peers.close());
  const { harm, answers, memory, recoveredMs } = await spoilPeers(peers, { seconds: 30, part: { ...PARTS, store: 0.4 } });
  expect(harm).toBeNull();
  expect(recoveredMs).not.toBeNull();
  for (const what of ['api answer', 'api line', 'cloud answer', 'store type', 'store field'])
    expect(answers.get(what), what).toBeGreaterThan(0);
  expect(memory.after - memory.before).toBeLessThan(400 * 2 ** 20);
});

const TAKEN: Readonly<Record<string, (redis: TestRedis, queue: string, job: string) => Promise<unknown>>> = {
  'is taken out of its queue': (redis, queue) => redis.command('DEL', ...['active', 'delayed', 'prioritized'].map((list) => queue + list)),
  'is deleted': (redis, queue, job) => redis.command('DEL', queue + job),
  'is spoilt': (redis, queue, job) => redis.command('HSET', queue + job, 'data', '{"input":', 'opts', 'garbage', 'ats', 'garbage'),
};

test.each(Object.entries(TAKEN))(
  'a failover whose job %s by others goes on within half a minute',
  { timeout: 120_000 },
  async (_, take) => {
    const peers = await openPeers({ seed: 5, program: null });
    onTestFinished(() => peers.close());
    const { stage, address } = peers;
    await stage.until('it is served', async () => (await stage.activeOn('ingress', address)) !== null);
    await stage.notReady(stage.heldBy(address) ?? '');
    const taken = async (): Promise<boolean> => {
      for (const key of (await stage.redis.command('KEYS', '*:digitalocean:pool*')) as string[]) {
        const [, queue = '', job = ''] = /^(.+:digitalocean:)(pool.+)$/.exec(key) ?? [];
        if (key.endsWith(':lock') || (await stage.redis.command('HGET', key, 'finishedOn')) !== null) continue;
        await take(stage.redis, queue, job);
        return true;
      }
      return false;
    };
    await stage.until('its job is taken', taken);
    expect(await recovered(peers, 30_000)).not.toBeNull();
    expect(harmTo(peers)).toBeNull();
  },
);

test('a job queue whose keys hold what others wrote runs jobs again, and /readyz tells of it', { timeout: 240_000 }, async () => {
  const peers = await openPeers({ seed: 5, program: null });
  onTestFinished(() => peers.close());
  const { redis } = peers.stage;
  for (const queue of ['digitalocean', 'outcomes', 'timers']) {
    const [meta] = (await redis.command('KEYS', `*:${queue}:meta`)) as string[];
    for (const name of ['meta', 'wait', 'active', 'delayed', 'prioritized', 'stalled', 'events'])
      await redis.command('SET', String(meta?.replace(/meta$/, name)), 'garbage');
    expect(await recovered(peers, 30_000), queue).not.toBeNull();
  }
  const told = async () => (await peers.operator.metrics('/readyz')).text;
  await peers.stage.until('/readyz tells of it', async () => /^redis: .*job queues/m.test(await told()), 90_000);
  expect((await peers.operator.metrics()).text).toContain('routedip_store_fault{reason="ForeignValues"} 1');
  expect(harmTo(peers)).toBeNull();
});

test('one seed is one sequence of garbage', () => {
  const answered = { status: 200, headers: {}, body: '{"reserved_ips":[{"ip":"203.0.113.1"}],"meta":{"total":1}}' };
  const drawn = (seed: number) => [1, 2, 3].map((number) => spoilOf(drawingOf(seed, number), answered, 'http://127.0.0.1:1'));
  expect(drawn(1)).toEqual(drawn(1));
  expect(drawn(1)).not.toEqual(drawn(2));
  const line = '{"type":"ADDED","object":{"metadata":{"name":"a"}}}';
  expect(spoiltLine(drawingOf(1, 1), line)).toBe(spoiltLine(drawingOf(1, 1), line));
});
