import type { Resource } from './resource.ts';
import { builtinSchema } from './schema/builtin.ts';

const ALL_VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'] as const;

interface Line {
  plural: string;
  kind: string;
  short?: readonly string[];
  namespaced?: boolean;
  status?: boolean;
  verbs?: readonly string[];
  all?: boolean;
  extension?: boolean;
  storage?: string;
  storageVersion?: string;
  deprecated?: string;
}

const cluster = false;

/** The built-in resources that are served, by group and version, as discovery of a real server lists them, in its order. */
const TABLE: Readonly<Record<string, readonly Line[]>> = {
  v1: [
    { plural: 'configmaps', kind: 'ConfigMap', short: ['cm'] },
    {
      plural: 'endpoints',
      kind: 'Endpoints',
      short: ['ep'],
      deprecated: 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
    },
    { plural: 'events', kind: 'Event', short: ['ev'] },
    { plural: 'limitranges', kind: 'LimitRange', short: ['limits'] },
    {
      plural: 'namespaces',
      kind: 'Namespace',
      short: ['ns'],
      namespaced: cluster,
      status: true,
      verbs: ALL_VERBS.filter((verb) => verb !== 'deletecollection'),
    },
    { plural: 'nodes', kind: 'Node', short: ['no'], namespaced: cluster, status: true },
    { plural: 'persistentvolumeclaims', kind: 'PersistentVolumeClaim', short: ['pvc'], status: true },
    { plural: 'persistentvolumes', kind: 'PersistentVolume', short: ['pv'], namespaced: cluster, status: true },
    { plural: 'pods', kind: 'Pod', short: ['po'], status: true, all: true },
    { plural: 'podtemplates', kind: 'PodTemplate' },
    { plural: 'resourcequotas', kind: 'ResourceQuota', short: ['quota'], status: true },
    { plural: 'secrets', kind: 'Secret' },
    { plural: 'serviceaccounts', kind: 'ServiceAccount', short: ['sa'] },
    { plural: 'services', kind: 'Service', short: ['svc'], status: true, all: true },
  ],
  'apps/v1': [
    { plural: 'daemonsets', kind: 'DaemonSet', short: ['ds'], status: true, all: true },
    { plural: 'deployments', kind: 'Deployment', short: ['deploy'], status: true, all: true },
    { plural: 'replicasets', kind: 'ReplicaSet', short: ['rs'], status: true, all: true },
    { plural: 'statefulsets', kind: 'StatefulSet', short: ['sts'], status: true, all: true },
  ],
  'events.k8s.io/v1': [{ plural: 'events', kind: 'Event', short: ['ev'], storage: 'events', storageVersion: 'v1' }],
  'authentication.k8s.io/v1': [
    { plural: 'selfsubjectreviews', kind: 'SelfSubjectReview', namespaced: cluster, verbs: ['create'] },
    { plural: 'tokenreviews', kind: 'TokenReview', namespaced: cluster, verbs: ['create'] },
  ],
  'authorization.k8s.io/v1': [
    { plural: 'localsubjectaccessreviews', kind: 'LocalSubjectAccessReview', verbs: ['create'] },
    { plural: 'selfsubjectaccessreviews', kind: 'SelfSubjectAccessReview', namespaced: cluster, verbs: ['create'] },
    { plural: 'selfsubjectrulesreviews', kind: 'SelfSubjectRulesReview', namespaced: cluster, verbs: ['create'] },
    { plural: 'subjectaccessreviews', kind: 'SubjectAccessReview', namespaced: cluster, verbs: ['create'] },
  ],
  'batch/v1': [
    { plural: 'cronjobs', kind: 'CronJob', short: ['cj'], status: true, all: true },
    { plural: 'jobs', kind: 'Job', status: true, all: true },
  ],
  'networking.k8s.io/v1': [
    { plural: 'ingresses', kind: 'Ingress', short: ['ing'], status: true },
    { plural: 'networkpolicies', kind: 'NetworkPolicy', short: ['netpol'] },
  ],
  'policy/v1': [{ plural: 'poddisruptionbudgets', kind: 'PodDisruptionBudget', short: ['pdb'], status: true }],
  'rbac.authorization.k8s.io/v1': [
    { plural: 'clusterrolebindings', kind: 'ClusterRoleBinding', namespaced: cluster },
    { plural: 'clusterroles', kind: 'ClusterRole', namespaced: cluster },
    { plural: 'rolebindings', kind: 'RoleBinding' },
    { plural: 'roles', kind: 'Role' },
  ],
  'storage.k8s.io/v1': [{ plural: 'storageclasses', kind: 'StorageClass', short: ['sc'], namespaced: cluster }],
  'admissionregistration.k8s.io/v1': [
    { plural: 'mutatingwebhookconfigurations', kind: 'MutatingWebhookConfiguration', namespaced: cluster, extension: true },
    { plural: 'validatingadmissionpolicies', kind: 'ValidatingAdmissionPolicy', namespaced: cluster, extension: true, status: true },
    { plural: 'validatingadmissionpolicybindings', kind: 'ValidatingAdmissionPolicyBinding', namespaced: cluster, extension: true },
    { plural: 'validatingwebhookconfigurations', kind: 'ValidatingWebhookConfiguration', namespaced: cluster, extension: true },
  ],
  'apiextensions.k8s.io/v1': [
    {
      plural: 'customresourcedefinitions',
      kind: 'CustomResourceDefinition',
      short: ['crd', 'crds'],
      namespaced: cluster,
      status: true,
      extension: true,
    },
  ],
  'scheduling.k8s.io/v1': [{ plural: 'priorityclasses', kind: 'PriorityClass', short: ['pc'], namespaced: cluster }],
  'coordination.k8s.io/v1': [{ plural: 'leases', kind: 'Lease' }],
  'discovery.k8s.io/v1': [{ plural: 'endpointslices', kind: 'EndpointSlice' }],
};

/** What former servers list. Not served unless asked for. */
const FORMER: Readonly<Record<string, readonly Line[]>> = {
  'discovery.k8s.io/v1beta1': [{ plural: 'endpointslices', kind: 'EndpointSlice', storageVersion: 'discovery.k8s.io/v1' }],
};

const resourceOf = (apiVersion: string, line: Line): Resource => {
  const slash = apiVersion.indexOf('/');
  const group = slash < 0 ? '' : apiVersion.slice(0, slash);
  const resource: Resource = {
    group,
    version: apiVersion.slice(slash + 1),
    kind: line.kind,
    listKind: `${line.kind}List`,
    plural: line.plural,
    singular: line.kind.toLowerCase(),
    shortNames: line.short ?? [],
    categories: line.all ? ['all'] : line.extension ? ['api-extensions'] : [],
    namespaced: line.namespaced ?? true,
    status: line.status ?? false,
    verbs: line.verbs ?? ALL_VERBS,
    storage: line.storage ?? (group === '' ? line.plural : `${line.plural}.${group}`),
    storageVersion: line.storageVersion ?? apiVersion,
    custom: false,
    ...(line.deprecated !== undefined && { deprecated: line.deprecated }),
  };
  const schema = builtinSchema(resource);
  return schema ? { ...resource, schema } : resource;
};

/** The resources of one built-in group and version; none of one that is not known here. */
export const builtinsIn = (apiVersion: string): Resource[] =>
  (TABLE[apiVersion] ?? FORMER[apiVersion] ?? []).map((line) => resourceOf(apiVersion, line));

export const builtins = (): Resource[] => Object.keys(TABLE).flatMap(builtinsIn);

export const allVerbs = ALL_VERBS;
