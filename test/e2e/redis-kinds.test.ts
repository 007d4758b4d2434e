import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Operator, OperatorOptions } from '../support/operator.ts';
import { startProxy } from '../support/proxy.ts';
import type { TestRedis } from '../support/redis.ts';
import { startCluster, startTlsRedis, startWatched } from '../support/redis-kinds.ts';
import { without } from '../support/redis-offers.ts';
import { LEAST_RIGHTS } from '../support/redis-rights.ts';
import { movedFrom, type Served, staged } from './served.ts';

const PASSWORD = 'correct-horse-battery';
const SLOW_ASSIGN = { match: { method: 'POST', path: '/reserved_ips/[^/]+/actions$' }, kind: 'slowAction', ms: 2000 } as const;

/** What Redis looks like, and what may become of it. About Redis alone, so played against the simulator alone. */
const { served, stage } = staged({ aof: true });

const readyz = async (operator: Operator): Promise<string> => (await operator.metrics('/readyz')).text;
const isReady = async (operator: Operator): Promise<boolean> => (await operator.metrics('/readyz')).status === 200;

/** The holder fails: the address is active elsewhere after one more assign, to where it is. */
async function failsOver(situation: Served): Promise<void> {
  const { stage, ip } = situation;
  const before = stage.assigns(ip).length;
  const holder = stage.heldBy(ip) ?? '';
  await stage.notReady(holder);
  const now = await movedFrom(situation, holder);
  expect(stage.assigns(ip).slice(before)).toEqual([{ address: ip, node: now }]);
}

const NODES = ['a', 'b', 'c', 'd'];
const servedBy = (options: Partial<OperatorOptions>) => served(NODES, options);

test('a master that is killed in the middle of an assignment: the Sentinels name another one, and the address moves by that one assign', async () => {
  const watched = await startWatched();
  onTestFinished(() => watched.stop());
  const situation = await servedBy({ redisUrl: watched.url });
  const { operator, ip, holder } = situation;
  const former = await watched.master();
  stage().cloud.faults.add(SLOW_ASSIGN);
  await stage().notReady(holder);
  await stage().until('the assign was received', () => stage().assigns(ip).length === 2);
  await former.crash();
  const now = await movedFrom(situation, holder);
  await stage().until('another one is the master', async () => (await watched.master()) !== former);
  expect(stage().assigns(ip).slice(1)).toEqual([{ address: ip, node: now }]);
  await stage().until('it is ready', () => isReady(operator));
  // The former one comes back as a replica, and is left alone.
  await former.restart();
  await failsOver(situation);
  expect(await (await watched.master()).refused()).toEqual([]);
});

test.skipIf(without.redis7 !== '')(
  `a Redis Cluster: the node that has the keys is found, and when it is killed the one that takes its place${without.redis7}`,
  async () => {
    const cluster = await startCluster();
    onTestFinished(() => cluster.stop());
    const owner = await cluster.owner('{here}');
    const replica = await cluster.replicaOf(owner);
    const named = cluster.masters.filter((node) => node !== owner).map(({ port }) => `127.0.0.1:${port}`);
    const situation = await servedBy({ redisUrl: `redis+cluster://${named.join(',')}`, flags: ['--redis-prefix=here'] });
    const { operator, ip, holder } = situation;
    expect(await owner.command('HGET', '{here}:meta', 'term')).not.toBeNull();
    stage().cloud.faults.add(SLOW_ASSIGN);
    await stage().notReady(holder);
    await stage().until('the assign was received', () => stage().assigns(ip).length === 2);
    await owner.crash();
    const now = await movedFrom(situation, holder);
    expect(stage().assigns(ip).slice(1)).toEqual([{ address: ip, node: now }]);
    await stage().until('its replica is the master', async () => String(await replica.command('ROLE')).startsWith('master'));
    await stage().until('it is ready', () => isReady(operator));
    await failsOver(situation);
    for (const node of [...cluster.masters.filter((each) => each !== owner), replica]) expect(await node.refused()).toEqual([]);
  },
);

test.skipIf(without.tls !== '')(
  `a Redis that asks for TLS and a password: a wrong password is told without it, and needs no restart once it is right${without.tls}`,
  async () => {
    const tls = await startTlsRedis();
    onTestFinished(() => tls.stop());
    await tls.redis.command('ACL', 'SETUSER', 'operator', 'reset', 'on', '>another', ...LEAST_RIGHTS);
    const env = { REDIS_USERNAME: 'operator', REDIS_PASSWORD: PASSWORD, REDIS_CA_FILE: tls.caFile };
    const operator = await stage().start({ redisUrl: tls.url, env });
    await stage().until('it says so', async () => (await readyz(operator)).includes('WRONGPASS'));
    await stage().until('its log says so', () =>
      operator.log.some(({ msg, error }) => msg === 'trouble with Redis' && /WRONGPASS/.test(String(error))),
    );
    await tls.redis.command('ACL', 'SETUSER', 'operator', `>${PASSWORD}`);
    await operator.ready();
    expect([await readyz(operator), JSON.stringify(operator.log), ...operator.noise].join()).not.toContain(PASSWORD);
    const { ip } = stage().cloud.addReservedIP({ region: 'nyc3' });
    await stage().nodes('a');
    await stage().pool('ingress', { ips: [ip] });
    await stage().until('the address is active', async () => (await stage().activeOn('ingress', ip)) === 'a');
    expect((await tls.redis.refused()).filter((refusal) => !refusal.includes('reason auth'))).toEqual([]);
  },
);

interface Trouble {
  readonly says: string;
  /** Why it cannot be made here; '' when it can. */
  readonly skipped: string;
  begin(redis: TestRedis): Promise<void>;
  end(redis: TestRedis): Promise<void>;
}

/** What keeps Redis from writing, what it says then, and what mends it. */
const TROUBLES: Readonly<Record<string, Trouble>> = {
  'is full': {
    says: 'OOM ',
    skipped: '',
    begin: (redis) => redis.configSet('maxmemory', '1'),
    end: (redis) => redis.configSet('maxmemory', '0'),
  },
  'has no room on its disk': {
    says: 'MISCONF ',
    // Its log is one file then.
    skipped: without.redis7,
    begin: async (redis) => {
      // The next file of its append-only log is one that is always full.
      symlinkSync('/dev/full', join(redis.dir, 'appendonlydir', 'appendonly.aof.2.incr.aof'));
      await rewrite(redis);
      await redis.command('SET', 'anything', 'at all').catch(() => undefined);
    },
    end: (redis) => rewrite(redis),
  },
};

/** Has Redis begin its append-only log anew, in another file. */
async function rewrite(redis: TestRedis): Promise<void> {
  await redis.command('BGREWRITEAOF');
  await stage().until('the log was rewritten', async () =>
    String(await redis.command('INFO', 'persistence')).includes('aof_rewrite_in_progress:0'),
  );
}

describe('a failover ends by one assign when Redis', () => {
  for (const [what, { says, skipped, begin, end }] of Object.entries(TROUBLES)) {
    test.skipIf(skipped !== '')(`${what} in the middle of it: that is said, and nothing is lost when it has room${skipped}`, async () => {
      const situation = await servedBy({});
      const { operator, ip, holder } = situation;
      stage().cloud.faults.add(SLOW_ASSIGN);
      await stage().notReady(holder);
      await stage().until('the assign was received', () => stage().assigns(ip).length === 2);
      await begin(stage().redis);
      await stage().until('it says so', async () => (await readyz(operator)).includes(says));
      await end(stage().redis);
      const now = await movedFrom(situation, holder);
      expect(stage().assigns(ip).slice(1)).toEqual([{ address: ip, node: now }]);
      await stage().until('it is ready', () => isReady(operator));
      await failsOver(situation);
    });
  }

  test('takes 300 ms for each answer', async () => {
    const proxy = await startProxy(stage().redis.port);
    onTestFinished(() => proxy.close());
    const situation = await servedBy({ redisUrl: `redis://127.0.0.1:${proxy.port}` });
    proxy.delay(150);
    await failsOver(situation);
  });
});
