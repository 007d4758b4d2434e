import { randomInt } from 'node:crypto';
import type { Cause } from './errors.ts';
import { at, isObject, type JsonObject, type KubeObject, member } from './objects.ts';
import type { Resource } from './resource.ts';
import type { Store } from './store.ts';

const withDefaults = (target: JsonObject, defaults: JsonObject): void => {
  for (const [key, value] of Object.entries(defaults)) target[key] ??= value;
};

const completePod = (spec: JsonObject): void => {
  withDefaults(spec, {
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    securityContext: {},
    schedulerName: 'default-scheduler',
    enableServiceLinks: true,
  });
  for (const container of Array.isArray(spec.containers) ? spec.containers : []) {
    if (!isObject(container)) continue;
    withDefaults(container, {
      resources: {},
      terminationMessagePath: '/dev/termination-log',
      terminationMessagePolicy: 'File',
      imagePullPolicy: /:(?!latest$)[^/]+$/.test(String(container.image ?? '')) ? 'IfNotPresent' : 'Always',
    });
  }
};

const freeClusterIP = (store: Store): string => {
  const taken = new Set(store.list('services').entries.map(({ object }) => at(object, 'spec', 'clusterIP')));
  for (;;) {
    const address = `10.96.${randomInt(256)}.${randomInt(1, 255)}`;
    if (!taken.has(address)) return address;
  }
};

const completeService = (spec: JsonObject, store: Store): void => {
  withDefaults(spec, { type: 'ClusterIP', sessionAffinity: 'None' });
  for (const port of Array.isArray(spec.ports) ? spec.ports : []) {
    if (isObject(port)) withDefaults(port, { protocol: 'TCP', ...(port.port === undefined ? {} : { targetPort: port.port }) });
  }
  if (spec.type === 'ExternalName') return;
  spec.clusterIP ??= freeClusterIP(store);
  withDefaults(spec, {
    clusterIPs: [spec.clusterIP],
    ipFamilies: ['IPv4'],
    ipFamilyPolicy: 'SingleStack',
    internalTrafficPolicy: 'Cluster',
  });
  if (spec.type === 'LoadBalancer') withDefaults(spec, { allocateLoadBalancerNodePorts: true });
  if (spec.type !== 'ClusterIP') withDefaults(spec, { externalTrafficPolicy: 'Cluster' });
};

const completeJob = (object: KubeObject): void => {
  const spec = member(object, 'spec');
  withDefaults(spec, { parallelism: 1, completions: 1, backoffLimit: 6, completionMode: 'NonIndexed', suspend: false });
  const uid = object.metadata.uid ?? '';
  const labels = {
    'batch.kubernetes.io/controller-uid': uid,
    'batch.kubernetes.io/job-name': object.metadata.name ?? '',
    'controller-uid': uid,
    'job-name': object.metadata.name ?? '',
  };
  if (spec.manualSelector !== true) {
    spec.selector = { matchLabels: { 'batch.kubernetes.io/controller-uid': uid } };
    const templateLabels = member(member(member(spec, 'template'), 'metadata'), 'labels');
    Object.assign(templateLabels, labels);
    object.metadata.labels = { ...object.metadata.labels };
  }
  completePod(member(member(spec, 'template'), 'spec'));
};

/** Fills in what the API server itself adds to a new object of a built-in kind. */
export const completeNew = (resource: Resource, object: KubeObject, store: Store): void => {
  if (resource.custom) return;
  switch (resource.kind) {
    case 'Pod':
      completePod(member(object, 'spec'));
      return;
    case 'Service':
      completeService(member(object, 'spec'), store);
      return;
    case 'Job':
      completeJob(object);
      return;
    case 'Namespace':
      object.metadata.labels = { ...object.metadata.labels, 'kubernetes.io/metadata.name': object.metadata.name ?? '' };
      object.spec = { finalizers: ['kubernetes'] };
      return;
    case 'Secret':
      object.type ??= 'Opaque';
      return;
    default:
  }
};

const required = (field: string): Cause => ({ reason: 'FieldValueRequired', message: 'Required value', field });

const podCauses = (object: KubeObject): Cause[] => {
  const containers = at(object, 'spec', 'containers');
  if (!Array.isArray(containers) || containers.length === 0) return [required('spec.containers')];
  return containers.flatMap((container, index) => {
    const causes: Cause[] = [];
    if (!at(container, 'name')) causes.push(required(`spec.containers[${index}].name`));
    if (!at(container, 'image')) causes.push(required(`spec.containers[${index}].image`));
    return causes;
  });
};

const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

const nodeCauses = (object: KubeObject): Cause[] => {
  const taints = at(object, 'spec', 'taints');
  return (Array.isArray(taints) ? taints : []).flatMap((taint, index): Cause[] => {
    const effect = at(taint, 'effect');
    if (!effect) return [required(`spec.taints[${index}].effect`)];
    if (EFFECTS.includes(String(effect))) return [];
    const message = `Unsupported value: ${JSON.stringify(effect)}: supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"`;
    return [{ reason: 'FieldValueNotSupported', message, field: `spec.taints[${index}].effect` }];
  });
};

const providerChanged = (object: KubeObject, old: KubeObject | undefined): Cause[] => {
  const before = at(old, 'spec', 'providerID');
  if (!before || before === at(object, 'spec', 'providerID')) return [];
  return [
    {
      reason: 'FieldValueForbidden',
      message:
        'Forbidden: node updates may only change labels, taints, or capacity (or configSource, if the DynamicKubeletConfig feature gate is enabled)',
      field: 'spec.providerID',
    },
  ];
};

/** The rules of built-in kinds that operators run into. The real server has many more. */
export const kindCauses = (resource: Resource, object: KubeObject, old: KubeObject | undefined): Cause[] => {
  switch (resource.kind) {
    case 'Pod':
      return podCauses(object);
    case 'Node':
      return [...nodeCauses(object), ...providerChanged(object, old)];
    default:
      return [];
  }
};
