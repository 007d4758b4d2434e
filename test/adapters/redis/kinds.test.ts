import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { Unreachable } from '../../../actors/ports/errors.ts';
import { connectorTo } from '../../../adapters/redis/connector.ts';
import { bySentinels } from '../../../adapters/redis/find-master.ts';
import { type RedisLink, type RedisLinkOptions, redisLink } from '../../../adapters/redis/link.ts';
import { redisStore } from '../../../adapters/redis/store.ts';
import type { Endpoint } from '../../../adapters/redis/url.ts';
import { startTestRedis } from '../../support/redis.ts';
import { type Cluster, startCluster, startTlsRedis, type Tls } from '../../support/redis-kinds.ts';
import { without } from '../../support/redis-offers.ts';
import { PATIENCE_MS, waitFor } from '../../support/wait-for.ts';

const PASSWORD = 'correct-horse-battery';

/** A link that ends with the test: it would go on connecting to wherever that led. */
const open = (options: RedisLinkOptions): RedisLink => {
  const link = redisLink({ commandTimeoutMs: PATIENCE_MS, ...options });
  onTestFinished(() => link.close());
  return link;
};

/** What a call says while it cannot reach its Redis, once that is more than that there is no connection. */
const reasonOf = async (link: RedisLink): Promise<string> => {
  const seen: { reason: string } = { reason: '' };
  await waitFor('the reason is told', async () => {
    const error: unknown = await link.call('ping', (redis) => redis.ping()).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Unreachable);
    seen.reason = (error as Unreachable).message;
    return /not connected: ./.test(seen.reason);
  });
  return seen.reason;
};

const ping = (link: RedisLink): Promise<string> => link.call('ping', (redis) => redis.ping());

describe.skipIf(without.tls !== '')(`TLS${without.tls}`, () => {
  let tls: Tls;
  beforeAll(async () => {
    tls = await startTlsRedis();
    await tls.redis.command('ACL', 'SETUSER', 'operator', 'on', `>${PASSWORD}`, '~*', '&*', '+@all');
  });
  afterAll(() => tls.stop());
  const address = (caFile = tls.caFile) => ({ url: tls.url, username: 'operator', tls: { ca: readFileSync(caFile, 'utf8') } });

  test('with the authority that signed, and a password apart from the URL, leads to the server', async () => {
    const link = open({ ...address(), password: PASSWORD });
    expect(await ping(link)).toBe('PONG');
    expect(await link.call('who', (redis) => redis.call('ACL', 'WHOAMI'))).toBe('operator');
  });

  test('with another authority is refused, and says so', async () => {
    expect(await reasonOf(open({ ...address(tls.otherCaFile), password: PASSWORD }))).toMatch(/certificate|signature/);
  });

  test('with a wrong password says so, without it', async () => {
    const reason = await reasonOf(open({ ...address(), password: `not-${PASSWORD}` }));
    expect(reason).toContain('WRONGPASS');
    expect(reason).not.toContain(PASSWORD);
  });
});

describe.skipIf(without.redis7 !== '')(`a Redis Cluster${without.redis7}`, () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(() => cluster.stop());
  const PREFIXES = ['{one}', '{two}', '{three}', '{four}'];
  const split = async () => {
    const at = await Promise.all(PREFIXES.map((prefix) => cluster.owner(prefix)));
    const foreign = PREFIXES.find((_, index) => at[index] === cluster.masters[1]);
    if (foreign === undefined) throw new Error('no prefix is on the second node');
    return foreign;
  };
  const urlOf = ({ port }: { readonly port: number }) => `redis+cluster://127.0.0.1:${port}`;

  test('is written to on the node that has the prefix, whichever of them is named', async () => {
    const prefix = await split();
    const store = redisStore({ link: open({ url: urlOf(cluster.masters[0]), prefix }), prefix });
    expect(await store.openTerm(7)).toBe(true);
    expect((await store.state()).term).toBe(7);
    expect(await cluster.masters[1].command('HGET', `${prefix}:meta`, 'term')).toBe('7');
  });

  test('whose keys move to the other node is followed there', async () => {
    const prefix = await split();
    const link = open({ url: urlOf(cluster.masters[0]), prefix });
    const store = redisStore({ link, prefix });
    const { runId } = await store.state();
    const [target, source] = cluster.masters;
    const slot = String(await source.command('CLUSTER', 'KEYSLOT', prefix));
    const idOf = async (node: typeof source) => String(await node.command('CLUSTER', 'MYID'));
    const [targetId, sourceId] = [await idOf(target), await idOf(source)];
    await target.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', sourceId);
    await source.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', targetId);
    const keys = (await source.command('CLUSTER', 'GETKEYSINSLOT', slot, '100')) as string[];
    if (keys.length > 0) await source.command('MIGRATE', '127.0.0.1', String(target.port), '', '0', '5000', 'KEYS', ...keys);
    await target.command('CLUSTER', 'SETSLOT', slot, 'NODE', targetId);
    await source.command('CLUSTER', 'SETSLOT', slot, 'NODE', targetId);
    await waitFor('it is found', () => store.openTerm(8).catch(() => false));
    expect((await store.state()).runId).not.toBe(runId);
    expect(await target.command('HGET', `${prefix}:meta`, 'term')).toBe('8');
  });

  test('of which nobody answers says so of each', async () => {
    const reason = await reasonOf(open({ url: 'redis+cluster://127.0.0.1:1,127.0.0.1:2', prefix: '{one}' }));
    expect(reason).toMatch(/127\.0\.0\.1:1: .*ECONNREFUSED.*127\.0\.0\.1:2: .*ECONNREFUSED/);
  });
});

/** A Sentinel as far as it is asked: it names a server and says how new it knows that to be. Null for one that takes connections and says nothing. */
const sentinelThat = async (tells: { readonly port: number; readonly epoch: number } | null): Promise<Endpoint> => {
  const bulk = (text: string): string => `$${text.length}\r\n${text}\r\n`;
  const fields = () => (tells ? ['name', 'main', 'ip', '127.0.0.1', 'port', String(tells.port), 'config-epoch', String(tells.epoch)] : []);
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      if (!tells) return;
      for (const command of data.toString().matchAll(/\*\d+\r\n\$\d+\r\n(\w+)/g)) {
        const isAsked = command[1]?.toLowerCase() === 'sentinel';
        socket.write(isAsked ? `*${fields().length}\r\n${fields().map(bulk).join('')}` : '+OK\r\n');
      }
    });
  });
  servers.add(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port };
};
const sockets = new Set<Socket>();
const servers = new Set<Server>();
afterAll(() => {
  for (const socket of sockets) socket.destroy();
  for (const server of servers) server.close();
});

describe('the Sentinels', () => {
  const find = (sentinels: readonly Endpoint[], timeoutMs = 60_000) => bySentinels(sentinels, 'main', { timeoutMs })();

  test('are believed by the newest configuration: one that was cut off names a former master', async () => {
    const [former, now, silent] = await Promise.all([{ port: 1, epoch: 4 }, { port: 2, epoch: 5 }, null].map(sentinelThat));
    for (const order of [
      [former, now, silent],
      [silent, now, former],
      [now, silent, former],
    ]) {
      expect(await find(order.filter((one) => one !== undefined))).toEqual({ host: '127.0.0.1', port: 2 });
    }
  });

  test('may be silent but for one', async () => {
    const [alone, silent] = await Promise.all([sentinelThat({ port: 3, epoch: 1 }), sentinelThat(null)]);
    expect(await find([silent, alone, { host: '127.0.0.1', port: 1 }], 1_000)).toEqual({ host: '127.0.0.1', port: 3 });
  });

  test('of which none answers are named with what each has said', async () => {
    const silent = await sentinelThat(null);
    await expect(find([silent, { host: '127.0.0.1', port: 1 }], 300)).rejects.toThrow(
      /no Sentinel tells the master main: .*ECONNREFUSED.*timed out/,
    );
  });

  test('that name another server later on end the connection to the former one', async () => {
    const [former, next] = await Promise.all([startTestRedis(), startTestRedis()]);
    onTestFinished(async () => void (await Promise.all([former.stop(), next.stop()])));
    const tells = { port: former.port, epoch: 1 };
    const sentinel = await sentinelThat(tells);
    const find = bySentinels([sentinel], 'main', { timeoutMs: PATIENCE_MS });
    const redis = new Redis({ Connector: connectorTo(find, undefined, 50), retryStrategy: () => 20 });
    onTestFinished(() => redis.disconnect());
    redis.on('error', () => undefined);
    const port = async (): Promise<string> => String(await redis.config('GET', 'port'));
    expect(await port()).toContain(String(former.port));
    Object.assign(tells, { port: next.port, epoch: 2 });
    await waitFor('it is asked again', async () => (await port()).includes(String(next.port)));
  });
});
