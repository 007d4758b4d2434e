import type { ClientRef, KubeClient } from '../../simulator/kubernetes/client.ts';
import { podObject, setPod } from '../../simulator/kubernetes/cluster.ts';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import type { Stage } from './stage.ts';

export const NAMESPACE = 'default';

/** The port that nodes listen on; the class of these scenarios says that the platform allows those from 31000 on. */
export const NODE_PORT = 30_080;

export const HTTP: JsonObject = { name: 'http', port: 80, targetPort: 80, nodePort: NODE_PORT };

/** Lets the operator read the Secrets of the namespace, as whoever has issuers there does. */
export const MAY_READ_SECRETS: JsonObject = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'RoleBinding',
  metadata: { name: 'routedip-operator-secrets', namespace: NAMESPACE },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'routedip-operator-secrets' },
  subjects: [{ kind: 'ServiceAccount', name: 'routedip-operator', namespace: 'routedip-operator' }],
};

export interface EventObject {
  readonly reason: string;
  readonly message: string;
  readonly type: string;
  readonly involvedObject?: { readonly name?: string };
}

/** How a Pod can be reached on its node. */
export interface PodPorts {
  readonly hostNetwork?: boolean;
  readonly ports?: readonly {
    readonly name?: string;
    readonly containerPort: number;
    readonly hostPort?: number;
    readonly protocol?: string;
  }[];
}

export const serviceObject = (name: string, ports: readonly JsonObject[]): JsonObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: NAMESPACE },
  spec: { type: 'NodePort', selector: { app: 'ingress' }, ports: ports as JsonObject[] },
});

export async function addFirewall({ cloud }: Stage, name: string): Promise<void> {
  const sources = { addresses: ['0.0.0.0/0', '::/0'] };
  const { status } = await fetch(`${cloud.url}/v2/firewalls`, {
    method: 'POST',
    headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
    body: JSON.stringify({ name, inbound_rules: [{ protocol: 'tcp', ports: '22', sources }] }),
  });
  if (status !== 202) throw new Error(`the firewall ${name} was answered with ${status}`);
}

/** Another Pod in the place of the one that serves on the node: what containers listen on cannot be changed. */
export async function podWith(client: KubeClient, node: string, { hostNetwork = false, ports = [] }: PodPorts): Promise<void> {
  const name = `ingress-${node}`;
  await client.delete({ apiVersion: 'v1', kind: 'Pod', namespace: NAMESPACE, name });
  const plain = podObject({ name, namespace: NAMESPACE, node, labels: { app: 'ingress' } }) as unknown as {
    readonly spec: { readonly containers: readonly JsonObject[] };
  };
  const containers = plain.spec.containers.map((each) => ({ ...each, ports: ports as unknown as JsonObject[] }));
  await client.create({ ...(plain as unknown as JsonObject), spec: { ...plain.spec, hostNetwork, containers } as unknown as JsonObject });
  await setPod(client, { name, namespace: NAMESPACE }, { ready: true });
}

/** What a call to the provider does, in the words of the issuer's verbs. */
export function meaningOf({ method, path, body }: { readonly method: string; readonly path: string; readonly body: unknown }): string {
  const part = path.replace(/^\/v2\//, '').replace(/\?.*/, '');
  if (method === 'GET') return part.startsWith('firewalls') ? 'FindFirewall' : `GET ${part.split('/')[0]}`;
  if (/^(reserved|floating)_ips$/.test(part)) return 'CreateRoutedIP';
  if (part.endsWith('/actions'))
    return (body as { readonly type?: string } | null)?.type === 'assign' ? 'AssignRoutedIP' : 'UnassignRoutedIP';
  if (/^(reserved|floating)_ips\//.test(part) && method === 'DELETE') return 'DeleteRoutedIP';
  if (part.endsWith('/rules')) return method === 'POST' ? 'AddPort' : 'DeletePort';
  if (part.endsWith('/droplets')) return method === 'POST' ? 'AddNode' : 'DeleteNode';
  return `${method} ${path}`;
}

export const sliceRef = (service: string): ClientRef => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  namespace: NAMESPACE,
  name: `${service}-1`,
});

export function sliceOf(service: string, nodes: readonly string[], ready = true): JsonObject {
  const endpoints = nodes.map((node, index) => ({
    addresses: [`10.0.0.${index + 1}`],
    conditions: { ready },
    nodeName: node,
    targetRef: { kind: 'Pod', namespace: NAMESPACE, name: `ingress-${node}` },
  }));
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: `${service}-1`, namespace: NAMESPACE, labels: { 'kubernetes.io/service-name': service } },
    addressType: 'IPv4',
    endpoints,
    ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
  };
}
