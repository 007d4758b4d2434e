import { at, isObject, type Json, type JsonObject, type KubeObject } from '../objects.ts';
import { age, since } from './ages.ts';

/** A cell's text from the object. */
type Cell = (object: KubeObject) => Json;

interface BuiltinColumn {
  name: string;
  type: string;
  format?: string;
  priority?: number;
  cell: Cell;
}

const column = (name: string, cell: Cell, type = 'string'): BuiltinColumn => ({ name, type, cell });
const wide = (name: string, cell: Cell): BuiltinColumn => ({ name, type: 'string', priority: 1, cell });

const AGE = column('Age', (object) => since(object.metadata.creationTimestamp));

const text = (value: Json | undefined, absent: string): string =>
  value === undefined || value === null || value === '' ? absent : String(value);
const objectsAt = (value: Json | undefined, ...path: string[]): JsonObject[] => {
  const found = at(value, ...path);
  return Array.isArray(found) ? found.filter(isObject) : [];
};
const field =
  (absent: string, ...path: string[]): Cell =>
  (object) =>
    text(at(object, ...path), absent);
const size = (value: Json | undefined): number => (isObject(value) || Array.isArray(value) ? Object.keys(value).length : 0);
const labelsText = (value: Json | undefined): string =>
  isObject(value) && size(value) > 0
    ? Object.entries(value)
        .map(([key, one]) => `${key}=${one}`)
        .sort()
        .join(',')
    : '<none>';

const podReason = (pod: KubeObject): string => {
  const statuses = objectsAt(pod, 'status', 'containerStatuses');
  const waiting = statuses.map((status) => at(status, 'state', 'waiting', 'reason') ?? at(status, 'state', 'terminated', 'reason'));
  const reason = waiting.find((one) => typeof one === 'string' && one !== '');
  if (pod.metadata.deletionTimestamp !== undefined) return at(pod, 'status', 'reason') === 'NodeLost' ? 'Unknown' : 'Terminating';
  return text(reason ?? at(pod, 'status', 'reason') ?? at(pod, 'status', 'phase'), 'Unknown');
};

const podReady = (pod: KubeObject): string => {
  const ready = objectsAt(pod, 'status', 'containerStatuses').filter(
    (status) => status.ready === true && at(status, 'state', 'running') !== undefined,
  );
  return `${ready.length}/${objectsAt(pod, 'spec', 'containers').length}`;
};

const podRestarts = (pod: KubeObject): string =>
  String(objectsAt(pod, 'status', 'containerStatuses').reduce((sum, status) => sum + Number(status.restartCount ?? 0), 0));

const readinessGates = (pod: KubeObject): string => {
  const gates = objectsAt(pod, 'spec', 'readinessGates').map((gate) => gate.conditionType);
  if (gates.length === 0) return '<none>';
  const conditions = objectsAt(pod, 'status', 'conditions');
  const met = gates.filter((gate) => conditions.some((condition) => condition.type === gate && condition.status === 'True'));
  return `${met.length}/${gates.length}`;
};

const nodeStatus = (node: KubeObject): string => {
  const ready = objectsAt(node, 'status', 'conditions').find((condition) => condition.type === 'Ready');
  const state = ready ? (ready.status === 'True' ? 'Ready' : 'NotReady') : 'Unknown';
  return at(node, 'spec', 'unschedulable') === true ? `${state},SchedulingDisabled` : state;
};

const ROLE = 'node-role.kubernetes.io/';

const nodeRoles = (node: KubeObject): string => {
  const labels = Object.entries(node.metadata.labels ?? {});
  const roles = labels.flatMap(([key, value]) => {
    if (key.startsWith(ROLE) && key.length > ROLE.length) return [key.slice(ROLE.length)];
    return key === 'kubernetes.io/role' && value !== '' ? [value] : [];
  });
  return roles.length === 0 ? '<none>' : [...new Set(roles)].sort().join(',');
};

const nodeAddress =
  (type: string): Cell =>
  (node) =>
    text(objectsAt(node, 'status', 'addresses').find((address) => address.type === type)?.address, '<none>');

const eventObject: Cell = (event) => {
  const involved = at(event, 'involvedObject') ?? at(event, 'regarding');
  return `${text(at(involved, 'kind'), '').toLowerCase()}/${text(at(involved, 'name'), '')}`;
};

const eventSource: Cell = (event) => {
  const component = text(at(event, 'source', 'component') ?? at(event, 'deprecatedSource', 'component'), '');
  const host = text(at(event, 'source', 'host') ?? at(event, 'reportingInstance'), '');
  const name = component || text(event.reportingComponent ?? event.reportingController, '');
  return host === '' ? name : `${name}, ${host}`;
};

const firstSeen: Cell = (event) => since(event.firstTimestamp ?? event.deprecatedFirstTimestamp ?? event.eventTime ?? undefined);

const lastSeen: Cell = (event) => {
  const series = at(event, 'series', 'lastObservedTime');
  const last = series ?? event.lastTimestamp ?? event.deprecatedLastTimestamp;
  return typeof last === 'string' ? since(last) : firstSeen(event);
};

const eventCount: Cell = (event) => {
  const count = at(event, 'series', 'count') ?? event.count ?? event.deprecatedCount;
  return typeof count === 'number' && count > 0 ? count : 1;
};

const servicePorts: Cell = (service) => {
  const ports = objectsAt(service, 'spec', 'ports').map(({ port, nodePort, protocol = 'TCP' }) =>
    nodePort ? `${port}:${nodePort}/${protocol}` : `${port}/${protocol}`,
  );
  return ports.length === 0 ? '<none>' : ports.join(',');
};

const externalIPs: Cell = (service) => {
  const listed = at(service, 'spec', 'externalIPs');
  const external = Array.isArray(listed) ? listed.map(String) : [];
  const ingress = objectsAt(service, 'status', 'loadBalancer', 'ingress').map(({ ip, hostname }) => String(ip ?? hostname ?? ''));
  const type = at(service, 'spec', 'type');
  if (type === 'ExternalName') return text(at(service, 'spec', 'externalName'), '<none>');
  if (type !== 'LoadBalancer') return external.length === 0 ? '<none>' : external.join(',');
  const all = [...ingress, ...external];
  return all.length === 0 ? '<pending>' : all.join(',');
};

const endpointsText: Cell = (endpoints) => {
  const all = objectsAt(endpoints, 'subsets').flatMap((subset) => {
    const ports = objectsAt(subset, 'ports').map(({ port }) => port);
    return objectsAt(subset, 'addresses').flatMap(({ ip }) => (ports.length === 0 ? [String(ip)] : ports.map((port) => `${ip}:${port}`)));
  });
  if (all.length === 0) return '<none>';
  return all.length > 3 ? `${all.slice(0, 3).join(',')} + ${all.length - 3} more...` : all.join(',');
};

const sliceEndpoints: Cell = (slice) => {
  const all = objectsAt(slice, 'endpoints').flatMap(({ addresses }) => (Array.isArray(addresses) ? addresses.map(String) : []));
  if (all.length === 0) return '<unset>';
  return all.length > 3 ? `${all.slice(0, 3).join(',')} + ${all.length - 3} more...` : all.join(',');
};

const slicePorts: Cell = (slice) => {
  const ports = objectsAt(slice, 'ports').map(({ port }) => text(port, '*'));
  return ports.length === 0 ? '<unset>' : ports.join(',');
};

const containers = (key: string): BuiltinColumn =>
  wide(key === 'name' ? 'Containers' : 'Images', (object) =>
    objectsAt(object, 'spec', 'template', 'spec', 'containers')
      .map((container) => String(container[key]))
      .join(','),
  );

const selector = wide('Selector', (object) => labelsText(at(object, 'spec', 'selector', 'matchLabels')));

const jobDuration: Cell = (job) => {
  const started = at(job, 'status', 'startTime');
  if (typeof started !== 'string') return '';
  const done = at(job, 'status', 'completionTime');
  return age((typeof done === 'string' ? Date.parse(done) : Date.now()) - Date.parse(started));
};

const jobStatus: Cell = (job) => {
  const conditions = objectsAt(job, 'status', 'conditions').filter((condition) => condition.status === 'True');
  const has = (type: string): boolean => conditions.some((condition) => condition.type === type);
  if (has('Complete')) return 'Complete';
  if (has('Failed')) return 'Failed';
  if (job.metadata.deletionTimestamp !== undefined) return 'Terminating';
  return has('Suspended') ? 'Suspended' : 'Running';
};

const counts =
  (ready: string): Cell =>
  (object) =>
    `${text(at(object, 'status', ready), '0')}/${text(at(object, 'spec', 'replicas'), '0')}`;

/** The columns of built-in resources after their name, as the API server's printers have them; others have their age only. */
const subjects = (kind: string): BuiltinColumn =>
  wide(`${kind}s`, (binding) =>
    objectsAt(binding, 'subjects')
      .filter((subject) => subject.kind === kind)
      .map(({ namespace, name }) => (namespace === undefined ? String(name) : `${namespace}/${name}`))
      .join(', '),
  );

const bindings: readonly BuiltinColumn[] = [
  column('Role', (binding) => `${at(binding, 'roleRef', 'kind')}/${at(binding, 'roleRef', 'name')}`),
  AGE,
  subjects('User'),
  subjects('Group'),
  subjects('ServiceAccount'),
];

export const BUILTIN_COLUMNS: Readonly<Record<string, readonly BuiltinColumn[]>> = {
  pods: [
    column('Ready', podReady),
    column('Status', podReason),
    column('Restarts', podRestarts),
    AGE,
    wide('IP', field('<none>', 'status', 'podIP')),
    wide('Node', field('<none>', 'spec', 'nodeName')),
    wide('Nominated Node', field('<none>', 'status', 'nominatedNodeName')),
    wide('Readiness Gates', readinessGates),
  ],
  nodes: [
    column('Status', nodeStatus),
    column('Roles', nodeRoles),
    AGE,
    column('Version', field('', 'status', 'nodeInfo', 'kubeletVersion')),
    wide('Internal-IP', nodeAddress('InternalIP')),
    wide('External-IP', nodeAddress('ExternalIP')),
    wide('OS-Image', field('<unknown>', 'status', 'nodeInfo', 'osImage')),
    wide('Kernel-Version', (node) => {
      const { kernelVersion = '<unknown>', architecture = '' } = (at(node, 'status', 'nodeInfo') ?? {}) as JsonObject;
      return architecture === '' ? String(kernelVersion) : `${kernelVersion} (${architecture})`;
    }),
    wide('Container-Runtime', field('<unknown>', 'status', 'nodeInfo', 'containerRuntimeVersion')),
  ],
  events: [
    column('Last Seen', lastSeen),
    column('Type', field('', 'type')),
    column('Reason', field('', 'reason')),
    column('Object', eventObject),
    wide('Subobject', (event) => text(at(event, 'involvedObject', 'fieldPath') ?? at(event, 'regarding', 'fieldPath'), '')),
    wide('Source', eventSource),
    column('Message', (event) => text(event.message ?? event.note, '').trim()),
    wide('First Seen', firstSeen),
    wide('Count', eventCount),
    { name: 'Name', type: 'string', format: 'name', priority: 1, cell: (event) => event.metadata.name ?? '' },
  ],
  namespaces: [column('Status', field('', 'status', 'phase')), AGE],
  configmaps: [column('Data', (object) => size(object.data) + size(object.binaryData)), AGE],
  secrets: [column('Type', field('', 'type')), column('Data', (object) => size(object.data)), AGE],
  serviceaccounts: [column('Secrets', (object) => size(object.secrets)), AGE],
  services: [
    column('Type', field('', 'spec', 'type')),
    column('Cluster-IP', field('<none>', 'spec', 'clusterIP')),
    column('External-IP', externalIPs),
    column('Port(s)', servicePorts),
    AGE,
    wide('Selector', (service) => labelsText(at(service, 'spec', 'selector'))),
  ],
  endpoints: [column('Endpoints', endpointsText), AGE],
  'endpointslices.discovery.k8s.io': [
    column('AddressType', field('', 'addressType')),
    column('Ports', slicePorts),
    column('Endpoints', sliceEndpoints),
    AGE,
  ],
  'leases.coordination.k8s.io': [column('Holder', field('', 'spec', 'holderIdentity')), AGE],
  'jobs.batch': [
    column('Status', jobStatus),
    column('Completions', (job) => `${text(at(job, 'status', 'succeeded'), '0')}/${text(at(job, 'spec', 'completions'), '1')}`),
    column('Duration', jobDuration),
    AGE,
    containers('name'),
    containers('image'),
    selector,
  ],
  'deployments.apps': [
    column('Ready', counts('readyReplicas')),
    column('Up-to-date', field('0', 'status', 'updatedReplicas')),
    column('Available', field('0', 'status', 'availableReplicas')),
    AGE,
    containers('name'),
    containers('image'),
    selector,
  ],
  'rolebindings.rbac.authorization.k8s.io': bindings,
  'clusterrolebindings.rbac.authorization.k8s.io': bindings,
  'poddisruptionbudgets.policy': [
    column('Min Available', field('N/A', 'spec', 'minAvailable')),
    column('Max Unavailable', field('N/A', 'spec', 'maxUnavailable')),
    column('Allowed Disruptions', (budget) => Number(at(budget, 'status', 'disruptionsAllowed') ?? 0), 'integer'),
    AGE,
  ],
  'statefulsets.apps': [column('Ready', counts('readyReplicas')), AGE, containers('name'), containers('image')],
  'customresourcedefinitions.apiextensions.k8s.io': [column('Created At', field('', 'metadata', 'creationTimestamp'), 'date')],
};
