import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { type DigitalOceanSimulator, startDigitalOcean } from '../simulator/digitalocean/server.ts';
import { type KubeClient, kubeClient } from '../simulator/kubernetes/client.ts';
import { addNode, addPod, createNamespace } from '../simulator/kubernetes/cluster.ts';
import type { JsonObject, KubeObject } from '../simulator/kubernetes/objects.ts';
import { type KubernetesSimulator, startKubernetes } from '../simulator/kubernetes/server.ts';
import type { Dashboards } from './dashboards.ts';
import { DemoFailure } from './failure.ts';
import { type OperatorProcess, startOperator } from './operator.ts';
import { collectTraces, type Traces } from './traces.ts';
import type { RecordRow } from './view.ts';

const CRDS = join(import.meta.dirname, '../crds');
export const CRDS_INSTALLED = [
  'floatingippools.yaml',
  'nodednsrecordsets.yaml',
  'clusterroutedipclasses.yaml',
  'routedipissuers.yaml',
  'routedips.yaml',
  'ipgroups.yaml',
  'ips.yaml',
  'legacy/groupsegmentmappings.yaml',
  'legacy/virtualips.yaml',
] as const;
/** Three addresses and none listed: FLIPOP's own example, as it is. */
export const POOL_MANIFEST = 'samples/floatingippool.yaml';
export const POOL = 'ingress-pool';
/** Where that pool is found. */
export const POOL_PATH = '/apis/flipop.digitalocean.com/v1alpha1/namespaces/default/floatingippools';
/** Where the RoutedIP is found. */
export const ROUTED_PATH = '/apis/routedip.io/v1alpha1/namespaces/default/routedips';
/** A range of addresses, and Services that want one each. */
export const SERVICES_MANIFEST = '../demo/services.yaml';
/** What is left of the allocator before this one, and the IPGroup of its range. */
export const VIRTUAL_IP_MANIFEST = '../demo/virtual-ip.yaml';
export const FORMER_GROUP_MANIFEST = '../demo/former-group.yaml';
/** Where the Services of type LoadBalancer are. */
export const SERVICES_NAMESPACE = 'edge';
/** A zone of the simulated DigitalOcean, and the name in it that lists the addresses of the pool. */
export const ZONE = 'example.com';
const RECORD_NAME = 'www';
/** Any token will do: the simulated DigitalOcean accepts only this one, and it opens nothing else. */
const TOKEN = 'demo-token-of-the-simulated-digitalocean';
/** How long DigitalOcean takes to move an address, ms; drawn evenly. */
const ACTION_MS = { min: 500, max: 1_000 };
/** The default of five minutes is long for whoever breaks something and looks what comes of it. */
const VERIFY_INTERVAL = '20s';
/** How long it takes to bring a firewall's change to a droplet, ms. */
const FIREWALL_MS = 400;
/** More than are created, so that there is something left to play with. */
const RESERVED_IP_QUOTA = 10;
export const REGION = 'nyc3';
const POOL_LABEL = 'doks.digitalocean.com/node-pool';
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

interface StageOptions {
  readonly seed: number;
  readonly redisUrl: string;
  readonly dashboards: Dashboards;
  /** Where the operator serves its metrics. */
  readonly metrics: string;
  /** It starts again whenever one of its sources changes. */
  readonly isWatched: boolean;
  /** The port of loopback at which a debugger finds it; null for none. */
  readonly debug: number | null;
}

/** Everything around the operator, and the operator once it is started. */
export interface Stage {
  readonly kubernetes: KubernetesSimulator;
  readonly client: KubeClient;
  readonly cloud: DigitalOceanSimulator;
  readonly kubeconfig: string;
  /** All lines of the operator's log. */
  readonly log: string;
  readonly redisUrl: string;
  readonly dashboards: Dashboards;
  /** Droplet ids by node name. */
  readonly droplets: Map<string, number>;
  readonly operator: OperatorProcess | null;
  readonly traces: Traces;
  startOperator(): OperatorProcess;
  /** Creates the objects of a manifest in crds/, or elsewhere in the repository, as `kubectl apply` does for the first time. */
  apply(manifest: string): Promise<void>;
  /** Ends everything and removes its files. May be repeated. */
  close(): Promise<void>;
  /** The same at once, for a process that exits now. */
  abandon(): void;
}

/** Starts both simulated APIs on free ports of loopback, with five nodes that serve the ingress and one that does not match the pool. */
export async function openStage({ seed, redisUrl, dashboards, metrics, isWatched, debug }: StageOptions): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'routedip-demo-'));
  const kubernetes = await startKubernetes({ podTerminationMs: 500 });
  const cloud = await startDigitalOcean({
    seed,
    token: TOKEN,
    actionMs: ACTION_MS,
    firewallMs: FIREWALL_MS,
    reservedIPQuota: RESERVED_IP_QUOTA,
  });
  const client = kubeClient({ url: kubernetes.url });
  const traces = await collectTraces();
  const kubeconfig = join(folder, 'kubeconfig');
  const log = join(folder, 'operator.log');
  writeFileSync(kubeconfig, kubernetes.kubeconfig(), { mode: 0o600 });
  const droplets = new Map<string, number>();
  const state: { operator: OperatorProcess | null } = { operator: null };
  const stage: Stage = {
    kubernetes,
    client,
    cloud,
    kubeconfig,
    log,
    redisUrl,
    dashboards,
    droplets,
    traces,
    get operator() {
      return state.operator;
    },
    startOperator: () => {
      // All pages on; verified so often that whoever breaks something need not wait for minutes.
      const flags = [
        `--verify-interval=${VERIFY_INTERVAL}`,
        `--metrics-bind-addr=${metrics}`,
        `--dashboard-bind-addr=${dashboards.bind}`,
        `--inspect=${dashboards.inspect}`,
      ];
      const environment = {
        kubeconfig,
        redisUrl,
        digitaloceanUrl: cloud.url,
        token: TOKEN,
        dashboardToken: dashboards.token,
        log,
        tracesUrl: traces.url,
      };
      const nodeFlags = [...(isWatched ? ['--watch'] : []), ...(debug === null ? [] : [`--inspect=127.0.0.1:${debug}`])];
      state.operator = startOperator({ ...environment, flags, nodeFlags });
      return state.operator;
    },
    apply: async (manifest) => {
      for (const document of parseAllDocuments(readFileSync(join(CRDS, manifest), 'utf8'))) await client.create(applied(document.toJS()));
    },
    close: async () => {
      await state.operator?.stop();
      client.close();
      traces.close();
      await Promise.all([kubernetes.close(), cloud.close()]);
      rmSync(folder, { recursive: true, force: true });
    },
    abandon: () => {
      state.operator?.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return stage;
}

/** Nodes with a droplet each: `ingress-1` … `ingress-5` run a ready ingress pod, `work-1` belongs to another node pool. */
export async function populate({ client, cloud, droplets }: Stage): Promise<void> {
  await createNamespace(client, 'ingress');
  for (const name of ['ingress-1', 'ingress-2', 'ingress-3', 'ingress-4', 'ingress-5', 'work-1']) {
    const pool = name.replace(/-\d+$/, '');
    const { id } = cloud.addDroplet({ name, region: REGION });
    droplets.set(name, id);
    await addNode(client, { name, dropletID: id, region: REGION, labels: { [POOL_LABEL]: pool } });
    if (pool !== 'ingress') continue;
    const labels = { app: 'nginx-ingress', component: 'controller' };
    await addPod(client, { name: `nginx-${name}`, namespace: 'ingress', node: name, labels });
  }
}

export async function installDefinitions(stage: Stage): Promise<void> {
  for (const definition of CRDS_INSTALLED) await stage.apply(definition);
}

/** Creates something at DigitalOcean, as its owner would: `domains`, `firewalls`. @throws DemoFailure */
export async function createAtProvider({ cloud }: Stage, what: string, body: JsonObject): Promise<void> {
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  const { ok, status } = await fetch(`${cloud.url}/v2/${what}`, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!ok) throw new DemoFailure(`DigitalOcean answered ${status} to the creation of ${what}`);
}

/** Has the pool publish its active addresses. */
export const nameThePool = ({ client }: Stage): Promise<KubeObject> =>
  client.patch(
    { apiVersion: 'flipop.digitalocean.com/v1alpha1', kind: 'FloatingIPPool', namespace: 'default', name: POOL },
    { spec: { dnsRecordSet: { zone: ZONE, recordName: RECORD_NAME, ttl: 30 } } },
  );

/** What the name lists at DigitalOcean, sorted; null before the zone is there. */
export function recordOf({ cloud }: Pick<Stage, 'cloud'>): RecordRow | null {
  const zone = cloud.state.domains.get(ZONE);
  if (!zone) return null;
  const listed = [...zone.records.values()].filter(({ type, name }) => type === 'A' && name === RECORD_NAME);
  return { name: `${RECORD_NAME}.${ZONE}`, addresses: listed.map(({ data }) => data).sort() };
}

/** How curl proves who it is to the simulated DigitalOcean. */
export const AUTHORIZATION = `authorization: Bearer ${TOKEN}`;

/** With the annotation by which a later `kubectl apply` knows what it may change. */
function applied(object: JsonObject): JsonObject {
  const { metadata, ...rest } = object as KubeObject;
  const annotations = { ...metadata.annotations, [LAST_APPLIED]: `${JSON.stringify(object)}\n` };
  return { ...rest, metadata: { ...metadata, annotations } };
}
