import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type OperatorProcess, startOperator } from '../demo/operator.ts';
import { type DigitalOceanOptions, type DigitalOceanSimulator, startDigitalOcean } from '../simulator/digitalocean/server.ts';
import { nodeObject, podObject } from '../simulator/kubernetes/cluster.ts';
import type { JsonObject } from '../simulator/kubernetes/objects.ts';
import type { Tls } from '../simulator/kubernetes/secured.ts';
import { type KubernetesSimulator, startKubernetes } from '../simulator/kubernetes/server.ts';
import { createPki } from '../test/support/kube-pki.ts';
import { type PrivateRedis, startRedis } from '../tools/redis.mjs';
import type { Plan } from './scenario.ts';
import { followStatus, type Statuses } from './statuses.ts';

const CRD = join(import.meta.dirname, '../crds/floatingippools.yaml');
const POOLS = 'flipop.digitalocean.com/v1alpha1';
export const TOKEN = 'token-of-the-bench';
export const REGION = 'nyc3';
const READY_MS = 60_000;

/** The rate limit of a token, raised at the simulator and for the operator alike: what is measured is the operator, not the wait for it. */
export const RAISED = { perMinute: 600_000, perHour: 36_000_000 };
export const RAISED_FLAGS = [`--rate-limit-per-minute=${RAISED.perMinute}`, `--rate-limit-per-hour=${RAISED.perHour}`];
export const RAISED_TEXT = `rate limit raised to ${RAISED.perMinute} a minute at the simulator and for the operator`;

export interface NodeWish {
  readonly labels?: { readonly [key: string]: string };
  /** Size of the Node object, bytes of JSON. */
  readonly bytes?: number;
}

export interface PodWish {
  readonly node: string;
  readonly labels: { readonly [key: string]: string };
  /** `default` unless given. */
  readonly namespace?: string;
  readonly bytes?: number;
}

/** Both simulated APIs in this process, and around them processes of their own: Redis and the operator that is measured. */
export interface World {
  readonly kubernetes: KubernetesSimulator;
  readonly cloud: DigitalOceanSimulator;
  readonly statuses: Statuses;
  readonly operator: OperatorProcess;
  /** Droplet ids by node name. */
  readonly droplets: ReadonlyMap<string, number>;
  readonly redisPid: number;
  readonly redisUrl: string;
  addNode(name: string, wish?: NodeWish): void;
  /** A Running and Ready pod. */
  addPod(name: string, wish: PodWish): void;
  setReady(node: string, ready: boolean): void;
  /** `count` addresses of the account, on droplets when nodes are named; of other accounts when their tokens are. */
  addresses(count: number, nodes?: readonly string[], tokenOf?: (index: number) => string): readonly string[];
  pool(name: string, spec: JsonObject): void;
  /** Resolves once /readyz says so; with dashboards off and default flags but for those given. */
  start(flags?: readonly string[]): Promise<OperatorProcess>;
  /** @throws Error with the operator's last words when it does not hold in time */
  until(what: string, holds: () => boolean | Promise<boolean>, deadlineMs?: number): Promise<void>;
  close(): Promise<void>;
}

export interface WorldOptions extends Omit<DigitalOceanOptions, 'token'> {
  /** Files with definitions to install; that of FloatingIPPool by default. */
  readonly crds?: readonly string[];
  /** Other tokens than that of the environment, each of an account of its own. */
  readonly tokens?: readonly string[];
  /** The operator speaks to Kubernetes over TLS, and so over HTTP/2 where it can. */
  readonly isSecured?: boolean;
}

/** The operator is that of the plan, what DigitalOcean does is said by `options` and drawn by the seed. */
export async function openWorld(
  { build, seed }: Plan,
  { crds = [CRD], tokens = [], isSecured = false, ...options }: WorldOptions = {},
): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'routedip-bench-'));
  // As it is shipped, with what its append-only file costs.
  const redis: PrivateRedis = await startRedis({ aof: true, extra: ['--appendfsync', 'everysec'] });
  const kubernetes = await startKubernetes({ crds, historySize: 20_000, ...(isSecured && { tls: tlsIn(folder) }) });
  const cloud = await startDigitalOcean({ token: TOKEN, rateLimit: RAISED, reservedIPQuota: 10_000, seed, ...options });
  cloud.setTokens([TOKEN, ...tokens]);
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, (kubernetes.secured ?? kubernetes).kubeconfig(), { mode: 0o600 });
  const statuses = followStatus(kubernetes.url);
  const droplets = new Map<string, number>();
  const state: { operator: OperatorProcess | null } = { operator: null };

  const setStatus = (ref: { kind: string; name: string; namespace?: string }, status: JsonObject): void => {
    kubernetes.store.patch({ apiVersion: 'v1', ...ref }, { status }, { subresource: 'status' });
  };
  const world: World = {
    kubernetes,
    cloud,
    statuses,
    droplets,
    redisPid: redis.pid,
    redisUrl: redis.url,
    get operator() {
      if (state.operator === null) throw new Error('the operator was not started');
      return state.operator;
    },
    addNode: (name, { labels = {}, bytes } = {}) => {
      const { id } = cloud.addDroplet({ name, region: REGION });
      droplets.set(name, id);
      const spec = { name, dropletID: id, region: REGION, labels: { ...labels }, ...(bytes !== undefined && { bytes }) };
      kubernetes.store.create(nodeObject(spec));
      kubernetes.store.patch({ apiVersion: 'v1', kind: 'Node', name }, { spec: { taints: null } });
    },
    addPod: (name, { node, labels, namespace = 'default', bytes }) => {
      const pod = podObject({ name, namespace, node, labels: { ...labels }, ...(bytes !== undefined && { bytes }) });
      kubernetes.store.create(pod);
      setStatus({ kind: 'Pod', name, namespace }, { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] });
    },
    setReady: (node, ready) =>
      setStatus({ kind: 'Node', name: node }, { conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] }),
    addresses: (count, nodes = [], tokenOf) =>
      Array.from({ length: count }, (_, index) => {
        const droplet = droplets.get(nodes[index] ?? '');
        return cloud.addReservedIP({
          region: REGION,
          ...(droplet !== undefined && { dropletId: droplet }),
          ...(tokenOf && { token: tokenOf(index) }),
        }).ip;
      }),
    pool: (name, spec) => {
      const whole = { provider: 'digitalocean', region: REGION, ...spec };
      kubernetes.store.create({ apiVersion: POOLS, kind: 'FloatingIPPool', metadata: { name, namespace: 'default' }, spec: whole });
    },
    start: async (flags = []) => {
      const all = ['--metrics-bind-addr=127.0.0.1:0', ...flags];
      const operator = startOperator({
        kubeconfig,
        redisUrl: redis.url,
        digitaloceanUrl: cloud.url,
        token: TOKEN,
        flags: all,
        entry: build.entry,
        nodeFlags: build.nodeFlags,
      });
      state.operator = operator;
      await world.until('the operator is ready', () => isReady(operator), READY_MS);
      return operator;
    },
    until: async (what, holds, deadlineMs = READY_MS) => {
      const end = performance.now() + deadlineMs;
      while (!(await holds())) {
        const { operator } = state;
        const ended = operator?.ended ?? null;
        if (ended === null && performance.now() < end) await sleep(20);
        else throw new Error(`${what}: ${ended ?? `not within ${deadlineMs} ms`}\n${operator?.lastLines(15).join('\n')}`);
      }
    },
    close: async () => {
      statuses.close();
      await state.operator?.stop();
      await Promise.all([kubernetes.close(), cloud.close(), redis.stop()]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
  process.once('exit', () => state.operator?.kill());
  return world;
}

function tlsIn(folder: string): Tls {
  const { ca, certificate } = createPki(folder);
  const { crt, key } = certificate('apiserver');
  return { ca: readFileSync(ca, 'utf8'), cert: readFileSync(crt, 'utf8'), key: readFileSync(key, 'utf8') };
}

async function isReady({ served }: OperatorProcess): Promise<boolean> {
  if (served.telemetry === null) return false;
  return (await fetch(`${served.telemetry}/readyz`)).ok;
}
