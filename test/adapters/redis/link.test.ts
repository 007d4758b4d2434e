import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { Unreachable } from '../../../actors/ports/errors.ts';
import type { CellWrite } from '../../../actors/ports/records.ts';
import { type RedisLink, type RedisLinkOptions, redisLink } from '../../../adapters/redis/link.ts';
import { redisStore } from '../../../adapters/redis/store.ts';
import { startTestRedis, type TestRedis } from '../../support/redis.ts';
import { monitorRedis } from '../../support/redis-monitor.ts';
import { PATIENCE_MS, waitFor } from '../../support/wait-for.ts';

const PASSWORD = 'correct-horse-battery';

let redis: TestRedis;
/** A link that ends with the test: it would go on connecting to wherever that led. */
const open = (options: Partial<RedisLinkOptions> = {}): RedisLink => {
  const link = redisLink({ url: redis.url, commandTimeoutMs: PATIENCE_MS, ...options });
  onTestFinished(() => link.close());
  return link;
};
const storeOn = (link: RedisLink) => redisStore({ link, prefix: '{links}' });

const write = (expected: number): CellWrite => ({
  cell: 'pool/default/web',
  term: 1,
  records: [
    {
      actor: 'pool/default/web',
      expected,
      record: { chart: 'pool', chartVersion: 1, snapshot: { value: 'Ready', context: {} }, waiting: {}, version: expected + 1, term: 1 },
    },
  ],
  outbox: { add: [], clear: [] },
  claims: { take: [{ provider: 'digitalocean', node: 'node-a', owner: 'x', limit: 1 }], free: [] },
  seen: {},
  journal: [],
});

const messageOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'no error',
    (error: unknown) => {
      expect(error).toBeInstanceOf(Unreachable);
      return (error as Unreachable).message;
    },
  );

beforeAll(async () => {
  redis = await startTestRedis({ aof: true });
});
beforeEach(() => redis.flushAll());
afterAll(() => redis.stop());

describe('a secret', () => {
  test('appears in no error and in no trouble when the password is wrong', async () => {
    const troubles: string[] = [];
    const link = open({
      url: redis.url.replace('redis://', `redis://nobody:${PASSWORD}@`),
      onTrouble: (message) => troubles.push(message),
    });
    const message = await messageOf(storeOn(link).state());
    await waitFor('trouble is told', () => troubles.length > 0);
    expect(troubles.join()).toContain('WRONGPASS');
    for (const text of [message, ...troubles]) expect(text).not.toContain(PASSWORD);
  });

  test('does not appear when the URL is not valid either', () => {
    for (const url of [
      `http://:${PASSWORD}@host`,
      `${PASSWORD}@host:6379`,
      `redis://:${PASSWORD}@host:port`,
      `redis://:${PASSWORD}@host/first`,
    ]) {
      let message = '';
      try {
        open({ url });
      } catch (error) {
        message = String(error) + JSON.stringify(error);
      }
      expect(message, url).toContain('Redis URL');
      expect(message).not.toContain(PASSWORD);
    }
  });
});

describe('a call', () => {
  test('of save is one command to the server', async () => {
    const store = storeOn(open());
    await store.openTerm(1);
    await store.save(write(0));
    const seen: string[] = [];
    const close = await monitorRedis(redis.url, ({ args, source }) => {
      if (source !== 'lua') seen.push(args[0] ?? '');
    });
    expect(await store.save(write(1))).toEqual({ kind: 'saved' });
    await redis.command('ECHO', 'end');
    await waitFor('the end is seen', () => seen.includes('ECHO'));
    close();
    // ECHO's own connection introduces itself.
    const introductions = ['hello', 'client', 'info', 'select'];
    expect(seen.filter((name) => !introductions.includes(name.toLowerCase()))).toEqual(['evalsha', 'ECHO']);
  });

  test('works after the server forgot its scripts', async () => {
    const store = storeOn(open());
    await store.openTerm(1);
    expect(await store.save(write(0))).toEqual({ kind: 'saved' });
    await redis.command('SCRIPT', 'FLUSH');
    expect(await store.save(write(1))).toEqual({ kind: 'saved' });
  });

  test('to a server that froze is given up in time, and what it asked for may still happen', async () => {
    const store = storeOn(open());
    await store.openTerm(1);
    await store.save(write(0));
    const hasty = open({ commandTimeoutMs: 400 });
    await waitFor('it is connected', () => hasty.call('ping', (client) => client.ping()).then(Boolean, () => false));
    await redis.freeze();
    // Without a limit of its own it would wait for as long as the server is frozen, which is as long as this is waited for.
    expect(await messageOf(storeOn(hasty).save(write(1)))).toMatch(/timed out|no answer within 400 ms/);
    await redis.thaw();
    await waitFor(
      'the late write arrived',
      async () => (await store.load('pool/default/web').catch(() => null))?.records['pool/default/web']?.version === 2,
    );
    expect(await store.save(write(1))).toEqual({ kind: 'stale', what: 'version' });
  });

  test('to a server that is full is Unreachable and writes nothing', async () => {
    const store = storeOn(open());
    await store.openTerm(1);
    await store.save(write(0));
    await redis.configSet('maxmemory', '1');
    expect(await messageOf(store.save(write(1)))).toContain('OOM');
    await redis.configSet('maxmemory', '0');
    expect(await store.save(write(1))).toEqual({ kind: 'saved' });
  });

  test('is no Unreachable when only a defect explains the answer', async () => {
    await redis.command('SET', '{links}:meta', 'no hash');
    const error: unknown = await storeOn(open())
      .fence('pool/default/web', 'pool/default/web', 'find')
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Error);
    expect(error).not.toBeInstanceOf(Unreachable);
  });
});

/** A way to the server whose present connections can go silent, as a broken network leaves them. It ends with the test. */
const proxy = async () => {
  const pairs = new Set<Socket[]>();
  const server = createServer((near) => {
    const far = connect(redis.port, '127.0.0.1');
    near.on('error', () => far.destroy());
    far.on('error', () => near.destroy());
    near.on('close', () => far.destroy());
    near.pipe(far);
    far.pipe(near);
    pairs.add([near, far]);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const sockets of pairs) for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    silence: () => {
      for (const [near, far] of pairs) {
        near?.unpipe();
        far?.unpipe();
      }
    },
  };
};

test('a connection that went silent is given up, and another takes its place', async () => {
  const way = await proxy();
  const link = open({ url: way.url, commandTimeoutMs: 200 });
  const ping = () => link.call('ping', (client) => client.ping());
  const answers = () => ping().then(Boolean, () => false);
  await waitFor('it answers', answers);
  way.silence();
  expect(await messageOf(ping())).toMatch(/timed out|no answer/);
  await waitFor('it answers again', answers);
});

test('a server that takes writes no more is left, once, however much it refuses', async () => {
  const warnings: string[] = [];
  const hear = ({ message }: Error): void => void warnings.push(message);
  process.on('warning', hear);
  onTestFinished(() => void process.off('warning', hear));
  const link = open();
  const id = (): Promise<number> => link.call('id', (client) => client.client('ID'));
  const before = await id();
  await redis.command('REPLICAOF', '127.0.0.1', '1');
  await link.call('write', (client) => Promise.allSettled(Array.from({ length: 20 }, (_, key) => client.set(`{links}:${key}`, ''))));
  await redis.command('REPLICAOF', 'NO', 'ONE');
  await waitFor('it has connected anew', () =>
    id().then(
      (now) => now !== before,
      () => false,
    ),
  );
  expect(warnings).toEqual([]);
});

test('stores of two clusters in one Redis do not see each other', async () => {
  const link = open();
  const [one, two] = [redisStore({ link, prefix: '{one}' }), redisStore({ link, prefix: '{two}' })];
  await one.openTerm(1);
  await one.save(write(0));
  expect((await two.state()).term).toBeNull();
  await two.openTerm(1);
  expect(await two.load('pool/default/web')).toBeNull();
  expect(await two.save(write(0))).toEqual({ kind: 'saved' });
});

test('a prefix without braces, which would spread the keys over a cluster, is refused', () => {
  for (const prefix of ['routedip', '{}', '{a}:b']) expect(() => redisStore({ link: open(), prefix }), prefix).toThrow('braces');
});
