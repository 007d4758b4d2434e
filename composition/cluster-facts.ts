import { type SeenSlice, trimEndpoints, trimSlice } from '../adapters/kubernetes/cache/endpoint-slices.ts';
import { intern } from '../adapters/kubernetes/cache/intern.ts';
import { keyOf, type Trimmed, trimNode } from '../adapters/kubernetes/cache/trim.ts';
import { type SeenPod, trimPod } from '../adapters/kubernetes/cache/trim-pod.ts';
import { trimService } from '../adapters/kubernetes/cache/trim-service.ts';
import { reservedIPOf, vipServiceOf } from '../adapters/kubernetes/cache/trim-vip.ts';
import { backendOf, endpointsIn, observedService } from '../adapters/kubernetes/source/services.ts';
import { API_VERSION, type ClusterRoutedIPClass, PLURAL } from '../crds/generated/clusterroutedipclass.ts';
import type { ObservedPod } from '../machines/model/types.ts';
import type { ClusterAPI, ClusterFacts } from '../plugin/ports.ts';

const REVIEWS = 'authentication.k8s.io/v1';

interface SelfReview {
  readonly status?: { readonly userInfo?: { readonly username?: string } };
}

/** The cluster as the operator observes it, read once. */
export const clusterFacts = (api: ClusterAPI): ClusterFacts => {
  const shared = intern();
  const listed = async <T>(path: string, trim: (object: unknown) => Trimmed<T> | null): Promise<readonly Trimmed<T>[]> =>
    ((await api.list(path)) ?? []).flatMap((object) => trim(object) ?? []);
  const pods = (namespace: string | null) => listed(podsPath(namespace), (object) => trimPod(object, shared));
  return {
    nodes: async () => (await listed('/api/v1/nodes', (object) => trimNode(object, shared))).map(({ value: { node } }) => node),
    pods: async (namespace) => (await pods(namespace)).map(observedPod),
    service: async (namespace, name) => {
      const found = await api.get(`/api/v1/namespaces/${encodeURIComponent(namespace)}/services/${encodeURIComponent(name)}`);
      const service = found === null ? null : (trimService(found)?.value ?? null);
      if (!service) return null;
      const backends = new Map((await pods(namespace)).map(({ key, value }) => [key, value]));
      const slices = (await slicesOf(api, namespace)).filter((slice) => slice.service === name);
      return observedService(service, endpointsIn(slices), ({ pod }) => backendOf(pod, backends.get(keyOf(namespace, pod))));
    },
    routedIPClass: async (name) => {
      const found = (await api.get(`/apis/${API_VERSION}/${PLURAL}/${encodeURIComponent(name)}`)) as ClusterRoutedIPClass | null;
      return found?.spec ?? null;
    },
    user: async () => {
      const body = { apiVersion: REVIEWS, kind: 'SelfSubjectReview' };
      const { status } = (await api.review(`/apis/${REVIEWS}/selfsubjectreviews`, body).catch(() => ({}))) as SelfReview;
      return status?.userInfo?.username ?? null;
    },
    vipService: vipServiceOf,
    reservedIP: reservedIPOf,
  };
};

const podsPath = (namespace: string | null): string =>
  namespace === null ? '/api/v1/pods' : `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;

const observedPod = ({ key, value: { labels, nodeName, serving } }: Trimmed<SeenPod>): ObservedPod => {
  const [namespace = '', name = ''] = key.split('/');
  return { namespace, name, labels, nodeName, serving };
};

/** The slices of a namespace, from what the server has: v1, v1beta1, else its Endpoints. */
async function slicesOf(api: ClusterAPI, namespace: string): Promise<readonly SeenSlice[]> {
  const shared = intern();
  for (const version of ['v1', 'v1beta1']) {
    const found = await api.list(`/apis/discovery.k8s.io/${version}/namespaces/${encodeURIComponent(namespace)}/endpointslices`);
    if (found) return found.flatMap((object) => trimSlice(object, shared)?.value ?? []);
  }
  const found = await api.list(`/api/v1/namespaces/${encodeURIComponent(namespace)}/endpoints`);
  return (found ?? []).flatMap((object) => trimEndpoints(object, shared)?.value ?? []);
}
