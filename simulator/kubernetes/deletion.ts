import { preconditionFailed } from './errors.ts';
import { copy, isObject, type KubeObject, timestamp } from './objects.ts';
import type { Resource } from './resource.ts';
import type { User } from './users.ts';

export interface Deletion {
  gracePeriodSeconds?: number | undefined;
  propagationPolicy?: string | undefined;
  orphanDependents?: boolean | undefined;
  preconditions?: { uid?: string; resourceVersion?: string } | undefined;
  dryRun?: boolean;
  /** Who deletes; absent for the cluster's own controllers. */
  user?: User | undefined;
  /** Collects texts for the `Warning` headers of the reply. */
  warnings?: string[];
}

/** The finalizers an object has once its deletion was asked for: its own, and those that the way of deleting dependents adds. */
export const finalizersAfter = (object: KubeObject, deletion: Deletion): string[] => {
  const finalizers = (object.metadata.finalizers ?? []).filter((name) => name !== 'foregroundDeletion' && name !== 'orphan');
  if (deletion.propagationPolicy === 'Foreground') return [...finalizers, 'foregroundDeletion'];
  if (deletion.propagationPolicy === 'Orphan' || deletion.orphanDependents === true) return [...finalizers, 'orphan'];
  return finalizers;
};

/** Seconds that the object stays after its deletion was asked for: only pods on a node have them. */
export const graceOf = (resource: Resource, object: KubeObject, deletion: Deletion): number => {
  if (resource.storage !== 'pods') return 0;
  const spec = object.spec;
  if (!isObject(spec) || !spec.nodeName) return 0;
  const phase = isObject(object.status) ? object.status.phase : undefined;
  if (phase === 'Failed' || phase === 'Succeeded') return 0;
  const own = spec.terminationGracePeriodSeconds;
  return deletion.gracePeriodSeconds ?? (typeof own === 'number' ? own : 30);
};

/** The object on its way out. */
export const markDeleted = (object: KubeObject, finalizers: readonly string[], graceSeconds: number, now: number): KubeObject => {
  const marked = copy<KubeObject>(object);
  const meta = marked.metadata;
  if (meta.deletionTimestamp === undefined) {
    meta.deletionTimestamp = timestamp(now + graceSeconds * 1000);
    meta.deletionGracePeriodSeconds = graceSeconds;
    if (meta.generation) meta.generation += 1;
  } else if (graceSeconds < (meta.deletionGracePeriodSeconds ?? 0)) meta.deletionGracePeriodSeconds = graceSeconds;
  if (finalizers.length > 0) meta.finalizers = [...finalizers];
  else delete meta.finalizers;
  return marked;
};

/** What a deletion answers with for an object that is gone: a pod was marked as deleted, and its grace period is over by then. */
export const lastOf = (resource: Resource, object: KubeObject, now: number): KubeObject => {
  if (resource.storage !== 'pods') return object;
  const { metadata } = object.metadata.deletionTimestamp === undefined ? markDeleted(object, [], 0, now) : object;
  return { ...object, metadata: { ...metadata, deletionGracePeriodSeconds: 0 } };
};

/** @throws ApiError 409. */
export const checkPreconditions = (resource: Resource, object: KubeObject, { preconditions }: Deletion): void => {
  const { uid, resourceVersion, name = '' } = object.metadata;
  if (preconditions?.uid !== undefined && preconditions.uid !== uid) {
    const why = `the UID in the precondition (${preconditions.uid}) does not match the UID in record (${uid}). The object might have been deleted and then recreated`;
    throw preconditionFailed(resource, name, why);
  }
  if (preconditions?.resourceVersion !== undefined && preconditions.resourceVersion !== resourceVersion) {
    const why = `the ResourceVersion in the precondition (${preconditions.resourceVersion}) does not match the ResourceVersion in record (${resourceVersion}). The object might have been modified`;
    throw preconditionFailed(resource, name, why);
  }
};
