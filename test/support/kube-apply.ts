import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { Cluster } from './kube.ts';
import type { ApiResponse } from './kube-client.ts';
import { waitFor } from './wait-for.ts';

export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec?: unknown;
  readonly [field: string]: unknown;
}

/** An API server as far as it can be asked: a real one, or the simulator. */
export type Server = Pick<Cluster, 'send'>;

const CRDS = join(import.meta.dirname, '../../crds');

/** The objects of a text of YAML, in order. */
export const objectsInText = (text: string): readonly KubeObject[] => parseAllDocuments(text).map((document) => document.toJS());

/** The objects of a YAML file, in order. */
export const objectsIn = (path: string): readonly KubeObject[] => objectsInText(readFileSync(path, 'utf8'));

/** The path of `object` at the server, by discovery; a namespaced one without a namespace goes into `namespace`. */
export const pathOf = async (cluster: Server, object: KubeObject, namespace = 'default'): Promise<string> => {
  const root = object.apiVersion.includes('/') ? `/apis/${object.apiVersion}` : `/api/${object.apiVersion}`;
  const { body } = await cluster.send(root);
  const resources: readonly { name: string; kind: string; namespaced: boolean }[] = body.resources ?? [];
  const found = resources.find(({ name, kind }) => kind === object.kind && !name.includes('/'));
  if (!found) throw new Error(`the server has no ${object.kind} in ${object.apiVersion}`);
  const scope = found.namespaced ? `/namespaces/${object.metadata.namespace ?? namespace}` : '';
  return `${root}${scope}/${found.name}/${object.metadata.name}`;
};

/** Creates `object`, or merges it into the one that exists. Resolves with the server's answer, whatever its status.
 *  Not by server-side apply: servers that do not know a field of the object refuse it there, where they drop it here. */
export const apply = async (cluster: Server, object: KubeObject, namespace?: string): Promise<ApiResponse> => {
  const path = await pathOf(cluster, object, namespace);
  const created = await cluster.send(dirname(path), { method: 'POST', body: object });
  return created.status === 409 ? cluster.send(path, { method: 'PATCH', body: object }) : created;
};

/** Applies every object of a YAML file, in order. @throws Error when the server refuses one */
export const applyFile = async (cluster: Server, path: string, namespace?: string): Promise<void> => {
  for (const object of objectsIn(path)) {
    const { status, body } = await apply(cluster, object, namespace);
    if (status >= 300) throw new Error(`${object.kind} ${object.metadata.name} of ${path}: ${status} ${body.message ?? body}`);
  }
};

/** Creates a namespace and returns its name. @throws Error when the server refuses it */
export const createNamespace = async (cluster: Server, name: string): Promise<string> => {
  const { status, body } = await apply(cluster, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  if (status >= 300) throw new Error(`namespace ${name}: ${status} ${body.message}`);
  return name;
};

const DEPLOY = join(import.meta.dirname, '../../deploy');
const OPERATOR = 'routedip-operator';

/** Something of each of the shipped roles, as they are bound. */
const GRANTED = [
  { verb: 'list', resource: 'nodes' },
  { verb: 'create', group: 'coordination.k8s.io', resource: 'leases', namespace: OPERATOR },
  { verb: 'list', group: 'batch', resource: 'jobs', namespace: OPERATOR },
  { verb: 'list', resource: 'secrets', namespace: OPERATOR },
];

/** Installs the operator's namespace, ServiceAccount and roles, and waits until each of them counts: the server goes by a role a moment after it has stored it.
 *  Where the server evaluates policies the operator is confined by the one about Nodes, as it is installed: whatever runs then shows what that lets through.
 *  @throws Error when one is refused or does not count in 10 s */
export const installRoles = async (cluster: Server): Promise<void> => {
  const { body: served } = await cluster.send('/apis/admissionregistration.k8s.io/v1');
  const resources: readonly { name: string }[] = served.resources ?? [];
  const policies = resources.some(({ name }) => name === 'validatingadmissionpolicies') ? ['node-policy.yaml'] : [];
  for (const file of ['namespace.yaml', 'rbac.yaml', ...policies]) await applyFile(cluster, join(DEPLOY, file));
  const user = `system:serviceaccount:${OPERATOR}:${OPERATOR}`;
  for (const resourceAttributes of GRANTED) {
    const body = { spec: { user, resourceAttributes } };
    await waitFor(`${user} may ${resourceAttributes.verb} ${resourceAttributes.resource}`, async () => {
      const answer = await cluster.send('/apis/authorization.k8s.io/v1/subjectaccessreviews', { method: 'POST', body });
      return answer.body.status?.allowed === true;
    });
  }
};

/** Installs the project's CRDs and waits until each is served. @throws Error when one is refused or not served in 10 s */
export const installCrds = async (cluster: Server): Promise<void> => {
  const files = readdirSync(CRDS).filter((name) => name.endsWith('.yaml'));
  for (const file of files) await applyFile(cluster, join(CRDS, file));
  for (const crd of files.flatMap((file) => objectsIn(join(CRDS, file)))) await established(cluster, crd);
};

const established = async (cluster: Server, crd: KubeObject): Promise<void> => {
  const path = await pathOf(cluster, crd);
  await waitFor(`${crd.metadata.name} is served`, async () => {
    const { body } = await cluster.send(path);
    const conditions: readonly { type: string; status: string }[] = body.status?.conditions ?? [];
    return conditions.some(({ type, status }) => type === 'Established' && status === 'True') && (await isServed(cluster, body));
  });
};

/** Established is said a moment before the server answers for the resource. */
const isServed = async (cluster: Server, crd: { spec: { group: string; names: { plural: string }; versions: { name: string }[] } }) => {
  const { group, names, versions } = crd.spec;
  const answers = await Promise.all(versions.map(({ name }) => cluster.send(`/apis/${group}/${name}/${names.plural}`)));
  return answers.every(({ status }) => status === 200);
};
