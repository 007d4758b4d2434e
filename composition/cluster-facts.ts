import { type SeenSlice, trimEndpoints, trimSlice } from '../adapters/kubernetes/endpoint-slices.ts';
import { intern } from '../adapters/kubernetes/intern.ts';
import { endpointsIn, observedService } from '../adapters/kubernetes/services.ts';
import { metaOf, trimNodeWithAddresses, trimPod } from '../adapters/kubernetes/trim.ts';
import { trimBackend, trimService } from '../adapters/kubernetes/trim-service.ts';
import { reservedIPOf, vipServiceOf } from '../adapters/kubernetes/trim-vip.ts';
import { API_VERSION, type ClusterRoutedIPClass, PLURAL } from '../crds/generated/clusterroutedipclass.ts';
import type { ClusterAPI, ClusterFacts } from '../plugin/ports.ts';

/** The cluster as the operator observes it, read once. */
export const clusterFacts = (api: ClusterAPI): ClusterFacts => {
  const shared = intern();
  const listed = async <T>(path: string, trim: (object: unknown) => { readonly value: T } | null): Promise<readonly T[]> =>
    ((await api.list(path)) ?? []).flatMap((object) => trim(object)?.value ?? []);
  return {
    nodes: async () =>
      (await listed('/api/v1/nodes', (object) => trimNodeWithAddresses(object, labelsOf(object), shared))).map(({ node }) => node),
    pods: (namespace) => listed(podsPath(namespace), (object) => trimPod(object, labelsOf(object), shared)),
    service: async (namespace, name) => {
      const found = await api.get(`/api/v1/namespaces/${encodeURIComponent(namespace)}/services/${encodeURIComponent(name)}`);
      const service = found === null ? null : (trimService(found)?.value ?? null);
      if (!service) return null;
      const pods = await listed(podsPath(namespace), (object) => trimBackend(object, shared));
      const slices = (await slicesOf(api, namespace)).filter((slice) => slice.service === name);
      return observedService(service, endpointsIn(slices), ({ pod }) => pods.find((each) => each.name === pod) ?? null);
    },
    routedIPClass: async (name) => {
      const found = (await api.get(`/apis/${API_VERSION}/${PLURAL}/${encodeURIComponent(name)}`)) as ClusterRoutedIPClass | null;
      return found?.spec ?? null;
    },
    vipService: vipServiceOf,
    reservedIP: reservedIPOf,
  };
};

const podsPath = (namespace: string | null): string =>
  namespace === null ? '/api/v1/pods' : `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;

const labelsOf = (object: unknown): readonly string[] => Object.keys(metaOf(object)?.labels ?? {});

/** The slices of a namespace, by what the server has: of v1, of v1beta1, else its Endpoints. */
async function slicesOf(api: ClusterAPI, namespace: string): Promise<readonly SeenSlice[]> {
  const shared = intern();
  for (const version of ['v1', 'v1beta1']) {
    const found = await api.list(`/apis/discovery.k8s.io/${version}/namespaces/${encodeURIComponent(namespace)}/endpointslices`);
    if (found) return found.flatMap((object) => trimSlice(object, shared)?.value ?? []);
  }
  const found = await api.list(`/api/v1/namespaces/${encodeURIComponent(namespace)}/endpoints`);
  return (found ?? []).flatMap((object) => trimEndpoints(object, shared)?.value ?? []);
}
