import { Redis } from 'ioredis';
import { type TlsFiles, tlsTo } from './tls.ts';
import type { Endpoint } from './url.ts';

/** Returns the server that currently accepts writes; a result up to `maxAgeMs` old may be reused, default 0. @throws Error with the replies of all servers asked */
export type FindMaster = (maxAgeMs?: number) => Promise<Endpoint>;

/** How to connect to the servers that are asked. */
export interface Asking {
  readonly username?: string;
  readonly password?: string;
  readonly tls?: TlsFiles;
  /** Timeout for each of them, ms. */
  readonly timeoutMs: number;
}

export const nameOf = ({ host, port }: Endpoint): string => `${host.includes(':') ? `[${host}]` : host}:${port}`;

/** Asks all Sentinels in parallel, and uses the newest configuration among the replies of more than half of them, or of all that reply: a partitioned Sentinel
 *  still names a former master. */
export const bySentinels = (sentinels: readonly Endpoint[], master: string, asking: Asking): FindMaster =>
  remembered(async () => {
    const silent: string[] = [];
    const told: { readonly endpoint: Endpoint; readonly epoch: number }[] = [];
    const enough = Promise.withResolvers<void>();
    const all = sentinels.map(async (sentinel) => {
      try {
        const reply = await ask(sentinel, asking, (client) => client.call('SENTINEL', 'MASTER', master));
        told.push(masterIn(reply));
      } catch (error) {
        silent.push(`${nameOf(sentinel)}: ${messageOf(error)}`);
      }
      if (told.length > sentinels.length / 2) enough.resolve();
    });
    await Promise.race([enough.promise, Promise.all(all)]);
    const [newest] = told.sort((a, b) => b.epoch - a.epoch);
    if (!newest) throw new Error(`no Sentinel tells the master ${master}: ${silent.join('; ')}`);
    return newest.endpoint;
  });

/** The reply alternates fields and values. */
const masterIn = (reply: unknown): { endpoint: Endpoint; epoch: number } => {
  const flat = Array.isArray(reply) ? reply.map(String) : [];
  const field = (name: string): string | undefined => flat[flat.findIndex((text, index) => index % 2 === 0 && text === name) + 1];
  const [host, port] = [field('ip'), Number(field('port'))];
  if (!host || !port) throw new Error('its answer names no server');
  return { endpoint: { host, port }, epoch: Number(field('config-epoch') ?? 0) };
};

/** Asks nodes of a Redis Cluster, one after the other, which of them has the keys that begin with `prefix`, a hash tag: they all share one slot, so one node
 *  has them all. Discovered nodes are asked later, too, so that the initial ones may be removed. */
export const byCluster = (nodes: readonly Endpoint[], prefix: string, asking: Asking): FindMaster => {
  const known = new Map(nodes.map((node) => [nameOf(node), node]));
  return remembered(async () => {
    const silent: string[] = [];
    for (const [name, node] of [...known]) {
      // The node asked now is asked last next time: its view of the cluster may be stale.
      known.delete(name);
      known.set(name, node);
      try {
        const { slot, ranges } = await ask(node, asking, async (client) => ({
          slot: Number(await client.call('CLUSTER', 'KEYSLOT', prefix)),
          ranges: rangesIn(await client.call('CLUSTER', 'SLOTS'), node),
        }));
        for (const { master } of ranges) if (!known.has(nameOf(master))) known.set(nameOf(master), master);
        const found = ranges.find(({ first, last }) => first <= slot && slot <= last);
        if (found) return found.master;
        silent.push(`${name}: no node has the slot ${slot}`);
      } catch (error) {
        silent.push(`${name}: ${messageOf(error)}`);
      }
    }
    throw new Error(`no node of the Redis Cluster tells who has our keys: ${silent.join('; ')}`);
  });
};

/** Each entry is `[first, last, [host, port, …] of the master, … of the replicas]`; a node that does not know its own address omits it. */
const rangesIn = (reply: unknown, asked: Endpoint): readonly { first: number; last: number; master: Endpoint }[] =>
  (Array.isArray(reply) ? reply : []).flatMap((range: unknown) => {
    const [first, last, master]: unknown[] = Array.isArray(range) ? range : [];
    if (!Array.isArray(master)) return [];
    const [host, port]: unknown[] = master;
    const named = typeof host === 'string' && host !== '' && host !== '?' ? host : asked.host;
    return [{ first: Number(first), last: Number(last), master: { host: named, port: Number(port) } }];
  });

/** Uses a separate connection, which is closed after the reply. */
const ask = async <T>(endpoint: Endpoint, { timeoutMs, tls, ...login }: Asking, question: (client: Redis) => Promise<T>): Promise<T> => {
  const client = new Redis({
    ...endpoint,
    ...login,
    ...(tls && { tls: tlsTo(endpoint.host, tls) }),
    lazyConnect: true,
    retryStrategy: null,
    enableReadyCheck: false,
    maxRetriesPerRequest: 0,
    connectTimeout: timeoutMs,
    commandTimeout: timeoutMs,
    // RESP2, for replies as plain lists.
    protocol: 2,
  });
  // The error event has the reason; `connect` only reports that the connection is closed.
  let cause: Error | null = null;
  client.on('error', (error: Error) => {
    cause = error;
  });
  try {
    await client.connect();
    return await question(client);
  } catch (error) {
    throw cause ?? error;
  } finally {
    client.disconnect();
  }
};

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Shares one query among concurrent callers, and those soon after. */
const remembered = (find: () => Promise<Endpoint>): FindMaster => {
  let last: { readonly at: number; readonly answer: Promise<Endpoint> } | null = null;
  return (maxAgeMs = 0) => {
    if (last && maxAgeMs > 0 && performance.now() - last.at < maxAgeMs) return last.answer;
    last = { at: performance.now(), answer: find() };
    return last.answer;
  };
};
