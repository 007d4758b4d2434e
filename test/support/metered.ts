import { setImmediate as nextTurn } from 'node:timers/promises';
import { charts } from '../../actors/controllers/chart-registry.ts';
import type { Log } from '../../actors/ports/observers.ts';
import type { Provider } from '../../actors/ports/provider.ts';
import { DEFAULT_SETTINGS } from '../../actors/ports/settings.ts';
import { Supervisor } from '../../actors/supervisor.ts';
import { createDigitalOceanProvider } from '../../adapters/digitalocean/provider.ts';
import { type MemoryBudget, memoryBudget } from '../../adapters/memory/budget.ts';
import { type VirtualClock, virtualClock } from '../../adapters/memory/clock.ts';
import { type MemoryCluster, memoryCluster } from '../../adapters/memory/cluster.ts';
import { memoryDirectory } from '../../adapters/memory/directory.ts';
import { memoryLease } from '../../adapters/memory/leadership.ts';
import { type MemoryNamespaces, memoryNamespaces } from '../../adapters/memory/namespaces.ts';
import { memoryQueues } from '../../adapters/memory/queues.ts';
import { memoryStore } from '../../adapters/memory/store.ts';
import { queryOf } from '../../machines/model/matching.ts';
import type { ObjectRef } from '../../machines/model/types.ts';
import type { PoolStatus } from '../../machines/status/pool.ts';
import type { Call } from '../../simulator/digitalocean/call-log.ts';
import {
  type DigitalOceanSimulator,
  type DigitalOceanOptions as SimulatorOptions,
  startDigitalOcean,
} from '../../simulator/digitalocean/server.ts';
import { node, PROVIDER } from './world.ts';

const FACTS = { addresses: true, dns: true, ipv6: true, addressesPerNode: 1, providerIDPrefix: 'digitalocean://', missing: null };

/** What DigitalOcean allows a token. */
const LIMIT = { perMinute: 250, perHour: 5_000 };

/** The operator on memory parts and a virtual clock, its real DigitalOcean adapter under the limits of a token, the real ones unless others are given: each request, also each page of a
 *  list, goes over HTTP to the simulator, whose limits run by the same clock. No virtual time passes while a request is on its way. */
export interface Metered {
  readonly clock: VirtualClock;
  readonly cloud: DigitalOceanSimulator;
  readonly budget: MemoryBudget;
  readonly cluster: MemoryCluster;
  readonly namespaces: MemoryNamespaces;
  /** Errors and warnings of the operator. */
  readonly log: readonly string[];
  /** Adds Ready nodes with their droplets, that a pool of the same group matches. */
  nodes(group: string, ...names: readonly string[]): void;
  /** These nodes turn NotReady, all at once. */
  fail(group: string, ...names: readonly string[]): void;
  /** So many new addresses of the account, on the droplets of the nodes that are named. */
  addresses(count: number, on?: readonly string[]): readonly string[];
  pool(
    name: string,
    group: string,
    spec: { readonly ips?: readonly string[]; readonly desiredIPs?: number },
    more?: object,
    namespace?: string,
  ): ObjectRef;
  status(ref: ObjectRef): Partial<PoolStatus>;
  start(): Promise<void>;
  /** Goes on until `holds`; answers the ms that passed. @throws Error when it does not within `maxMs` */
  until(holds: () => boolean, maxMs: number): Promise<number>;
  advance(ms: number): Promise<void>;
  /** What reached the provider since the call of that number. */
  calls(since?: number): readonly Call[];
  close(): Promise<void>;
}

interface MeteredOptions extends Omit<SimulatorOptions, 'now'> {
  readonly verifyEveryMs?: number;
}

export async function openMetered({
  rateLimit = LIMIT,
  verifyEveryMs = DEFAULT_SETTINGS.verifyEveryMs,
  ...options
}: MeteredOptions = {}): Promise<Metered> {
  const settings = { ...DEFAULT_SETTINGS, verifyEveryMs };
  const clock = virtualClock();
  const cloud = await startDigitalOcean({ rateLimit, reservedIPQuota: 5_000, ...options, now: clock.now });
  const budget = memoryBudget(clock, rateLimit);
  const log: string[] = [];
  const note = (message: string, fields?: unknown): void => void log.push(`${message} ${JSON.stringify(fields)}`);
  const quiet: Log = { debug: () => {}, info: () => {}, warn: note, error: note };
  const adapter = createDigitalOceanProvider({ token: 'token-of-the-test', url: cloud.url, budget, log: quiet });
  const traffic = trafficOf(adapter);
  const store = memoryStore();
  const queues = memoryQueues(clock);
  const cluster = memoryCluster({ queryOf });
  const namespaces = memoryNamespaces();
  const process = cluster.process();
  const supervisor = new Supervisor({
    charts: charts(settings, () => 1),
    store: store.connect(),
    queues: queues.connect(),
    clock,
    log: quiet,
    probe: () => undefined,
    leadership: memoryLease(clock).contender('metered'),
    source: process,
    writer: process,
    namespaces,
    providers: memoryDirectory({ [PROVIDER]: { facts: FACTS, provider: traffic.provider } }),
    observers: [],
    settings,
  });
  const droplets = new Map<string, number>();
  const nodeOf = (group: string, name: string, ready = true) =>
    node(name, { labels: { group }, providerID: `digitalocean://${droplets.get(name)}` as never, ready });

  const until = async (holds: () => boolean, maxMs: number): Promise<number> => {
    const start = clock.monotonic();
    await traffic.ended();
    while (!holds()) {
      await clock.runUntil(() => holds() || traffic.goesOn(), start + maxMs - clock.monotonic());
      await traffic.ended();
    }
    return clock.monotonic() - start;
  };
  return {
    clock,
    cloud,
    budget,
    cluster,
    namespaces,
    log,
    nodes: (group, ...names) => {
      for (const name of names) droplets.set(name, cloud.addDroplet({ name, region: 'nyc3' }).id);
      cluster.setNode(...names.map((name) => nodeOf(group, name)));
    },
    fail: (group, ...names) => cluster.setNode(...names.map((name) => nodeOf(group, name, false))),
    addresses: (count, on = []) =>
      Array.from({ length: count }, (_, index) => {
        const droplet = droplets.get(on[index] ?? '');
        return cloud.addReservedIP({ region: 'nyc3', ...(droplet !== undefined && { dropletId: droplet }) }).ip;
      }),
    pool: (name, group, spec, more = {}, namespace) =>
      cluster.setPool({
        name,
        ...(namespace && { namespace }),
        spec: { provider: PROVIDER, region: 'nyc3', match: { nodeLabel: `group=${group}` }, ...spec, ...more } as never,
      }),
    status: (ref) => (cluster.pool(ref)?.status ?? {}) as Partial<PoolStatus>,
    start: () => supervisor.start(),
    until,
    advance: async (ms) => {
      let isOver = false;
      clock.after(ms, () => {
        isOver = true;
      });
      await until(() => isOver, ms);
    },
    calls: (since = 0) => cloud.calls.select({ since }),
    close: async () => {
      let isStopped = false;
      void supervisor.stop().then(() => {
        isStopped = true;
      });
      await until(() => isStopped, 60_000);
      adapter.close();
      await cloud.close();
    },
  };
}

interface Traffic {
  readonly provider: Provider;
  readonly goesOn: () => boolean;
  /** No verb is under way, and whatever the last ones led to has happened. */
  readonly ended: () => Promise<void>;
}

/** Time on the wire is real time: the virtual clock has to wait for it. */
function trafficOf(provider: Provider): Traffic {
  const running = new Set<Promise<unknown>>();
  const counted = new Proxy(provider, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...args: readonly unknown[]) => {
        const verb = Promise.resolve(Reflect.apply(member, target, args));
        const end = verb.catch(() => undefined).finally(() => running.delete(end));
        running.add(end);
        return verb;
      };
    },
  });
  return {
    provider: counted,
    goesOn: () => running.size > 0,
    ended: async () => {
      await nextTurn();
      while (running.size > 0) {
        await Promise.all(running);
        await nextTurn();
      }
    },
  };
}
