import { afterEach, beforeEach } from 'vitest';
import type { RoutedIPStatus } from '../../crds/generated/routedip.ts';
import type { ClientRef } from '../../simulator/kubernetes/client.ts';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { staged } from './served.ts';
import type { Stage, StageOptions } from './stage.ts';

const GROUP = 'routedip.io/v1alpha1';
const NAMESPACE = 'default';
export const CLASS_NAME = 'digitalocean.com/floating-ip';
/** The firewall that the class of these scenarios names; one rule in it is somebody else's. */
export const FIREWALL = 'edge';
/** The port that nodes listen on; the class says that the platform allows those from 31000 on. */
export const NODE_PORT = 30_080;

export interface Routed {
  readonly stage: Stage;
  /** A firewall at the provider with a rule for SSH. */
  addFirewall(name?: string): Promise<void>;
  /** What the firewall has: `tcp/80` for rules open to everybody, and names of nodes. */
  firewall(name?: string): { readonly ports: readonly string[]; readonly nodes: readonly string[] };
  setClass(name: string, spec?: JsonObject): Promise<void>;
  /** A Service with one port, and a ready endpoint on each of the nodes. */
  service(name: string, nodes: readonly string[], ports?: readonly JsonObject[]): Promise<void>;
  /** Other nodes have the ready endpoints from now on. */
  endpoints(service: string, nodes: readonly string[]): Promise<void>;
  routedIP(name: string, spec?: JsonObject): Promise<void>;
  editRoutedIP(name: string, change: JsonObject): Promise<void>;
  deleteRoutedIP(name: string): Promise<void>;
  /** Null when there is none of that name. */
  status(name: string): Promise<RoutedIPStatus | null>;
  /** Resolves with the address once it is Stable, on the node when one is named. */
  stable(name: string, on?: string): Promise<string>;
  events(name: string): Promise<readonly string[]>;
  taints(node: string): Promise<readonly string[]>;
  /** Calls that changed something at the provider, in order: `POST /v2/…` by what they mean. */
  changes(since?: number): readonly string[];
  lastCall(): number;
}

/** Registers what `staged` does, with RoutedIPs on each stage. */
export function routedStage(options: StageOptions = {}) {
  const { stage, target, served } = staged(options);
  const held: { routed?: Routed & { close(): Promise<void> } } = {};
  beforeEach(() => {
    held.routed = openRouted(stage());
  });
  afterEach(() => held.routed?.close());
  return {
    target,
    served,
    routed: (): Routed => {
      if (!held.routed) throw new Error('there is nothing routed outside of a test');
      return held.routed;
    },
  };
}

function openRouted(stage: Stage): Routed & { close(): Promise<void> } {
  const { client } = stage.target;
  const made: ClientRef[] = [];
  const put = async (object: JsonObject): Promise<void> => {
    const { apiVersion, kind, metadata } = object as unknown as ClientRef & {
      readonly metadata: { readonly name: string; readonly namespace?: string };
    };
    made.push({ apiVersion, kind, name: metadata.name, ...(metadata.namespace && { namespace: metadata.namespace }) });
    await client.create(object);
  };
  const ref = (name: string): ClientRef => ({ apiVersion: GROUP, kind: 'RoutedIP', namespace: NAMESPACE, name });
  const status = async (name: string): Promise<RoutedIPStatus | null> => {
    try {
      return ((await client.get(ref(name))) as unknown as { readonly status?: RoutedIPStatus }).status ?? {};
    } catch (error) {
      if (String(error).includes('not found')) return null;
      throw error;
    }
  };
  const firewallNamed = (name: string) => [...stage.cloud.state.firewalls.values()].find((firewall) => firewall.name === name);
  const nodeOf = (droplet: number): string => stage.cloud.state.droplets.get(droplet)?.name ?? String(droplet);
  const slice = (service: string, nodes: readonly string[]): JsonObject => sliceOf(stage, service, nodes);
  const sliceRef = (service: string): ClientRef => ({
    apiVersion: sliceVersion(stage),
    kind: 'EndpointSlice',
    namespace: NAMESPACE,
    name: `${service}-1`,
  });
  return {
    stage,
    addFirewall: async (name = FIREWALL) => {
      const sources = { addresses: ['0.0.0.0/0', '::/0'] };
      await fetch(`${stage.cloud.url}/v2/firewalls`, {
        method: 'POST',
        headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
        body: JSON.stringify({ name, inbound_rules: [{ protocol: 'tcp', ports: '22', sources }] }),
      });
    },
    firewall: (name = FIREWALL) => {
      const found = firewallNamed(name);
      return {
        ports: (found?.inboundRules ?? []).map(({ protocol, ports }) => `${protocol}/${ports}`).sort(),
        nodes: (found?.dropletIds ?? []).map(nodeOf).sort(),
      };
    },
    setClass: (name, spec = {}) =>
      put({
        apiVersion: GROUP,
        kind: 'ClusterRoutedIPClass',
        metadata: { name },
        spec: { className: CLASS_NAME, region: 'nyc3', routedIPFirewallName: FIREWALL, nodePortRange: '31000-32767', ...spec },
      }),
    service: async (name, nodes, ports = [{ name: 'http', port: 80, targetPort: 80, nodePort: NODE_PORT }]) => {
      await put({
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name, namespace: NAMESPACE },
        spec: { type: 'NodePort', selector: { app: 'ingress' }, ports: ports as JsonObject[] },
      });
      await put(slice(name, nodes));
    },
    endpoints: async (service, nodes) => void (await client.patch(sliceRef(service), { endpoints: slice(service, nodes).endpoints ?? [] })),
    routedIP: (name, spec = {}) =>
      put({
        apiVersion: GROUP,
        kind: 'RoutedIP',
        metadata: { name, namespace: NAMESPACE },
        spec: { className: CLASS_NAME, serviceRef: { serviceName: name }, ...spec },
      }),
    editRoutedIP: async (name, change) => void (await client.patch(ref(name), change)),
    deleteRoutedIP: (name) => client.delete(ref(name)),
    status,
    stable: async (name, on) => {
      await stage.until(`RoutedIP ${name} is stable${on ? ` on ${on}` : ''}`, async () => {
        const now = await status(name);
        return now?.state === 'Stable' && now.routedIP !== undefined && (on === undefined || now.assignedNode === on);
      });
      return (await status(name))?.routedIP ?? '';
    },
    events: async (name) => {
      const { items } = (await client.get({ apiVersion: 'v1', kind: 'Event', namespace: NAMESPACE, name: '' })) as unknown as {
        items: EventObject[];
      };
      return items.filter(({ involvedObject }) => involvedObject?.name === name).map(({ reason }) => reason);
    },
    taints: async (node) => {
      const { spec } = (await client.get({ apiVersion: 'v1', kind: 'Node', name: node })) as unknown as {
        spec?: { taints?: { key: string; effect: string }[] };
      };
      return (spec?.taints ?? []).map(({ key, effect }) => `${key}:${effect}`);
    },
    changes: (since = 0) => stage.cloud.calls.select({ since, writes: true }).map(meaningOf),
    lastCall: () => stage.cloud.calls.select({}).at(-1)?.n ?? 0,
    close: async () => {
      for (const each of made.reverse()) {
        await client.delete(each).catch(() => undefined);
        if (each.kind === 'RoutedIP' || each.kind === 'ClusterRoutedIPClass')
          await client.patch(each, { metadata: { finalizers: [] } }).catch(() => undefined);
      }
    },
  };
}

interface EventObject {
  readonly reason: string;
  readonly involvedObject?: { readonly name?: string };
}

/** What a call to the provider does, in the words of the issuer's verbs. */
function meaningOf({ method, path, body }: { readonly method: string; readonly path: string; readonly body: unknown }): string {
  const part = path.replace(/^\/v2\//, '');
  if (/^(reserved|floating)_ips$/.test(part)) return 'CreateRoutedIP';
  if (part.endsWith('/actions'))
    return (body as { readonly type?: string } | null)?.type === 'assign' ? 'AssignRoutedIP' : 'UnassignRoutedIP';
  if (/^(reserved|floating)_ips\//.test(part) && method === 'DELETE') return 'DeleteRoutedIP';
  if (part.endsWith('/rules')) return method === 'POST' ? 'AddPort' : 'DeletePort';
  if (part.endsWith('/droplets')) return method === 'POST' ? 'AddNode' : 'DeleteNode';
  return `${method} ${path}`;
}

/** The real API server of these tests serves v1beta1 only. */
const sliceVersion = ({ target }: Stage): string => (target.kind === 'simulator' ? 'discovery.k8s.io/v1' : 'discovery.k8s.io/v1beta1');

function sliceOf(stage: Stage, service: string, nodes: readonly string[]): JsonObject {
  const isOld = stage.target.kind !== 'simulator';
  const endpoints = nodes.map((node, index) => ({
    addresses: [`10.0.0.${index + 1}`],
    conditions: { ready: true },
    ...(isOld ? { topology: { 'kubernetes.io/hostname': node } } : { nodeName: node }),
    targetRef: { kind: 'Pod', namespace: NAMESPACE, name: `ingress-${node}` },
  }));
  return {
    apiVersion: sliceVersion(stage),
    kind: 'EndpointSlice',
    metadata: { name: `${service}-1`, namespace: NAMESPACE, labels: { 'kubernetes.io/service-name': service } },
    addressType: 'IPv4',
    endpoints,
    ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
  };
}
