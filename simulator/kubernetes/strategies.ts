import { copy, equal, type JsonObject, type KubeObject } from './objects.ts';
import type { Resource } from './resource.ts';

/** What differs between kinds when they are written. */
interface Strategy {
  /** A PUT to a name that does not exist creates it. */
  createOnUpdate: boolean;
  /** A PUT without resourceVersion overwrites. */
  unconditionalUpdate: boolean;
  /** metadata.generation counts the changes of the wish (everything but metadata and status). */
  generation: boolean;
  /** A status sent with a create is dropped; a value is what it becomes instead. */
  initialStatus: JsonObject | 'keep' | 'drop';
  /** DELETE answers with the object instead of a Status. */
  returnsDeleted: boolean;
}

const plain: Strategy = {
  createOnUpdate: false,
  unconditionalUpdate: true,
  generation: false,
  initialStatus: 'drop',
  returnsDeleted: false,
};

const counted: Strategy = { ...plain, generation: true };

const BY_STORAGE: Readonly<Record<string, Strategy>> = {
  nodes: { ...plain, initialStatus: 'keep' },
  pods: { ...counted, initialStatus: { phase: 'Pending', qosClass: 'BestEffort' }, returnsDeleted: true },
  namespaces: { ...plain, initialStatus: { phase: 'Active' } },
  services: { ...plain, initialStatus: { loadBalancer: {} }, returnsDeleted: true },
  persistentvolumes: { ...plain, initialStatus: { phase: 'Pending' }, returnsDeleted: true },
  persistentvolumeclaims: { ...plain, initialStatus: { phase: 'Pending' }, returnsDeleted: true },
  podtemplates: { ...plain, returnsDeleted: true },
  serviceaccounts: { ...plain, returnsDeleted: true },
  events: { ...plain, createOnUpdate: true },
  endpoints: { ...plain, createOnUpdate: true },
  'leases.coordination.k8s.io': { ...plain, createOnUpdate: true, unconditionalUpdate: false },
  'endpointslices.discovery.k8s.io': counted,
  'roles.rbac.authorization.k8s.io': { ...plain, createOnUpdate: true },
  'rolebindings.rbac.authorization.k8s.io': { ...plain, createOnUpdate: true },
  'clusterroles.rbac.authorization.k8s.io': { ...plain, createOnUpdate: true },
  'clusterrolebindings.rbac.authorization.k8s.io': { ...plain, createOnUpdate: true },
  'poddisruptionbudgets.policy': {
    ...counted,
    initialStatus: { currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0 },
  },
  'priorityclasses.scheduling.k8s.io': counted,
  'storageclasses.storage.k8s.io': plain,
};

const COUNTED_GROUPS = ['apps', 'batch', 'networking.k8s.io', 'policy', 'apiextensions.k8s.io', 'admissionregistration.k8s.io'];

const custom: Strategy = { ...counted, unconditionalUpdate: false };
const customWithoutStatus: Strategy = { ...custom, initialStatus: 'keep' };

export const strategyOf = (resource: Resource): Strategy => {
  if (resource.custom) return resource.status ? custom : customWithoutStatus;
  return BY_STORAGE[resource.storage] ?? (COUNTED_GROUPS.includes(resource.group) ? { ...counted, initialStatus: {} } : plain);
};

/** Settles status and generation of a new object. */
export const prepareNew = (resource: Resource, object: KubeObject): void => {
  const strategy = strategyOf(resource);
  if (strategy.generation) object.metadata.generation = 1;
  if (strategy.initialStatus === 'keep') return;
  if (strategy.initialStatus !== 'drop') object.status = copy(strategy.initialStatus);
  else if (resource.status) delete object.status;
  const { default: initial } = resource.schema?.structure().properties?.status ?? {};
  if (object.status === undefined && initial !== undefined) object.status = copy(initial);
};

const wishOf = (resource: Resource, object: KubeObject): JsonObject => {
  const { metadata: _metadata, status, ...rest } = object;
  return resource.status || status === undefined ? rest : { ...rest, status };
};

const onlyStatus = (resource: Resource, object: KubeObject, old: KubeObject): void => {
  const { status } = object;
  // Built-in kinds let labels and annotations through here (kubelets use that); custom resources do not.
  const metadata = resource.custom ? { ...old.metadata, managedFields: object.metadata.managedFields } : object.metadata;
  for (const key of Object.keys(object)) delete object[key];
  Object.assign(object, old, { metadata, status });
  if (status === undefined) delete object.status;
};

/** Lets an update through the main path change everything but status, and one through `/status` nothing but status. */
export const prepareUpdate = (resource: Resource, object: KubeObject, old: KubeObject, subresource: string | undefined): void => {
  if (subresource === 'status') {
    onlyStatus(resource, object, old);
    return;
  }
  if (resource.status) {
    if (old.status === undefined) delete object.status;
    else object.status = old.status;
  }
  if (strategyOf(resource).generation && !equal(wishOf(resource, object), wishOf(resource, old))) {
    object.metadata.generation = (old.metadata.generation ?? 0) + 1;
  }
};
