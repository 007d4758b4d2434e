import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';

interface SecurityContext {
  readonly runAsNonRoot?: boolean;
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly fsGroup?: number;
  readonly allowPrivilegeEscalation?: boolean;
  readonly readOnlyRootFilesystem?: boolean;
  readonly capabilities?: { readonly drop?: readonly string[] };
  readonly seccompProfile?: { readonly type: string };
}

interface SecretKey {
  readonly name: string;
  readonly key: string;
  readonly optional?: boolean;
}

interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly secretKeyRef: SecretKey };
}

export interface Probe {
  readonly exec?: { readonly command: readonly string[] };
  readonly httpGet?: { readonly path: string; readonly port: string };
  readonly tcpSocket?: { readonly port: string };
}

interface Container {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly Variable[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly resources?: { readonly limits?: { readonly memory?: string } };
  readonly securityContext?: SecurityContext;
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
}

interface PodSpec {
  readonly securityContext?: SecurityContext;
  readonly terminationGracePeriodSeconds: number;
  readonly initContainers?: readonly Container[];
  readonly containers: readonly Container[];
}

interface Workload {
  readonly kind: string;
  readonly spec: { readonly template: { readonly spec: PodSpec } };
}

/** What is said below, and what says nothing about how one container runs where there are no others. */
const POD_KEYS = ['securityContext', 'initContainers', 'containers', 'terminationGracePeriodSeconds'];
const POD_KEYS_OF_CLUSTER = ['serviceAccountName', 'automountServiceAccountToken', 'enableServiceLinks', 'affinity'];
const CONTAINER_KEYS = ['name', 'image', 'command', 'args', 'env', 'ports', 'livenessProbe', 'readinessProbe', 'resources'];
const MORE_CONTAINER_KEYS = ['securityContext', 'volumeMounts'];

/** Where Debian keeps the profile that container runtimes have as their own default. */
const PROFILE = '/usr/share/containers/seccomp.json';
/** A user that no image knows, in the group 0, as OpenShift chooses it, and what it gives such a user's volumes. */
const ANY = { user: 1000680000, group: 0, fsGroup: 1000680000 };

/** One container of a workload, as podman is told to run it. */
export interface ShippedContainer {
  /** As in the manifest. */
  readonly image: string;
  readonly args: readonly string[];
  /** Options of `podman run` that say the same as its command, its security context and its limits. */
  readonly options: readonly string[];
  /** By name: what it is, or where it stands. */
  readonly env: ReadonlyMap<string, string | SecretKey>;
  /** Numbers by name. */
  readonly ports: ReadonlyMap<string, number>;
  readonly readinessProbe: Probe | null;
  readonly livenessProbe: Probe | null;
  readonly mountPaths: readonly string[];
  /** The group that its volumes belong to; null for that of their maker. */
  readonly fsGroup: number | null;
  /** How long it is given to end, s. */
  readonly graceSeconds: number;
}

interface Choice {
  /** Without the numbers of users, as deploy/components/openshift has it. */
  readonly anyUser?: boolean;
}

/** The containers of the one workload of this kind in a manifest, those that come before the others first.
 *  @throws Error when it is not one, or has a setting that this does not know how to say */
export function shippedContainers(manifest: string, kind: 'Deployment' | 'StatefulSet', choice: Choice = {}): readonly ShippedContainer[] {
  const [workload, ...others] = parseAllDocuments(readFileSync(manifest, 'utf8'))
    .map((document) => document.toJS() as Workload)
    .filter((each) => each.kind === kind);
  if (!workload || others.length > 0) throw new Error(`there is not one ${kind} in ${manifest}`);
  const pod = workload.spec.template.spec;
  onlyKnown(pod, [...POD_KEYS, ...POD_KEYS_OF_CLUSTER], 'a Pod');
  return [...(pod.initContainers ?? []), ...pod.containers].map((container) => containerOf(pod, container, choice));
}

function containerOf(pod: PodSpec, container: Container, { anyUser = false }: Choice): ShippedContainer {
  onlyKnown(container, [...CONTAINER_KEYS, ...MORE_CONTAINER_KEYS], 'a container');
  const { runAsUser, runAsGroup, fsGroup, ...common } = pod.securityContext ?? {};
  const users = anyUser ? {} : { ...(runAsUser !== undefined && { runAsUser }), ...(runAsGroup !== undefined && { runAsGroup }) };
  const group = anyUser ? ANY.fsGroup : (fsGroup ?? null);
  const { command, resources, securityContext } = container;
  return {
    image: container.image,
    args: container.args ?? [],
    options: [
      ...(command ? ['--entrypoint', JSON.stringify(command)] : []),
      ...(group === null ? [] : ['--group-add', String(group)]),
      ...optionsOf({ ...common, ...users, ...securityContext }, resources?.limits?.memory),
    ],
    env: new Map((container.env ?? []).map(({ name, value, valueFrom }) => [name, valueFrom?.secretKeyRef ?? value ?? ''])),
    ports: new Map((container.ports ?? []).map(({ name, containerPort }) => [name, containerPort])),
    readinessProbe: container.readinessProbe ?? null,
    livenessProbe: container.livenessProbe ?? null,
    mountPaths: (container.volumeMounts ?? []).map(({ mountPath }) => mountPath),
    fsGroup: group,
    graceSeconds: pod.terminationGracePeriodSeconds,
  };
}

function onlyKnown(given: object, known: readonly string[], what: string): void {
  const unknown = Object.keys(given).filter((key) => !known.includes(key));
  if (unknown.length > 0) throw new Error(`no option of podman is known for ${unknown.join(', ')} of ${what}`);
}

const CONTEXT_KEYS = [
  'runAsNonRoot',
  'runAsUser',
  'runAsGroup',
  'allowPrivilegeEscalation',
  'readOnlyRootFilesystem',
  'capabilities',
  'seccompProfile',
];

function optionsOf(context: SecurityContext, memory: string | undefined): readonly string[] {
  onlyKnown(context, CONTEXT_KEYS, 'a securityContext');
  const { runAsNonRoot, runAsUser, runAsGroup, allowPrivilegeEscalation, readOnlyRootFilesystem, capabilities, seccompProfile } = context;
  if (runAsUser === 0) throw new Error('runAsUser is root');
  if (seccompProfile && seccompProfile.type !== 'RuntimeDefault') throw new Error(`unknown seccomp profile ${seccompProfile.type}`);
  return [
    ...(runAsNonRoot ? ['--user', `${runAsUser ?? ANY.user}:${runAsGroup ?? ANY.group}`] : []),
    ...(readOnlyRootFilesystem ? ['--read-only', '--read-only-tmpfs=false'] : []),
    ...(allowPrivilegeEscalation === false ? ['--security-opt', 'no-new-privileges'] : []),
    ...(capabilities?.drop ?? []).flatMap((each) => ['--cap-drop', each.toLowerCase()]),
    ...(seccompProfile ? ['--security-opt', `seccomp=${PROFILE}`] : []),
    ...(memory === undefined ? [] : ['--memory', memory.replace(/i$/, '').toLowerCase()]),
  ];
}
