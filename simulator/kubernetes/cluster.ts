import type { ClientRef, KubeClient } from './client.ts';
import { at, isObject, type Json, type JsonObject, type KubeObject, timestamp } from './objects.ts';

export interface NodeSpec {
  name: string;
  /** The droplet behind it: its providerID becomes `digitalocean://<id>`. Absent: no providerID. */
  dropletID?: number;
  labels?: { [key: string]: string };
  /** The Ready condition; true when absent. */
  ready?: boolean;
  region?: string;
  internalIP?: string;
  externalIP?: string;
  taints?: { key: string; value?: string; effect: string }[];
  /** Pads the object with an annotation to this many bytes of JSON. */
  bytes?: number;
}

export interface PodSpec {
  name: string;
  namespace?: string;
  node: string;
  labels?: { [key: string]: string };
  /** The Ready condition; true when absent. */
  ready?: boolean;
  phase?: string;
  /** Pads the object with an annotation to this many bytes of JSON. */
  bytes?: number;
}

const PATCH_LIST = 'application/strategic-merge-patch+json';

const nodeRef = (name: string): ClientRef => ({ apiVersion: 'v1', kind: 'Node', name });

const readyCondition = (ready: boolean, reason: string): JsonObject => ({
  type: 'Ready',
  status: ready ? 'True' : 'False',
  reason,
  message: ready ? 'kubelet is posting ready status' : 'kubelet stopped',
  lastHeartbeatTime: timestamp(Date.now()),
  lastTransitionTime: timestamp(Date.now()),
});

const padded = (object: JsonObject, bytes: number | undefined): JsonObject => {
  const metadata = isObject(object.metadata) ? object.metadata : {};
  const missing = (bytes ?? 0) - JSON.stringify(object).length;
  return missing <= 0 ? object : { ...object, metadata: { ...metadata, annotations: { 'simulator/padding': 'x'.repeat(missing) } } };
};

/** A Node as a kubelet and a cloud controller leave it. */
export const nodeObject = (spec: NodeSpec): JsonObject => {
  const { name, dropletID, labels = {}, ready = true, region, internalIP, externalIP, taints } = spec;
  const addresses = [
    { type: 'Hostname', address: name },
    ...(internalIP ? [{ type: 'InternalIP', address: internalIP }] : []),
    ...(externalIP ? [{ type: 'ExternalIP', address: externalIP }] : []),
  ];
  const object = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: {
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        ...(region ? { 'topology.kubernetes.io/region': region } : {}),
        ...labels,
      },
    },
    spec: { ...(dropletID === undefined ? {} : { providerID: `digitalocean://${dropletID}` }), ...(taints ? { taints } : {}) },
    status: {
      addresses,
      capacity: { cpu: '2', memory: '4Gi', pods: '110' },
      allocatable: { cpu: '2', memory: '4Gi', pods: '110' },
      conditions: [readyCondition(ready, ready ? 'KubeletReady' : 'NodeStatusUnknown')],
      nodeInfo: {
        architecture: 'amd64',
        bootID: name,
        containerRuntimeVersion: 'containerd://1.7.0',
        kernelVersion: '6.1.0',
        kubeProxyVersion: 'v1.36.3',
        kubeletVersion: 'v1.36.3',
        machineID: name,
        operatingSystem: 'linux',
        osImage: 'Debian GNU/Linux 12 (bookworm)',
        systemUUID: name,
      },
    },
  };
  return padded(object, spec.bytes);
};

/** Creates a node. A real API server puts a not-ready taint on new nodes, which no controller takes away here: the taints asked for are set afterwards. */
export const addNode = async (client: KubeClient, spec: NodeSpec): Promise<KubeObject> => {
  const created = await client.create(nodeObject(spec));
  const found = at(created, 'spec', 'taints');
  const wanted: Json = spec.taints ?? [];
  if ((Array.isArray(found) ? found.length : 0) === wanted.length) return created;
  return client.patch(nodeRef(spec.name), { spec: { taints: wanted } });
};

/** How many creates are under way at once. */
const PARALLEL = 8;

/** Runs `make` for each item, a few at a time, and returns the results in the order of the items. */
const each = async <T, R>(items: readonly T[], make: (item: T) => Promise<R>): Promise<R[]> => {
  const results: R[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) results[index] = await make(items[index] as T);
  };
  await Promise.all(Array.from({ length: Math.min(PARALLEL, items.length) }, worker));
  return results;
};

/** `<prefix>-1` … `<prefix>-<count>`, droplets counted from `firstDroplet`, all else as in `spec`. */
export const addNodes = (
  client: KubeClient,
  count: number,
  spec: Omit<NodeSpec, 'name' | 'dropletID'> & { prefix?: string; firstDroplet?: number } = {},
): Promise<KubeObject[]> => {
  const { prefix = 'node', firstDroplet = 1, ...rest } = spec;
  const specs = Array.from({ length: count }, (_, index) => ({ ...rest, name: `${prefix}-${index + 1}`, dropletID: firstDroplet + index }));
  return each(specs, (one) => addNode(client, one));
};

/** Sets the Ready condition as the node's kubelet, or the controller that misses it, does. */
export const setNodeReady = (client: KubeClient, name: string, ready: boolean): Promise<KubeObject> => {
  const conditions = [readyCondition(ready, ready ? 'KubeletReady' : 'NodeStatusUnknown')];
  return client.patch(nodeRef(name), { status: { conditions } }, { subresource: 'status', type: PATCH_LIST });
};

export const cordon = (client: KubeClient, name: string, unschedulable: boolean): Promise<KubeObject> =>
  client.patch(nodeRef(name), { spec: { unschedulable: unschedulable ? true : null } });

/** Replaces the node's taints. */
export const setTaints = (
  client: KubeClient,
  name: string,
  taints: { key: string; value?: string; effect: string }[],
): Promise<KubeObject> => client.patch(nodeRef(name), { spec: { taints } });

/** Sets labels; null removes one. */
export const labelNode = (client: KubeClient, name: string, labels: { [key: string]: string | null }): Promise<KubeObject> =>
  client.patch(nodeRef(name), { metadata: { labels } });

export const removeNode = (client: KubeClient, name: string): Promise<void> => client.delete(nodeRef(name));

const podRef = (spec: Pick<PodSpec, 'name' | 'namespace'>): ClientRef => ({
  apiVersion: 'v1',
  kind: 'Pod',
  name: spec.name,
  namespace: spec.namespace ?? 'default',
});

const IMAGE = 'registry.example/app:1.0';

const podStatus = (ready: boolean, phase: string): JsonObject => ({
  phase,
  containerStatuses: [
    {
      name: 'main',
      ready,
      restartCount: 0,
      image: IMAGE,
      imageID: '',
      started: ready,
      ...(phase === 'Running' && { state: { running: { startedAt: timestamp(Date.now()) } } }),
    },
  ],
  conditions: [{ type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: timestamp(Date.now()) }],
});

/** A pod that a scheduler has put on `spec.node`, without its status. */
export const podObject = (spec: PodSpec): JsonObject =>
  padded(
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: spec.name, namespace: spec.namespace ?? 'default', labels: spec.labels ?? {} },
      spec: { nodeName: spec.node, containers: [{ name: 'main', image: IMAGE }], automountServiceAccountToken: false },
    },
    spec.bytes,
  );

/** Creates a pod and gives it the status that the kubelet would: an API server drops the one of a create. */
export const addPod = async (client: KubeClient, spec: PodSpec): Promise<KubeObject> => {
  await client.create(podObject(spec));
  return setPod(client, spec, { ready: spec.ready ?? true, phase: spec.phase ?? 'Running' });
};

export const addPods = (client: KubeClient, specs: readonly PodSpec[]): Promise<KubeObject[]> =>
  each(specs, (spec) => addPod(client, spec));

export const setPod = (
  client: KubeClient,
  spec: Pick<PodSpec, 'name' | 'namespace'>,
  state: { ready: boolean; phase?: string },
): Promise<KubeObject> =>
  client.patch(podRef(spec), { status: podStatus(state.ready, state.phase ?? 'Running') }, { subresource: 'status', type: PATCH_LIST });

export const removePod = (client: KubeClient, spec: Pick<PodSpec, 'name' | 'namespace'>): Promise<void> => client.delete(podRef(spec));

export const createNamespace = (client: KubeClient, name: string): Promise<KubeObject> =>
  client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
