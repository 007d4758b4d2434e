import { at, isObject, type Json, type JsonObject, type KubeObject, member } from '../objects.ts';
import type { Resource } from '../resource.ts';
import type { Store } from '../store.ts';
import { completeService } from './services.ts';

const withDefaults = (target: JsonObject, defaults: JsonObject): void => {
  for (const [key, value] of Object.entries(defaults)) target[key] ??= value;
};

/** Pods stay on a failed node for five minutes, unless they say otherwise: an admission plugin adds that. */
const tolerationsOf = (spec: JsonObject): Json[] => {
  const own = Array.isArray(spec.tolerations) ? spec.tolerations : [];
  const missing = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'].filter(
    (key) => !own.some((toleration) => at(toleration, 'key') === key || (at(toleration, 'key') ?? '') === ''),
  );
  return [...own, ...missing.map((key) => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 }))];
};

/** What every pod template gets. */
const completePodSpec = (spec: JsonObject): void => {
  withDefaults(spec, {
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    securityContext: {},
    schedulerName: 'default-scheduler',
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

const completePod = (spec: JsonObject): void => {
  completePodSpec(spec);
  withDefaults(spec, { enableServiceLinks: true, priority: 0, preemptionPolicy: 'PreemptLowerPriority' });
  spec.tolerations = tolerationsOf(spec);
};

const completeSecret = (secret: KubeObject): void => {
  secret.type ??= 'Opaque';
  const { stringData } = secret;
  if (!isObject(stringData)) return;
  const encoded = Object.entries(stringData).map(([key, text]) => [key, Buffer.from(String(text)).toString('base64')]);
  secret.data = { ...(isObject(secret.data) ? secret.data : {}), ...(Object.fromEntries(encoded) as JsonObject) };
  delete secret.stringData;
};

const completeEndpoints = (endpoints: KubeObject): void => {
  for (const subset of Array.isArray(endpoints.subsets) ? endpoints.subsets : []) {
    const ports = at(subset, 'ports');
    for (const port of Array.isArray(ports) ? ports : []) if (isObject(port)) withDefaults(port, { protocol: 'TCP' });
  }
};

const completeJob = (object: KubeObject): void => {
  const spec = member(object, 'spec');
  withDefaults(spec, {
    parallelism: 1,
    completions: 1,
    backoffLimit: 6,
    completionMode: 'NonIndexed',
    suspend: false,
    ...(spec.podFailurePolicy === undefined && { podReplacementPolicy: 'TerminatingOrFailed' }),
  });
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
    object.metadata.labels = { ...(templateLabels as Record<string, string>), ...object.metadata.labels };
  }
  completePodSpec(member(member(spec, 'template'), 'spec'));
};

/** Fills in what the API server itself adds to a new object of a built-in kind. */
export const completeNew = (resource: Resource, object: KubeObject, store: Store, minor: number): void => {
  if (resource.custom) return;
  switch (resource.kind) {
    case 'Pod':
      completePod(member(object, 'spec'));
      return;
    case 'Service':
      completeService(member(object, 'spec'), store, minor);
      return;
    case 'Job':
      completeJob(object);
      return;
    case 'Namespace':
      object.metadata.labels = { ...object.metadata.labels, 'kubernetes.io/metadata.name': object.metadata.name ?? '' };
      object.spec = { finalizers: ['kubernetes'] };
      return;
    case 'Secret':
      completeSecret(object);
      return;
    case 'Endpoints':
      completeEndpoints(object);
      return;
    default:
  }
};
