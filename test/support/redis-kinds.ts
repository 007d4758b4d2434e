import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { issue } from '../../adapters/admission/certificates.ts';
import { freePort } from '../../tools/free-ports.mjs';
import { endWithParent } from '../../tools/leash.mjs';
import { findRedis } from '../../tools/redis-find.mjs';
import { startTestRedis, type TestRedis } from './redis.ts';
import { isRedis7 } from './redis-offers.ts';
import { waitFor } from './wait-for.ts';

const MASTER = 'main';

/** A master with a replica, watched by three Sentinels. */
export interface Watched {
  readonly url: string;
  /** The server that the Sentinels name now. */
  master(): Promise<TestRedis>;
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
    // A Sentinel that finds that it stood still for two seconds does nothing for half a minute; here that is to be over soon.
    // Redis 6.2 cannot be told.
    if (isRedis7) await tell(sentinel.port, 'SENTINEL', 'DEBUG', 'tilt-period', '1000');
  }
  return {
    url: `redis+sentinel://${sentinels.map((sentinel) => `127.0.0.1:${sentinel.port}`).join(',')}/${MASTER}`,
    master: async () => ((await figure(port, 'port')) === String(first.port) ? first : second),
    stop: async () => {
      await Promise.all(sentinels.map((sentinel) => sentinel.stop()));
      await second.stop();
      await first.stop();
    },
  };
}

/** A Redis Cluster of three masters, which may lose one. */
export interface Cluster {
  /** A third of the keys each, in this order. */
  readonly masters: readonly [TestRedis, TestRedis, TestRedis];
  /** The master that has the keys which begin with `prefix`, in braces. */
  owner(prefix: string): Promise<TestRedis>;
  /** A replica of a master, once it has what that one has. It takes its place when that one is gone. */
  replicaOf(master: TestRedis): Promise<TestRedis>;
  stop(): Promise<void>;
}

const SLOTS = 16_384;
const THIRDS = [0, 1, 2, 3].map((third) => Math.floor((third * SLOTS) / 3));

const startNode = async (): Promise<TestRedis> => {
  // The port of its bus would be 10000 higher than its own, where the system may have given it to anybody.
  const bus = ['--cluster-port', String(await freePort())];
  return startTestRedis({ aof: true, extra: ['--cluster-enabled', 'yes', '--cluster-node-timeout', '5000', ...bus] });
};

const nodesOf = async (node: TestRedis): Promise<string> => String(await node.command('CLUSTER', 'NODES'));

const meet = async (node: TestRedis, other: TestRedis): Promise<void> => {
  const [, bus = ''] = /:\d+@(\d+)/.exec(await nodesOf(other)) ?? [];
  await node.command('CLUSTER', 'MEET', '127.0.0.1', String(other.port), bus);
};

export async function startCluster(): Promise<Cluster> {
  const masters = [await startNode(), await startNode(), await startNode()] as const;
  const replicas: TestRedis[] = [];
  const [first] = masters;
  for (const [third, master] of masters.entries()) {
    await master.command('CLUSTER', 'ADDSLOTSRANGE', String(THIRDS[third]), String((THIRDS[third + 1] ?? SLOTS) - 1));
    await master.command('CLUSTER', 'SET-CONFIG-EPOCH', String(third + 1));
    if (master !== first) await meet(first, master);
  }
  const all = () => [...masters, ...replicas];
  const stands = async (node: TestRedis): Promise<boolean> => {
    const known = (await nodesOf(node)).match(/ (?:myself,)?(?:master|slave) /g)?.length;
    return known === all().length && String(await node.command('CLUSTER', 'INFO')).includes('cluster_state:ok');
  };
  const standing = async (): Promise<void> => {
    for (const node of all()) await waitFor('the cluster stands', () => stands(node), 30_000);
  };
  await standing();
  return {
    masters,
    owner: async (prefix) => {
      const slot = Number(await first.command('CLUSTER', 'KEYSLOT', prefix));
      const [, second, third] = masters;
      if (slot < (THIRDS[1] ?? 0)) return first;
      return slot < (THIRDS[2] ?? 0) ? second : third;
    },
    replicaOf: async (master) => {
      const replica = await startNode();
      replicas.push(replica);
      await meet(replica, master);
      await standing();
      await replica.command('CLUSTER', 'REPLICATE', String(await master.command('CLUSTER', 'MYID')));
      await waitFor(
        'it follows',
        async () => String(await replica.command('INFO', 'replication')).includes('master_link_status:up'),
        30_000,
      );
      await standing();
      return replica;
    },
    stop: async () => {
      for (const node of all()) await node.stop();
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
