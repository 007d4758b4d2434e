import { addPod } from '../../simulator/kubernetes/cluster.ts';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import type { Target } from '../e2e/target.ts';
import type { Cluster } from '../support/kube.ts';
import type { AttackedKind, Fields, Hands } from './attacks.ts';

/** The namespace of the attacker, and as whom he asks. */
export const EVIL = 'evil';
export const USER = 'mallory';

const GROUPS: Readonly<Record<AttackedKind, string>> = {
  RoutedIP: 'routedip.io',
  RoutedIPIssuer: 'routedip.io',
  FloatingIPPool: 'flipop.digitalocean.com',
  NodeDNSRecordSet: 'flipop.digitalocean.com',
};
const RBAC = 'rbac.authorization.k8s.io';
const VERBS = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'];
const NAME = { kind: 'User', name: USER, apiGroup: RBAC };

const bound = (kind: string, role: string): JsonObject => ({
  apiVersion: `${RBAC}/v1`,
  kind: 'RoleBinding',
  metadata: { name: role.replaceAll(':', '-'), namespace: EVIL },
  roleRef: { apiGroup: RBAC, kind, name: role },
  subjects: [NAME],
});
const role = (name: string, resources: Readonly<Record<string, readonly string[]>>): JsonObject => ({
  apiVersion: `${RBAC}/v1`,
  kind: 'Role',
  metadata: { name, namespace: EVIL },
  rules: Object.entries(resources).map(([group, plurals]) => ({ apiGroups: [group], resources: [...plurals], verbs: VERBS })),
});

/** What the ClusterRole edit gives: nothing aggregates it here, so that its parts are bound. And what the operator's roles add to it. */
const EDIT = [
  ...['system:aggregate-to-edit', 'system:aggregate-to-view'].map((name) => bound('ClusterRole', name)),
  role('routedip-edit', { 'routedip.io': ['routedips'] }),
  bound('Role', 'routedip-edit'),
];
/** What an administrator may give by name besides. */
const GRANTED = [
  role('granted', { 'routedip.io': ['routedipissuers'], 'flipop.digitalocean.com': ['floatingippools', 'nodednsrecordsets'] }),
  bound('Role', 'granted'),
];
/** The operator reads the Secrets there. */
const READS: JsonObject = {
  ...bound('ClusterRole', 'routedip-operator-secrets'),
  subjects: [{ kind: 'ServiceAccount', name: 'routedip-operator', namespace: 'routedip-operator' }],
};

/** What he has got an answer to. */
interface Answer {
  readonly what: string;
  readonly code: number;
}

/** Somebody with the right to edit a namespace of his own on a real API server. */
export class Tenant implements Hands {
  readonly answers: Answer[] = [];
  readonly #target: Target;
  readonly #cluster: Cluster;
  readonly #nodes: readonly string[];

  /** @throws Error where no real API server is */
  constructor(target: Target, nodes: readonly string[]) {
    if (!target.cluster) throw new Error('rights are for a real API server to judge');
    this.#target = target;
    this.#cluster = target.cluster;
    this.#nodes = nodes;
  }

  async open(): Promise<void> {
    const { client } = this.#target;
    await client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: EVIL } });
    for (const object of [...EDIT, READS]) await client.create(object);
    await this.serve('any', [9_999]);
    await client.create(this.#slice('any'));
  }

  async grant(): Promise<void> {
    for (const object of GRANTED) await this.#target.client.create(object);
  }

  apply(kind: AttackedKind, name: string, spec: Fields): Promise<number> {
    const apiVersion = `${GROUPS[kind]}/v1alpha1`;
    return this.#put(pathOf(kind), name, { apiVersion, kind, metadata: { name, namespace: EVIL }, spec: spec as JsonObject });
  }

  annotate(kind: AttackedKind, name: string, annotations: Readonly<Record<string, string>>): Promise<number> {
    return this.#send('PATCH', `${pathOf(kind)}/${name}`, { metadata: { annotations } });
  }

  async remove(kind: AttackedKind, name: string, letsGo: boolean): Promise<void> {
    await this.#send('DELETE', `${pathOf(kind)}/${name}`);
    if (letsGo) await this.#send('PATCH', `${pathOf(kind)}/${name}`, { metadata: { finalizers: null } });
  }

  serve(name: string, ports: readonly number[]): Promise<number> {
    const all = ports.map((port) => ({ name: `p${port}`, port, targetPort: port }));
    return this.#putService(name, { selector: { app: 'ingress' }, ports: all });
  }

  balance(name: string, address: string | null): Promise<number> {
    const asked = address === null ? {} : { loadBalancerIP: address };
    return this.#putService(name, { type: 'LoadBalancer', selector: { app: 'ingress' }, ports: [{ port: 80 }], ...asked });
  }

  async pods(): Promise<void> {
    const { client } = this.#target;
    for (const node of this.#nodes) {
      const pod = {
        metadata: { name: `pod-${node}`, labels: { app: 'ingress' } },
        spec: { nodeName: node, containers: [{ name: 'c', image: 'c' }] },
      };
      await this.#send('POST', `/api/v1/namespaces/${EVIL}/pods`, { apiVersion: 'v1', kind: 'Pod', ...pod });
      // Kubelets say of other Pods of his that they are ready.
      await addPod(client, { name: `ready-${node}`, namespace: EVIL, node, labels: { app: 'ingress' } }).catch(() => undefined);
    }
  }

  secret(name: string, data: Readonly<Record<string, string>> | null): Promise<number> {
    const path = `/api/v1/namespaces/${EVIL}/secrets`;
    if (data === null) return this.#send('DELETE', `${path}/${name}`);
    const encoded = Object.fromEntries(
      Object.values(data).map((text) => ['DIGITALOCEAN_ACCESS_TOKEN', Buffer.from(text).toString('base64')]),
    );
    return this.#put(path, name, { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: EVIL }, data: encoded });
  }

  async again(times: number, act: (turn: number) => unknown): Promise<void> {
    for (let turn = 0; turn < times; turn += 1) await act(turn);
  }

  /** What he asks for outside of his namespace, and to write a status: he is refused all of it. */
  async reach(): Promise<readonly number[]> {
    const status = { status: { routedIP: '203.0.113.9', state: 'Stable' } };
    return [
      await this.#send('PATCH', `${pathOf('RoutedIP')}/r0/status`, status),
      await this.#send('PATCH', '/apis/routedip.io/v1alpha1/namespaces/default/routedips/shop', { spec: {} }),
      await this.#send('PATCH', '/api/v1/nodes/a', { metadata: { annotations: { 'routedip.io/evacuate': 'true' } } }),
      await this.#send('PATCH', `/api/v1/namespaces/${EVIL}`, {
        metadata: { labels: { 'routedip.io/allow-operator-credentials': 'true' } },
      }),
      await this.#send('GET', '/api/v1/namespaces/routedip-operator/secrets'),
      await this.#send('GET', '/api/v1/namespaces/routedip-operator/configmaps'),
      await this.#send('POST', '/apis/paas.org/v1/ips', {
        apiVersion: 'paas.org/v1',
        kind: 'IP',
        metadata: { name: '10.0.0.1' },
        spec: {},
      }),
    ];
  }

  #slice(service: string): JsonObject {
    return {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: `${service}-1`, namespace: EVIL, labels: { 'kubernetes.io/service-name': service } },
      addressType: 'IPv4',
      endpoints: this.#nodes.map((nodeName, each) => ({ addresses: [`10.1.0.${each + 1}`], conditions: { ready: true }, nodeName })),
      ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
    };
  }

  #putService(name: string, spec: JsonObject): Promise<number> {
    const path = `/api/v1/namespaces/${EVIL}/services`;
    return this.#put(path, name, { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace: EVIL }, spec });
  }

  async #put(path: string, name: string, object: JsonObject): Promise<number> {
    const code = await this.#send('POST', path, object);
    if (code !== 409) return code;
    const { status, body } = await this.#cluster.send(`${path}/${name}`, { user: USER });
    if (status !== 200) return status;
    const metadata = { ...(object.metadata as JsonObject), resourceVersion: body.metadata.resourceVersion };
    const spec = path.endsWith('services') ? { spec: { ...body.spec, ...(object.spec as JsonObject) } } : {};
    return this.#send('PUT', `${path}/${name}`, { ...object, ...spec, metadata });
  }

  async #send(method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: JsonObject): Promise<number> {
    const { status } = await this.#cluster.send(path, { method, user: USER, ...(body && { body }) });
    this.answers.push({ what: `${method} ${path}`, code: status });
    return status;
  }
}

const pathOf = (kind: AttackedKind): string => `/apis/${GROUPS[kind]}/v1alpha1/namespaces/${EVIL}/${kind.toLowerCase()}s`;
