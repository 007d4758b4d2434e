import type { ClusterSource, PoolObject } from '../../actors/ports/cluster.ts';
import { FINALIZER } from '../../machines/model/types.ts';

/** The cluster as if each RoutedIP had our finalizer, for an operator that writes none: without it nothing is decided for a RoutedIP. */
export const guardedSource = (source: ClusterSource): ClusterSource => ({
  start: (listener) => source.start({ ...listener, poolObserved: (object) => listener.poolObserved(guarded(object)) }),
  resync: (restMs) => source.resync(restMs),
  knows: (kind) => source.knows(kind),
  close: () => source.close(),
});

const guarded = (object: PoolObject): PoolObject =>
  object.ref.kind !== 'RoutedIP' || object.deleting
    ? object
    : { ...object, marks: { annotations: {}, ...object.marks, finalizers: [...(object.marks?.finalizers ?? []), FINALIZER] } };
