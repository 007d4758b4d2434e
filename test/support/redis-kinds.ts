import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { issue } from '../../adapters/admission/certificates.ts';
import { endWithParent } from '../../tools/leash.mjs';
import { findRedis } from '../../tools/redis-find.mjs';
import { freePort } from '../../tools/redis-launch.mjs';
import { startTestRedis, type TestRedis } from './redis.ts';
import { waitFor } from './wait-for.ts';

const MASTER = 'main';

/** A master with a replica, watched by three Sentinels. */
export interface Watched {
  readonly url: string;
  /** The server that the Sentinels name now. */
  master(): Promise<TestRedis>;
  /** One command to one of the Sentinels. */
  sentinel(...args: readonly string[]): Promise<unknown>;
  stop(): Promise<void>;
}

interface Sentinel {
  readonly port: number;
  stop(): Promise<void>;
}

/** Sentinels want a file of their own to write to. */
async function startSentinel(watched: number): Promise<Sentinel> {
  const { command, env, image } = findRedis();
  if (image !== null) throw new Error('Sentinels need a redis-server on this machine; there is one in docker only');
  const port = await freePort();
  const dir = mkdtempSync(join(tmpdir(), 'routedip-sentinel-'));
  const file = join(dir, 'sentinel.conf');
  const watch = [`monitor ${MASTER} 127.0.0.1 ${watched} 2`, `down-after-milliseconds ${MASTER} 1500`, `failover-timeout ${MASTER} 5000`];
  writeFileSync(file, [`port ${port}`, 'bind 127.0.0.1', `dir ${dir}`, ...watch.map((line) => `sentinel ${line}`), ''].join('\n'));
  const child = spawn(command, [file, '--sentinel'], { env: { ...process.env, ...env }, stdio: 'ignore', detached: true });
  const leash = child.pid === undefined ? null : endWithParent(child.pid, { folder: dir });
  const ended = once(child, 'exit');
  child.unref();
  return {
    port,
    stop: async () => {
      child.kill('SIGKILL');
      await ended;
      leash?.release();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** One command over a connection of its own. */
async function tell(port: number, name: string, ...args: readonly string[]): Promise<unknown> {
  const client = new Redis({ port, protocol: 2, lazyConnect: true, retryStrategy: null, maxRetriesPerRequest: 0 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await client.call(name, ...args);
  } finally {
    client.disconnect();
  }
}

/** Resolves once the Sentinels know one another and the replica, and the replica has what the master has. */
export async function startWatched(): Promise<Watched> {
  const first = await startTestRedis({ aof: true, extra: ['--repl-diskless-sync-delay', '0'] });
  const second = await startTestRedis({ aof: true, extra: ['--replicaof', '127.0.0.1', String(first.port)] });
  await waitFor('the replica follows', async () => String(await second.command('INFO', 'replication')).includes('master_link_status:up'));
  const sentinels = await Promise.all([first, first, first].map(({ port }) => startSentinel(port)));
  const [{ port } = { port: 0 }] = sentinels;
  const figure = async (at: number, name: string): Promise<string> => {
    const flat = (await tell(at, 'SENTINEL', 'MASTER', MASTER)) as string[];
    return flat[flat.indexOf(name) + 1] ?? '';
  };
  for (const sentinel of sentinels) {
    const knows = async () =>
      (await figure(sentinel.port, 'num-other-sentinels')) === '2' && (await figure(sentinel.port, 'num-slaves')) === '1';
    await waitFor('a Sentinel knows all', () => knows().catch(() => false));
  }
  return {
    url: `redis+sentinel://${sentinels.map((sentinel) => `127.0.0.1:${sentinel.port}`).join(',')}/${MASTER}`,
    master: async () => ((await figure(port, 'port')) === String(first.port) ? first : second),
    sentinel: (...args) => tell(port, 'SENTINEL', ...args),
    stop: async () => {
      await Promise.all(sentinels.map((sentinel) => sentinel.stop()));
      await second.stop();
      await first.stop();
    },
  };
}

/** A Redis Cluster of two masters without replicas. */
export interface Cluster {
  /** Half of the keys each, in this order. */
  readonly nodes: readonly [TestRedis, TestRedis];
  /** The node that has the keys which begin with `prefix`, in braces, and the one that has not. */
  owner(prefix: string): Promise<{ readonly of: TestRedis; readonly other: TestRedis }>;
  stop(): Promise<void>;
}

const HALF = 8_192;

export async function startCluster(): Promise<Cluster> {
  const start = async () =>
    // The port of its bus would be 10000 higher than its own, which may be too high.
    startTestRedis({
      aof: true,
      extra: ['--cluster-enabled', 'yes', '--cluster-node-timeout', '3000', '--cluster-port', String(await freePort())],
    });
  const nodes = [await start(), await start()] as const;
  const [first, second] = nodes;
  await first.command('CLUSTER', 'ADDSLOTSRANGE', '0', String(HALF - 1));
  await second.command('CLUSTER', 'ADDSLOTSRANGE', String(HALF), '16383');
  await first.command('CLUSTER', 'SET-CONFIG-EPOCH', '1');
  const bus = /:(\d+)@(\d+)/.exec(String(await second.command('CLUSTER', 'NODES')))?.[2] ?? '';
  await first.command('CLUSTER', 'MEET', '127.0.0.1', String(second.port), bus);
  for (const node of nodes) {
    await waitFor('the cluster stands', async () => String(await node.command('CLUSTER', 'INFO')).includes('cluster_state:ok'));
  }
  return {
    nodes,
    owner: async (prefix) =>
      Number(await first.command('CLUSTER', 'KEYSLOT', prefix)) < HALF ? { of: first, other: second } : { of: second, other: first },
    stop: async () => {
      for (const node of nodes) await node.stop();
    },
  };
}

/** A Redis that speaks TLS under 127.0.0.1 besides, with the file of the authority that vouches for it. */
export interface Tls {
  readonly redis: TestRedis;
  readonly url: string;
  readonly caFile: string;
  /** An authority that has signed nothing. */
  readonly otherCaFile: string;
  stop(): Promise<void>;
}

const DAY_MS = 86_400_000;

export async function startTlsRedis(): Promise<Tls> {
  const dir = mkdtempSync(join(tmpdir(), 'routedip-tls-'));
  const file = (name: string, text: string): string => {
    writeFileSync(join(dir, name), text);
    return join(dir, name);
  };
  const validity = { from: Date.now() - DAY_MS, to: Date.now() + DAY_MS };
  const [pair, other] = await Promise.all([issue(['127.0.0.1'], validity), issue(['127.0.0.1'], validity)]);
  const port = await freePort();
  const files = [
    '--tls-cert-file',
    file('cert', pair.cert),
    '--tls-key-file',
    file('key', pair.key),
    '--tls-ca-cert-file',
    file('ca', pair.ca),
  ];
  const redis = await startTestRedis({ aof: true, extra: ['--tls-port', String(port), '--tls-auth-clients', 'no', ...files] });
  return {
    redis,
    url: `rediss://127.0.0.1:${port}`,
    caFile: join(dir, 'ca'),
    otherCaFile: file('other-ca', other.ca),
    stop: async () => {
      await redis.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
