import type { PoolProjection } from '../../../../actors/ports/cluster.ts';
import type { ObjectRef } from '../../../../machines/model/types.ts';
import { at, type Json } from '../../../../simulator/kubernetes/objects.ts';
import { CRD, nodeRef } from '../support.ts';
import { FIRST, IPV4, writing } from '../writer/writer-support.ts';

const CRDS = [CRD, 'crds/routedips.yaml', 'crds/routedipissuers.yaml', 'crds/clusterroutedipclasses.yaml'];

const apiVersion = 'routedip.io/v1alpha1';

export const FINALIZER = 'routedip.io/finalizer';

/** Somebody else's finalizer. */
export const FOREIGN = 'example.com/audit';

export const ripRef = { apiVersion, kind: 'RoutedIP', name: 'web', namespace: 'default' };

export const routedIPObject = (finalizers: readonly string[] = []): Json => ({
  apiVersion,
  kind: 'RoutedIP',
  metadata: { name: 'web', namespace: 'default', finalizers: [...finalizers] },
  spec: { className: 'example.com/a', serviceRef: { serviceName: 'web' } },
});

export const isPatchOfRoutedIP = ({ method, path }: { readonly method: string; readonly path: string }): boolean =>
  method === 'PATCH' && path.endsWith('/namespaces/default/routedips/web');

/** A writer on a cluster with the nodes a and b and the RoutedIP `web`, which has `finalizers`. */
export const routing = async ({ finalizers = [] }: { readonly finalizers?: readonly string[] } = {}) => {
  const world = await writing({ crds: CRDS });
  const { simulator } = world;
  const created = simulator.store.create(routedIPObject(finalizers));
  const ref: ObjectRef = { kind: 'RoutedIP', namespace: 'default', name: 'web', uid: created.metadata.uid ?? '' };
  const projection = (change: Partial<PoolProjection> = {}): PoolProjection => ({
    ref,
    generation: 1,
    status: { state: 'Unassigned' },
    conditions: [],
    annotated: {},
    addresses: [FIRST],
    events: [],
    ...change,
  });
  const exists = (): boolean => simulator.store.list(apiVersion, 'RoutedIP').length > 0;
  const status = (): Json | undefined => at(simulator.store.get(ripRef), 'status');
  const finalizersNow = (): readonly string[] => simulator.store.get(ripRef).metadata.finalizers ?? [];
  const setFinalizers = (next: readonly string[]): void => void simulator.store.patch(ripRef, { metadata: { finalizers: [...next] } });
  const patches = (): number => simulator.requests.filter(isPatchOfRoutedIP).length;
  const annotation = (node: string): string | undefined => simulator.store.get(nodeRef(node)).metadata.annotations?.[IPV4];
  return { ...world, ref, projection, exists, status, finalizers: finalizersNow, setFinalizers, patches, annotation };
};
