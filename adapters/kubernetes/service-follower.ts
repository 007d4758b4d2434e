import { isDeepStrictEqual } from 'node:util';
import type { ClusterFact, PoolObject } from '../../actors/ports/cluster.ts';
import type { Json } from '../../actors/ports.ts';
import { type ServiceRef, serviceOf, serviceQueryOf } from '../../machines/service.ts';
import type { ObservedBackend } from '../../machines/types.ts';
import { isForbidden } from './api-error.ts';
import type { SeenEndpoint, SeenSlice } from './endpoint-slices.ts';
import type { EndpointWatches } from './endpoint-watches.ts';
import { type Follower, type FollowerNews, forbiddenTo, settled, troublesOf } from './follower.ts';
import { isNamespace } from './selection.ts';
import { endpointsIn, observedService } from './services.ts';
import type { SharedWatches, Use, WatchUser } from './shared-watches.ts';
import { fields, keyOf, list, type SeenNode, text } from './trim.ts';
import type { SeenService } from './trim-service.ts';

export interface ServiceWatches {
  readonly nodes: SharedWatches<SeenNode>;
  readonly services: SharedWatches<SeenService>;
  readonly endpoints: EndpointWatches;
  readonly backends: SharedWatches<ObservedBackend>;
  /** Those of `slices` that belong to a Service. */
  slicesOf(slices: readonly SeenSlice[], service: string): readonly SeenSlice[];
}

/** The watches for one Service, except of its Pods. */
interface Watched {
  readonly ref: ServiceRef;
  readonly nodes: Use<SeenNode>;
  readonly services: Use<SeenService>;
  readonly slices: Use<SeenSlice>;
}

/** The Pods under one selector. */
interface Backing {
  readonly selector: string;
  readonly pods: Use<ObservedBackend>;
}

/** Nodes that an address may still be on, or lead to, whether or not they serve anything now. */
const nodesInStatus = (status: Json): readonly string[] => {
  const { assignedNode, electedNode, previousNodes } = fields(status);
  return [assignedNode, electedNode, ...list(previousNodes)].map(text).filter((name) => name !== '');
};

/** For a RoutedIP: the Service that it names, with its endpoints, their Pods and their nodes. */
export class ServiceFollower implements Follower {
  readonly #watches: ServiceWatches;
  readonly #news: FollowerNews;
  /** The status as last seen. */
  readonly #status: () => Json;
  #watched: Watched | null = null;
  /** The one in use; `#next` takes its place as soon as it knows all Pods under another selector. */
  #backing: Backing | null = null;
  #next: Backing | null = null;
  /** Nodes and Pods whose change is news: those that the last fact was made of, also where they were missed. Null for all. */
  #concerned: { readonly nodes: ReadonlySet<string>; readonly pods: ReadonlySet<string> } | null = null;
  /** Nodes of the last fact. */
  #nodes: readonly string[] = [];
  /** By node, the Pod of the last fact. Until the one that takes its place is seen, the node counts as listening as before: slices and Pods come by
   *  watches of their own, and ports that were closed and opened again in between would cut connections. */
  #backends: ReadonlyMap<string, ObservedBackend> = new Map();

  constructor(watches: ServiceWatches, news: FollowerNews, status: () => Json) {
    this.#watches = watches;
    this.#news = news;
    this.#status = status;
  }

  /** New watches are taken before old ones are given back, so that common ones go on. */
  follow({ ref: { namespace }, spec }: PoolObject): void {
    const ref = serviceOf(namespace, spec);
    if (isDeepStrictEqual(this.#watched?.ref, ref)) return;
    const before = this.#uses();
    this.#concerned = null;
    this.#backends = new Map();
    this.#watched = ref.name !== '' && isNamespace(ref.namespace) ? this.#watch(ref) : null;
    this.#backing = null;
    this.#next = null;
    this.#select();
    for (const use of before) use.release();
  }

  fact(): ClusterFact | null {
    if (this.#watched === null || !this.#known()) return null;
    const { ref, nodes, services, slices } = this.#watched;
    const service = services.get(keyOf(ref.namespace, ref.name));
    const endpoints = service === null ? [] : endpointsIn(this.#watches.slicesOf(slices.values() ?? [], ref.name));
    const named = new Set([...endpoints.map(({ node }) => node), ...this.#nodes, ...nodesInStatus(this.#status())]);
    const present = [...named].sort().flatMap((name) => nodes.get(name)?.node ?? []);
    this.#concerned = { nodes: named, pods: podsOf(endpoints) };
    this.#nodes = present.map(({ name }) => name);
    const before = this.#backends;
    const backend = ({ node, pod }: SeenEndpoint): ObservedBackend | null =>
      pod === '' ? null : (this.#backing?.pods.get(keyOf(ref.namespace, pod)) ?? before.get(node) ?? null);
    const observed = service && observedService(service, endpoints, backend);
    this.#backends = new Map((observed?.endpoints ?? []).flatMap(({ node, pod }) => (pod === null ? [] : [[node, pod]])));
    return {
      query: serviceQueryOf(ref.namespace, ref.name),
      nodes: present,
      pods: null,
      service: observed,
    };
  }

  /** What may not be listed is named, but nobody else is held up for it. */
  settled(): boolean {
    return this.#uses().every((use) => settled(use) || isForbidden(use.trouble()));
  }

  troubles(): readonly (Error | null)[] {
    return troublesOf(this.#uses());
  }

  forbidden(): string | null {
    return forbiddenTo(this.#uses());
  }

  release(): void {
    for (const use of this.#uses()) use.release();
  }

  #known(): boolean {
    return this.#uses().every((use) => use.values() !== null || use === this.#next?.pods);
  }

  #uses(): readonly Use<unknown>[] {
    const { nodes, services, slices } = this.#watched ?? {};
    return [nodes, services, slices, this.#backing?.pods, this.#next?.pods].filter((use) => use !== undefined);
  }

  #watch(ref: ServiceRef): Watched {
    const path = `/api/v1/namespaces/${ref.namespace}`;
    const { nodes, services, endpoints } = this.#watches;
    return {
      ref,
      nodes: nodes.use(
        { path: '/api/v1/nodes', labelSelector: '' },
        this.#user(({ node }) => this.#concerned?.nodes.has(node.name)),
      ),
      services: services.use({ path: `${path}/services`, labelSelector: '' }, this.#serviceUser(ref)),
      slices: endpoints.use(
        ref.namespace,
        this.#user(({ service }) => service === ref.name),
      ),
    };
  }

  /** A user for whom a change is news when it is about something that concerns it; what is not known to be no concern is one. */
  #user<T>(concerns: (value: T) => boolean | undefined): WatchUser<T> {
    const ignores = (before: T | null, after: T | null): boolean => {
      const either = after ?? before;
      return either !== null && concerns(either) === false;
    };
    return { ...this.#news, detail: 'plain', ignores };
  }

  #serviceUser(ref: ServiceRef): WatchUser<SeenService> {
    return {
      ...this.#user<SeenService>(({ name }) => name === ref.name),
      changed: () => {
        this.#select();
        this.#news.changed();
      },
    };
  }

  /** Watches the Pods under the Service's present selector. */
  #select(): void {
    if (this.#watched === null) return;
    const { ref, services } = this.#watched;
    const selector = services.get(keyOf(ref.namespace, ref.name))?.selector ?? null;
    if (selector === ((this.#next ?? this.#backing)?.selector ?? null)) return;
    const before = [this.#backing, this.#next];
    const wanted = selector === null ? null : this.#back(selector, ref.namespace);
    // The former Pods are what is known of until the new ones are.
    const kept = wanted !== null && this.#backing !== null && this.#backing.pods.values() !== null ? this.#backing : null;
    this.#backing = kept ?? wanted;
    this.#next = kept === null ? null : wanted;
    for (const backing of before) if (backing !== null && backing !== kept) backing.pods.release();
    this.#succeed();
  }

  #back(selector: string, namespace: string): Backing {
    const user: WatchUser<ObservedBackend> = {
      ...this.#user<ObservedBackend>(({ name }) => this.#concerned?.pods.has(name)),
      changed: () => {
        this.#succeed();
        this.#news.changed();
      },
    };
    return { selector, pods: this.#watches.backends.use({ path: `/api/v1/namespaces/${namespace}/pods`, labelSelector: selector }, user) };
  }

  #succeed(): void {
    if (this.#next === null || this.#next.pods.values() === null) return;
    this.#backing?.pods.release();
    this.#backing = this.#next;
    this.#next = null;
  }
}

const podsOf = (endpoints: readonly SeenEndpoint[]): ReadonlySet<string> => new Set(endpoints.map(({ pod }) => pod));
