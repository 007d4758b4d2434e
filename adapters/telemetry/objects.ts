import type { ClusterSource } from '../../actors/ports/cluster.ts';
import type { CallOwner } from '../../actors/ports/provider.ts';

/** Observes the objects that appear in metric labels. */
export interface Objects {
  seen(object: CallOwner): void;
  gone(object: CallOwner): void;
}

/** The source, with its notifications also passed to `objects`. Every replica watches, so that each one learns which objects are gone. */
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
      // No series is labelled with a class or an issuer.
      policyObserved: (policy) => listener.policyObserved?.(policy),
      policyGone: (ref) => listener.policyGone?.(ref),
      hindered: (ref, why) => listener.hindered?.(ref, why),
    }),
  resync: (restMs) => source.resync(restMs),
  knows: (kind) => source.knows(kind),
  close: () => source.close(),
});
