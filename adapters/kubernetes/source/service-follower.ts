import { isDeepStrictEqual } from 'node:util';
import type { PoolObject } from '../../../actors/ports/cluster.ts';
import type { Json } from '../../../actors/ports/records.ts';
import type { ClusterFact } from '../../../machines/events.ts';
import { type ServiceRef, serviceOf, serviceQueryOf } from '../../../machines/model/service-ref.ts';
import { fieldsOf, type ObservedBackend } from '../../../machines/model/types.ts';
import type { SeenEndpoint, SeenSlice } from '../cache/endpoint-slices.ts';
import type { ObjectCache, Use } from '../cache/object-cache.ts';
import { isNamespace } from '../cache/selection.ts';
import { keyOf, list, type SeenNode, text } from '../cache/trim.ts';
import type { SeenPod } from '../cache/trim-pod.ts';
import type { SeenService } from '../cache/trim-service.ts';
import { isForbidden } from '../client/api-error.ts';
import type { Cause } from '../client/pace.ts';
import { type Follower, type FollowerNews, forbiddenTo, troublesOf } from './follower.ts';
import { backendOf, endpointsIn, observedService } from './services.ts';

export interface ServiceWatches {
  readonly nodes: ObjectCache<SeenNode>;
  readonly services: ObjectCache<SeenService>;
  /** By namespace and name of their Service. */
  readonly slices: ObjectCache<SeenSlice>;
  readonly pods: ObjectCache<SeenPod>;
}

interface Watched {
  readonly ref: ServiceRef;
  readonly nodes: Use<SeenNode>;
  readonly services: Use<SeenService>;
  readonly slices: Use<SeenSlice>;
  readonly pods: Use<SeenPod>;
}

/** Nodes that an address may still be assigned or routed to, whether or not they serve anything now. */
const nodesInStatus = (status: Json): readonly string[] => {
  const { assignedNode, electedNode, previousNodes } = fieldsOf(status);
  return [assignedNode, electedNode, ...list(previousNodes)].map(text).filter((name) => name !== '');
};

/** For a RoutedIP: follows the Service that it names, with its endpoints, their Pods and their nodes. Changes of other objects do not notify it. */
export class ServiceFollower implements Follower {
  readonly #watches: ServiceWatches;
  readonly #news: FollowerNews;
  /** The status as last seen. */
  readonly #status: () => Json;
  #watched: Watched | null = null;
  /** Nodes of the last fact. */
  #nodes: readonly string[] = [];
  /** The Pod of the last fact by node. Until its replacement is seen, the node counts as listening as before: slices and Pods come from separate
   *  watches, and closing and reopening ports in between would cut connections. */
  #backends: ReadonlyMap<string, ObservedBackend> = new Map();

  constructor(watches: ServiceWatches, news: FollowerNews, status: () => Json) {
    this.#watches = watches;
    this.#news = news;
    this.#status = status;
  }

  /** New uses are acquired before the old ones are released, so that shared watches continue. */
  follow({ ref: { namespace }, spec }: PoolObject): void {
    const ref = serviceOf(namespace, spec);
    if (isDeepStrictEqual(this.#watched?.ref, ref)) return;
    const before = this.#uses;
    this.#backends = new Map();
    this.#watched = ref.name !== '' && isNamespace(ref.namespace) ? this.#watch(ref) : null;
    for (const use of before) use.release();
  }

  fact(): ClusterFact | null {
    if (this.#watched === null || !this.#uses.every(({ synced }) => synced)) return null;
    const { ref, nodes, services, slices, pods } = this.#watched;
    const key = keyOf(ref.namespace, ref.name);
    const [service = null] = services.get(key);
    const endpoints = service === null ? [] : endpointsIn(slices.get(key));
    const podKey = ({ pod }: SeenEndpoint): string => keyOf(ref.namespace, pod);
    const named = new Set([...endpoints.map(({ node }) => node), ...this.#nodes, ...nodesInStatus(this.#status())]);
    // Including missing nodes: they may appear.
    nodes.concern(named);
    pods.concern(endpoints.map(podKey));
    const present = [...named].sort().flatMap((name) => nodes.get(name).map(({ node }) => node));
    this.#nodes = present.map(({ name }) => name);
    const before = this.#backends;
    const backend = (endpoint: SeenEndpoint): ObservedBackend | null => {
      if (endpoint.pod === '') return null;
      const [pod] = pods.get(podKey(endpoint));
      return backendOf(endpoint.pod, pod) ?? before.get(endpoint.node) ?? null;
    };
    const observed = service && observedService(service, endpoints, backend);
    this.#backends = new Map((observed?.endpoints ?? []).flatMap(({ node, pod }) => (pod === null ? [] : [[node, pod]])));
    return { query: serviceQueryOf(ref.namespace, ref.name), nodes: present, serving: null, service: observed };
  }

  /** A forbidden list is reported by `forbidden`, but must not delay other objects. */
  settled(): boolean {
    return this.#uses.every((use) => use.synced || isForbidden(use.trouble()));
  }

  troubles(): readonly (Error | null)[] {
    return troublesOf(this.#uses);
  }

  forbidden(): string | null {
    return forbiddenTo(this.#uses);
  }

  release(): void {
    for (const use of this.#uses) use.release();
    this.#watched = null;
  }

  get #uses(): readonly Use<unknown>[] {
    if (this.#watched === null) return [];
    const { nodes, services, slices, pods } = this.#watched;
    return [nodes, services, slices, pods];
  }

  #watch(ref: ServiceRef): Watched {
    const { nodes, services, slices, pods } = this.#watches;
    const by = (cause: Cause) => ({ changed: () => this.#news.changed(cause), troubled: () => this.#news.troubled() });
    const other = by('other');
    const watched = { ref, nodes: nodes.use(by('node')), services: services.use(other), slices: slices.use(other), pods: pods.use(other) };
    const key = keyOf(ref.namespace, ref.name);
    watched.services.concern([key]);
    watched.slices.concern([key]);
    return watched;
  }
}
