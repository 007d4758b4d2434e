import type { ObservedBackend, ObservedEndpoint, ObservedService } from '../../../machines/model/types.ts';
import type { SeenEndpoint, SeenSlice } from '../cache/endpoint-slices.ts';
import type { SeenPod } from '../cache/trim-pod.ts';
import type { SeenService } from '../cache/trim-service.ts';

/** The endpoints of one Service without duplicates: slices overlap while the control plane moves endpoints between them, and there is one per address
 *  family. Ready if any slice says so. Sorted by node, then Pod. */
export const endpointsIn = (slices: readonly SeenSlice[]): readonly SeenEndpoint[] => {
  const found = new Map<string, SeenEndpoint>();
  for (const endpoint of slices.flatMap(({ endpoints }) => endpoints)) {
    const key = `${endpoint.node} ${endpoint.pod}`;
    if (!found.get(key)?.ready) found.set(key, endpoint);
  }
  return [...found].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, endpoint]) => endpoint);
};

/** A Pod that backs a Service; null for a Pod that was not observed. */
export const backendOf = (name: string, pod: SeenPod | undefined): ObservedBackend | null =>
  pod ? { name, hostNetwork: pod.hostNetwork, ports: pod.ports } : null;

/** A Service with its endpoints, each with the Pod behind it if observed. */
export const observedService = (
  { type, ports, hasSelector, isUnmanaged }: SeenService,
  endpoints: readonly SeenEndpoint[],
  backend: (endpoint: SeenEndpoint) => ObservedBackend | null,
): ObservedService => ({
  type,
  hasSelector,
  ...(isUnmanaged && { isUnmanaged }),
  ports,
  endpoints: endpoints.map((endpoint): ObservedEndpoint => ({ node: endpoint.node, ready: endpoint.ready, pod: backend(endpoint) })),
});
