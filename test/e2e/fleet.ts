import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { KillPoint } from '../../actors/ports/observers.ts';
import type { Operator } from '../support/operator.ts';
import { isRunning, isStopped } from '../support/processes.ts';
import { startProxy, type TcpProxy } from '../support/proxy.ts';
import type { Served } from './served.ts';
import { end, type Stage } from './stage.ts';

const PRELOAD = new URL('../support/kill-at.mjs', import.meta.url).href;

/** The Lease of MORTAL_FLAGS holds so long, ms. */
export const LEASE_MS = 3_000;

/** Who is left by a leader that ends, or stands still, without giving its Lease up waits so long; a busy machine does not lose it meanwhile. */
export const SHORT_LEASE: readonly string[] = ['--leader-elect-lease-duration=8s', '--leader-elect-renew-deadline=6s'];

/** Where a process is struck once its replica is armed, and by which signal. */
export interface Stroke {
  readonly at: KillPoint;
  /** What the point is about begins so. */
  readonly about: string;
  readonly by?: 'SIGKILL' | 'SIGSTOP';
}

/** One process of several, each with ways of its own to the API server, to Redis and to the provider. */
export interface Replica {
  readonly operator: Operator;
  readonly api: TcpProxy;
  readonly redis: TcpProxy;
  /** Assigns that this process has sent. */
  assigns(): number;
  /** From now on the stroke falls when the process comes by: the one that it was started with, or another one that kills it. */
  arm(stroke?: Pick<Stroke, 'at' | 'about'>): void;
  leads(): Promise<boolean>;
  /** Whether it is ready, with all that a replica needs. */
  isReady(): Promise<boolean>;
  /** One series without labels; 0 when there is none. */
  figure(name: string): Promise<number>;
  /** Runs of jobs that it has ended. */
  jobs(): Promise<number>;
}

export interface ReplicaOptions {
  readonly stroke?: Stroke;
  /** Without a stroke of its own it waits for the one that `arm` says. */
  readonly armable?: boolean;
  readonly flags?: readonly string[];
}

/** Replicas of one operator on one stage. */
export interface Fleet {
  readonly replicas: readonly Replica[];
  start(options?: ReplicaOptions): Promise<Replica>;
  /** The one that leads, once exactly one of those that run does. */
  leader(): Promise<Replica>;
  followers(): Promise<readonly Replica[]>;
}

/** A pool `ingress` with one address that is active on a node, with several replicas, all of them ready. */
export interface Fleeted extends Omit<Served, 'operator'> {
  readonly fleet: Fleet;
  readonly leader: Replica;
  /** The first of those that follow. */
  readonly follower: Replica;
  readonly term: number;
}

export async function serveByFleet(stage: Stage, count: number, options: ReplicaOptions = {}): Promise<Fleeted> {
  await stage.nodes('a', 'b', 'c');
  const { ip } = stage.cloud.addReservedIP({ region: 'nyc3' });
  const fleet = fleetOn(stage);
  onTestFinished(() => fleet.close());
  await Promise.all(Array.from({ length: count }, () => fleet.start(options)));
  await stage.pool('ingress', { ips: [ip] });
  await stage.until('the address is active', async () => (await stage.activeOn('ingress', ip)) !== null);
  const leader = await fleet.leader();
  const [follower] = await fleet.followers();
  if (!follower) throw new Error('there is no follower');
  const holder = stage.heldBy(ip) ?? '';
  await stage.until('the annotation is there', async () => (await stage.annotation(holder)) === ip);
  for (const replica of fleet.replicas) await stage.until('each is ready', () => replica.isReady());
  return { stage, ip, holder, fleet, leader, follower, term: await leader.figure('routedip_term') };
}

/** A fleet without replicas yet. Whoever opens it closes it, which ends its processes. */
export function fleetOn(stage: Stage): Fleet & { close(): Promise<void> } {
  const folder = mkdtempSync(join(tmpdir(), 'routedip-replicas-'));
  const proxies: TcpProxy[] = [];
  const proxyTo = async (url: string, sent?: (text: string) => void): Promise<TcpProxy> => {
    const proxy = await startProxy(Number(new URL(url).port), sent);
    proxies.push(proxy);
    return proxy;
  };
  const replicas: Replica[] = [];
  let started = 0;
  const leading = async (): Promise<readonly Replica[]> => {
    const each = await Promise.all(replicas.filter(goesOn).map(async (replica) => ((await replica.leads()) ? replica : null)));
    return each.filter((replica) => replica !== null);
  };
  return {
    replicas,
    start: async ({ stroke, armable = stroke !== undefined, flags = [] } = {}) => {
      started += 1;
      const base = join(folder, `replica-${started}`);
      let assigns = 0;
      const kubeconfig = readFileSync(stage.target.operatorKubeconfig, 'utf8');
      const server = /https?:\/\/127\.0\.0\.1:\d+/.exec(kubeconfig)?.[0] ?? '';
      const api = await proxyTo(server);
      const redis = await proxyTo(stage.redis.url);
      const cloud = await proxyTo(stage.cloud.url, (text) => {
        assigns += text.match(/^POST \/v2\/reserved_ips\/[^/]+\/actions /gm)?.length ?? 0;
      });
      writeFileSync(`${base}.kubeconfig`, kubeconfig.replace(server, through(server, api)), { mode: 0o600 });
      const operator = await stage.start({
        kubeconfig: `${base}.kubeconfig`,
        redisUrl: through(stage.redis.url, redis),
        digitaloceanUrl: through(stage.cloud.url, cloud),
        flags,
        ...(armable && {
          nodeFlags: [`--import=${PRELOAD}`],
          env: { ROUTEDIP_ARMED_BY: `${base}.armed`, ...(stroke && environmentOf(stroke)) },
        }),
      });
      const page = async () => (await operator.metrics()).text;
      const replica: Replica = {
        operator,
        api,
        redis,
        assigns: () => assigns,
        arm: (other) => writeFileSync(`${base}.armed`, other ? JSON.stringify(other) : ''),
        leads: async () => figureOf(await page(), 'routedip_leader') === 1,
        isReady: async () => (await operator.metrics('/readyz')).status === 200,
        figure: async (name) => figureOf(await page(), name),
        jobs: async () => sumOf(await page(), 'routedip_job_run_duration_seconds_count'),
      };
      replicas.push(replica);
      return replica;
    },
    leader: async () => {
      const found: { replica?: Replica } = {};
      await stage.until('exactly one leads', async () => {
        const [replica, ...others] = await leading();
        if (!replica || others.length > 0) return false;
        found.replica = replica;
        return true;
      });
      if (!found.replica) throw new Error('nobody leads');
      return found.replica;
    },
    followers: async () => {
      const leaders = await leading();
      return replicas.filter((replica) => goesOn(replica) && !leaders.includes(replica));
    },
    close: async () => {
      await Promise.all(replicas.map(({ operator }) => end(operator)));
      await Promise.all(proxies.map((proxy) => proxy.close()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const environmentOf = ({ at, about, by = 'SIGKILL' }: Stroke): Readonly<Record<string, string>> => ({
  ROUTEDIP_KILL_AT: at,
  ROUTEDIP_KILL_ABOUT: about,
  ROUTEDIP_KILL_BY: by,
});

const goesOn = ({ operator }: Replica): boolean => isRunning(operator.pid) && !isStopped(operator.pid);

const through = (url: string, { port }: TcpProxy): string => url.replace(/:\d+$/, `:${port}`);

const valuesOf = (page: string, name: string): readonly number[] =>
  page
    .split('\n')
    .filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`))
    .map((line) => Number(line.slice(line.lastIndexOf(' ') + 1)));

const figureOf = (page: string, name: string): number => valuesOf(page, name)[0] ?? 0;

const sumOf = (page: string, name: string): number => valuesOf(page, name).reduce((sum, value) => sum + value, 0);
