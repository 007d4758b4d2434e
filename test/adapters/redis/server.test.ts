import { createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { Unreachable } from '../../../actors/ports/errors.ts';
import { StoreHealth } from '../../../actors/runtime/store-health.ts';
import { type RedisLink, redisLink } from '../../../adapters/redis/link.ts';
import { redisStore } from '../../../adapters/redis/store.ts';
import { startTestRedis, type TestRedis } from '../../support/redis.ts';
import { PATIENCE_MS, waitFor } from '../../support/wait-for.ts';

const PASSWORD = 'correct-horse-battery';

let redis: TestRedis;
const open = (url = redis.url): RedisLink => {
  const link = redisLink({ url, commandTimeoutMs: PATIENCE_MS });
  onTestFinished(() => link.close());
  return link;
};
const storeOn = (link: RedisLink) => redisStore({ link, prefix: '{server}' });
const reasons = async (store: ReturnType<typeof storeOn>) => (await store.judge()).map(({ reason }) => reason);

beforeAll(async () => {
  redis = await startTestRedis({ aof: true });
});
afterAll(() => redis.stop());

/** A server that answers as a Redis of another kind does. Resolves with its URL. */
async function pretending(info: string): Promise<string> {
  const server: Server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      for (const [, name = ''] of data.toString().matchAll(/\r\n\$\d+\r\n(info|config|client|hello|select|ping)\r\n/gi)) {
        const answers: Record<string, string> = { info: `$${Buffer.byteLength(info)}\r\n${info}\r\n`, config: '-NOPERM no\r\n' };
        socket.write(answers[name.toLowerCase()] ?? '+OK\r\n');
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `redis://127.0.0.1:${(server.address() as { port: number }).port}`;
}

describe('a Redis that may drop keys', () => {
  test('is refused, with what to change', async () => {
    const store = storeOn(open());
    await redis.configSet('maxmemory-policy', 'allkeys-lru');
    const refused = store.check();
    await expect(refused).rejects.toThrow('has maxmemory-policy allkeys-lru');
    await expect(refused).rejects.toThrow('CONFIG SET maxmemory-policy noeviction');
    await redis.configSet('maxmemory-policy', 'noeviction');
    await store.check();
  });

  test('is recognised where CONFIG is forbidden, as managed servers do', async () => {
    await redis.command('ACL', 'SETUSER', 'tenant', 'on', `>${PASSWORD}`, '~*', '&*', '+@all', '-config', '-acl');
    const link = open(redis.url.replace('redis://', `redis://tenant:${PASSWORD}@`));
    await expect(link.call('config', (client) => client.config('GET', 'maxmemory-policy'))).rejects.toThrow('NOPERM');
    const store = storeOn(link);
    await store.check();
    await redis.configSet('maxmemory-policy', 'volatile-ttl');
    await expect(store.check()).rejects.toThrow('volatile-ttl');
    await redis.configSet('maxmemory-policy', 'noeviction');
  });

  test('or does not say whether it may is used all the same', async () => {
    const store = storeOn(open(await pretending('redis_version:7.2.4\r\nrole:master\r\n')));
    expect(await store.judge()).toMatchObject([{ reason: 'UnknownPolicy', isFatal: false }]);
    await store.check();
  });
});

describe('the version', () => {
  const told = (version: string) => `redis_version:${version}\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\nrole:master\r\n`;

  test.each(['6.2.0', '6.2', '7.0.15', '8.0.0', '10.1.0', '7.2.4\r\nvalkey_version:8.1.1'])('%j will do', async (version) => {
    const store = storeOn(open(await pretending(told(version))));
    expect(await store.judge()).toEqual([]);
    await store.check();
  });

  test.each(['6.0.16', '5.0.14', '2.8.24', '6.1.240'])('%s is refused, with what is needed', async (version) => {
    const store = storeOn(open(await pretending(told(version))));
    await expect(store.check()).rejects.toThrow(`has version ${version}; it must be 6.2 or newer`);
    expect(await reasons(store)).toEqual(['OldVersion']);
  });
});

describe('what works and is not safe', () => {
  test('is a server without an append-only file', async () => {
    const store = storeOn(open());
    expect(await reasons(store)).toEqual([]);
    await redis.configSet('appendonly', 'no');
    onTestFinished(() => redis.configSet('appendonly', 'yes'));
    expect(await store.judge()).toMatchObject([
      { reason: 'NoAppendOnlyFile', isFatal: false, message: expect.stringContaining('appendonly yes') },
    ]);
    await store.check();
  });

  test('is one that acknowledges what none of its replicas has; one without replicas, and a replica, are not', async () => {
    const replica = await startTestRedis({ aof: true });
    onTestFinished(() => replica.stop());
    const [store, ofReplica] = [storeOn(open()), storeOn(open(replica.url))];
    await replica.command('REPLICAOF', '127.0.0.1', String(redis.port));
    await waitFor('the replica is connected', async () => (await reasons(store)).length > 0, PATIENCE_MS);
    expect(await reasons(store)).toEqual(['AcknowledgesAlone']);
    expect(await reasons(ofReplica)).toEqual([]);
    await redis.configSet('min-replicas-to-write', '1');
    expect(await reasons(store)).toEqual([]);
    await redis.configSet('min-replicas-to-write', '0');
    expect(await reasons(store)).toEqual(['AcknowledgesAlone']);
    await replica.command('REPLICAOF', 'NO', 'ONE');
    await waitFor('the replica is gone', async () => (await reasons(store)).length === 0, PATIENCE_MS);
  });
});

describe('what is told of it', () => {
  test('is said in the log once at each change, and stands while the server does not answer', async () => {
    const server = await startTestRedis({ aof: true });
    onTestFinished(() => server.stop());
    const link = redisLink({ url: server.url, commandTimeoutMs: PATIENCE_MS });
    onTestFinished(() => link.close());
    const lines: string[] = [];
    const say = (message: string, fields?: Readonly<Record<string, unknown>>) => void lines.push(`${message}: ${fields?.reason}`);
    const store = storeOn(link);
    const health = new StoreHealth({ store, log: { debug: say, info: say, warn: say, error: say } });
    await health.look();
    expect([lines, health.notice]).toEqual([[], null]);
    await server.configSet('maxmemory-policy', 'allkeys-lru');
    await health.look();
    await health.look();
    expect(lines).toEqual(['Redis is not set up for safety: EvictingPolicy']);
    expect(health.notice).toContain('allkeys-lru');
    await server.crash();
    await expect(store.judge()).rejects.toBeInstanceOf(Unreachable);
    await health.look();
    expect(health.faults.map(({ reason }) => reason)).toEqual(['EvictingPolicy']);
    await server.restart();
    await waitFor('it answers', () => store.judge().then(Boolean, () => false), PATIENCE_MS);
    await health.look();
    expect([lines.slice(1), health.notice]).toEqual([['this is not wrong with Redis any more: EvictingPolicy'], null]);
  });
});
