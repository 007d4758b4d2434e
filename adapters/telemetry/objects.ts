import type { ClusterSource } from '../../actors/ports/cluster.ts';
import type { CallOwner } from '../../actors/ports/provider.ts';

/** Told of the objects that the metrics bear the names of. */
export interface Objects {
  seen(object: CallOwner): void;
  gone(object: CallOwner): void;
}

/** The source, with `objects` told what its listener is told. Every replica watches, so that every one learns which objects are gone. */
export const toldToo = (source: ClusterSource, objects: Objects): ClusterSource => ({
  start: (listener) =>
    source.start({
      poolObserved: (pool) => {
        objects.seen(pool.ref);
        listener.poolObserved(pool);
      },
      poolGone: (ref) => {
        listener.poolGone(ref);
        objects.gone(ref);
      },
      clusterObserved: (pool, fact) => listener.clusterObserved(pool, fact),
      machinesObserved: (machines) => listener.machinesObserved?.(machines),
      evacuationsObserved: (nodes) => listener.evacuationsObserved?.(nodes),
      // No series bears the name of a class or an issuer.
      policyObserved: (policy) => listener.policyObserved?.(policy),
      policyGone: (ref) => listener.policyGone?.(ref),
      hindered: (ref, why) => listener.hindered?.(ref, why),
    }),
  resync: (restMs) => source.resync(restMs),
  knows: (kind) => source.knows(kind),
  close: () => source.close(),
});
