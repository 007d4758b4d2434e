import { type DigitalOceanOptions, type DigitalOceanSimulator, startDigitalOcean } from '../../simulator/digitalocean/server.ts';
import { addNode, addPod, removeNode, setNodeReady } from '../../simulator/kubernetes/cluster.ts';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { type Operator, type OperatorOptions, startOperator } from '../support/operator.ts';
import { AS_OPERATOR, startTestRedis, type TestRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import type { Pool, Target } from './target.ts';

const GROUP = 'flipop.digitalocean.com/v1alpha1';
const NAMESPACE_OF_LEASE = 'routedip-operator';

export interface StageOptions {
  readonly cloud?: DigitalOceanOptions;
  /** A stage whose account it shares, and which is closed after it. */
  readonly beside?: Stage;
  /** Keep what Redis acknowledged over a crash. Default false. */
  readonly aof?: boolean;
  /** See TargetOptions. */
  readonly audit?: boolean;
}

/** What one scenario plays on: nodes, a cloud account, a Redis and operator processes of its own, on a target that may be shared. */
export interface Stage {
  readonly target: Target;
  readonly cloud: DigitalOceanSimulator;
  readonly redis: TestRedis;
  /** Adds Ready nodes with a droplet and a serving ingress pod each. */
  nodes(...names: readonly string[]): Promise<void>;
  /** The same, with droplets that take no IPv6 address. */
  nodesWithoutIPv6(...names: readonly string[]): Promise<void>;
  /** Creates one of them again, with its Pod, on the droplet that it had. */
  nodeAgain(name: string): Promise<void>;
  notReady(name: string): Promise<void>;
  ready(name: string): Promise<void>;
  deleteNode(name: string): Promise<void>;
  pool(name: string, spec: JsonObject): Promise<void>;
  editPool(name: string, spec: JsonObject): Promise<void>;
  deletePool(name: string): Promise<void>;
  getPool(name: string): Promise<Pool>;
  /** Node that holds the address by the pool's status, while it is active; null otherwise. */
  activeOn(pool: string, address: string): Promise<string | null>;
  /** Node name on whose droplet the address is at the provider; null for none of ours. */
  heldBy(address: string): string | null;
  annotation(node: string, family?: 4 | 6): Promise<string | null>;
  /** Assigns that reached the provider, oldest first. */
  assigns(address?: string): readonly { readonly address: string; readonly node: string | null }[];
  start(options?: Partial<OperatorOptions>): Promise<Operator>;
  until(what: string, holds: () => boolean | Promise<boolean>, deadlineMs?: number): Promise<void>;
  close(): Promise<void>;
}

export async function openStage(target: Target, { cloud: cloudOptions = {}, beside, aof = false }: StageOptions = {}): Promise<Stage> {
  const cloud = beside?.cloud ?? (await startDigitalOcean({ ...ACCOUNT, ...cloudOptions }));
  const redis = await startTestRedis({ aof });
  const droplets = new Map<string, number>();
  const pools = new Set<string>();
  const operators: Operator[] = [];
  const poolRef = (name: string) => ({ apiVersion: GROUP, kind: 'FloatingIPPool', namespace: 'default', name });
  const nodeNamed = (droplet: number | null | undefined) => [...droplets].find(([, id]) => id === droplet)?.[0] ?? null;
  const addNodes = async (names: readonly string[], { ipv6 }: { readonly ipv6: boolean }): Promise<void> => {
    await eachOf(names, async (name) => {
      droplets.set(name, cloud.addDroplet({ name, region: 'nyc3', ipv6 }).id);
      await addToCluster(name);
    });
  };
  const addToCluster = async (name: string): Promise<void> => {
    await addNode(target.client, { name, dropletID: Number(droplets.get(name)), region: 'nyc3', labels: { pool: 'work' } });
    await addPod(target.client, { name: `ingress-${name}`, namespace: 'default', node: name, labels: { app: 'ingress' } });
  };
  const getPool = async (name: string) => (await target.client.get(poolRef(name))) as unknown as Pool;
  const stage: Stage = {
    target,
    cloud,
    redis,
    nodes: (...names) => addNodes(names, { ipv6: true }),
    nodeAgain: addToCluster,
    nodesWithoutIPv6: (...names) => addNodes(names, { ipv6: false }),
    notReady: async (name) => void (await setNodeReady(target.client, name, false)),
    ready: async (name) => void (await setNodeReady(target.client, name, true)),
    deleteNode: (name) => removeNode(target.client, name),
    pool: async (name, spec) => {
      pools.add(name);
      await target.client.create({
        apiVersion: GROUP,
        kind: 'FloatingIPPool',
        metadata: { name, namespace: 'default' },
        spec: { ...DEFAULTS, ...spec },
      });
    },
    editPool: async (name, spec) => void (await target.client.patch(poolRef(name), { spec })),
    deletePool: async (name) => {
      pools.delete(name);
      await target.client.delete(poolRef(name));
    },
    getPool,
    activeOn: async (pool, address) => {
      const status = (await getPool(pool)).status?.ips?.[address];
      return status?.state === 'active' ? (status.nodeName ?? null) : null;
    },
    heldBy: (address) => nodeNamed(cloud.state.reservedIPs.get(address)?.dropletId),
    annotation: async (node, family = 4) => {
      const { metadata } = await target.client.get({ apiVersion: 'v1', kind: 'Node', name: node });
      return ((metadata.annotations ?? {}) as Record<string, string>)[`flipop.digitalocean.com/ipv${family}-reserved-ip`] ?? null;
    },
    assigns: (address) =>
      cloud.calls
        .select({ writes: true })
        .filter(({ path, body }) => path.endsWith('/actions') && (body as { type?: string } | null)?.type === 'assign')
        .map(({ path, body }) => ({ address: path.split('/')[3] ?? '', node: nodeNamed((body as { droplet_id?: number }).droplet_id) }))
        .filter((call) => address === undefined || call.address === address),
    start: async (options = {}) => {
      const operator = startOperator({
        kubeconfig: target.operatorKubeconfig,
        redisUrl: redis.url,
        digitaloceanUrl: cloud.url,
        ...options,
        env: { ...AS_OPERATOR, ...options.env },
        flags: [`--namespace=${NAMESPACE_OF_LEASE}`, ...(options.flags ?? [])],
      });
      operators.push(operator);
      return operator;
    },
    until: async (what, holds, deadlineMs = 60_000) => {
      try {
        await waitFor(what, holds, deadlineMs);
      } catch (cause) {
        throw new Error(`${what}: not within ${deadlineMs} ms\n${operators.map(lastWords).join('\n')}`, { cause });
      }
    },
    close: async () => {
      await Promise.all(operators.map(end));
      for (const pool of pools) await target.client.delete(poolRef(pool)).catch(() => undefined);
      await eachOf([...droplets.keys()], async (name) => {
        await removeNode(target.client, name).catch(() => undefined);
        await target.client.delete({ apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: `ingress-${name}` }).catch(() => undefined);
      });
      // A test may have ended it.
      const refused = await redis.refused().catch(() => []);
      await redis.stop();
      if (!beside) await cloud.close();
      if (refused.length > 0) throw new Error(`Redis refused what the documents say is not needed: ${refused.join('\n')}`);
    },
  };
  return stage;
}

const ACCOUNT: DigitalOceanOptions = { actionMs: 150, reservedIPQuota: 50, rateLimit: { perHour: 100_000, perMinute: 6_000 } };

const FEW = 50;

/** One after another, so that a scenario can go by their order; many of them at once. */
async function eachOf(names: readonly string[], run: (name: string) => Promise<void>): Promise<void> {
  if (names.length > FEW) await Promise.all(names.map(run));
  else for (const name of names) await run(name);
}

/** Ends an operator as its users do, so that its Lease is free for the next scenario; one that does not end is killed. What it talks to is to be closed after it:
 *  it would go on trying, and whoever has got the port by then would be asked. */
export async function end(operator: Operator): Promise<void> {
  operator.kill('SIGCONT');
  const timer = setTimeout(() => operator.kill('SIGKILL'), 10_000);
  await operator.stop();
  clearTimeout(timer);
}

/** An operator's log, for whoever reads why a scenario failed: of each message the last lines, as what is said hundreds of times hides what is said once. */
const lastWords = ({ pid, log, noise }: Operator): string => {
  const counts = new Map<unknown, number>();
  const telling = log.toReversed().filter(({ msg }) => {
    counts.set(msg, (counts.get(msg) ?? 0) + 1);
    return (counts.get(msg) ?? 0) <= LINES_PER_MESSAGE;
  });
  const often = [...counts].filter(([, count]) => count > LINES_PER_MESSAGE).map(([msg, count]) => `${count} × ${msg}`);
  const lines = telling.toReversed().map((line) => JSON.stringify(line));
  return [`operator ${pid}:`, ...often, ...lines, ...noise.slice(-20)].join('\n  ');
};

const LINES_PER_MESSAGE = 8;

const DEFAULTS: JsonObject = {
  provider: 'digitalocean',
  region: 'nyc3',
  match: { nodeLabel: 'pool=work', podNamespace: 'default', podLabel: 'app=ingress' },
};
