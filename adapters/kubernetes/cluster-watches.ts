import { isDeepStrictEqual } from 'node:util';
import type { Json } from '../../actors/ports.ts';
import type { ObjectRef } from '../../machines/jobs.ts';
import type { EvacuatedNode, ObservedBackend, ObservedNode, ObservedPod, ProviderID } from '../../machines/types.ts';
import type { Cache } from './cache-state.ts';
import type { SeenSlice } from './endpoint-slices.ts';
import { EndpointWatches } from './endpoint-watches.ts';
import type { Follower, FollowerNews } from './follower.ts';
import { intern } from './intern.ts';
import { kindOf } from './kinds.ts';
import type { Surroundings } from './reflector.ts';
import { keysOf, type MatchSelectors } from './selection.ts';
import { SelectorFollower } from './selector-follower.ts';
import { ServiceFollower } from './service-follower.ts';
import { SharedWatches } from './shared-watches.ts';
import { type SeenNode, trimNode, trimNodeWithAddresses, trimPod } from './trim.ts';
import { type SeenService, trimBackend, trimService } from './trim-service.ts';

export interface ClusterWatchesOptions extends Surroundings {
  /** The name of an object's selectors that its facts bear: the machines' own function. */
  queryOf(match: MatchSelectors): string;
}

const TRIM_NODE = { plain: trimNode, full: trimNodeWithAddresses } as const;

/** A change of annotations alone is for the writer; what is read of them is among the addresses. */
const sameNode = (before: SeenNode, after: SeenNode): boolean =>
  before.unclear === after.unclear && isDeepStrictEqual(before.node, after.node);

/** `make`, asked once for each array. */
const once = <A extends object, B>(make: (from: A) => B): ((from: A) => B) => {
  const made = new WeakMap<A, { readonly value: B }>();
  return (from) => {
    const known = made.get(from) ?? { value: make(from) };
    made.set(from, known);
    return known.value;
  };
};

/** All watches that objects ask for, each shared by all that ask for the same, and ended with the last of them. */
export class ClusterWatches {
  readonly #queryOf: ClusterWatchesOptions['queryOf'];
  readonly #nodes: SharedWatches<SeenNode>;
  readonly #pods: SharedWatches<ObservedPod>;
  readonly #services: SharedWatches<SeenService>;
  readonly #backends: SharedWatches<ObservedBackend>;
  readonly #endpoints: EndpointWatches;
  readonly #bare = once((seen: readonly SeenNode[]): readonly ObservedNode[] => seen.map(({ node }) => node));
  readonly #evacuating = once((seen: readonly SeenNode[]): readonly EvacuatedNode[] =>
    seen.flatMap(({ node: { name, providerID, evacuating }, unclear }) => {
      const node = { name, providerID: providerID as ProviderID };
      if (evacuating) return [node];
      return unclear === null ? [] : [{ ...node, unclear }];
    }),
  );
  readonly #byService = once((slices: readonly SeenSlice[]) => Map.groupBy(slices, ({ service }) => service));

  constructor(options: ClusterWatchesOptions) {
    const shared = intern();
    this.#queryOf = (match) => options.queryOf(match);
    this.#nodes = new SharedWatches(options, (query, detail) => {
      const keys = keysOf(query.labelSelector);
      return { query, trim: (object) => TRIM_NODE[detail](object, keys, shared), same: sameNode };
    });
    this.#pods = new SharedWatches<ObservedPod>(options, (query) => {
      const keys = keysOf(query.labelSelector);
      return { query, trim: (object) => trimPod(object, keys, shared), same: isDeepStrictEqual };
    });
    this.#services = new SharedWatches<SeenService>(options, (query) => ({ query, trim: trimService, same: isDeepStrictEqual }));
    this.#backends = new SharedWatches<ObservedBackend>(options, (query) => ({
      query,
      trim: (object) => trimBackend(object, shared),
      same: isDeepStrictEqual,
    }));
    this.#endpoints = new EndpointWatches(options, shared);
  }

  /** For an object of a kind that asks something of the cluster; `status` answers its status as last seen. */
  follower({ kind }: ObjectRef, news: FollowerNews, status: () => Json): Follower {
    const nodes = this.#nodes;
    if (kindOf(kind).role === 'selects') {
      return new SelectorFollower({ nodes, pods: this.#pods, queryOf: this.#queryOf, bare: this.#bare }, news);
    }
    const slicesOf = (slices: readonly SeenSlice[], service: string): readonly SeenSlice[] => this.#byService(slices).get(service) ?? [];
    const watches = { nodes, services: this.#services, endpoints: this.#endpoints, backends: this.#backends, slicesOf };
    return new ServiceFollower(watches, news, status);
  }

  /** Every node in some cache; one that is in two is there twice. */
  nodes(): Iterable<SeenNode> {
    return this.#nodes.values();
  }

  /** Those that somebody has evacuated, and those of which nobody can tell, by name. */
  evacuating(): readonly EvacuatedNode[] {
    const all = [...this.#nodes.arrays()].flatMap((seen) => this.#evacuating(seen));
    return [...new Map(all.map((node) => [node.name, node])).values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Looks again for what the server may have come to serve. */
  review(): void {
    this.#endpoints.review();
  }

  /** The caches, for a look at how they stand. */
  caches(): readonly Cache[] {
    const of = <T>(kind: string, watches: SharedWatches<T>): readonly Cache[] =>
      watches.reflectors().map((reflector) => ({ kind, reflector }));
    return [
      ...of('Node', this.#nodes),
      ...of('Pod', this.#pods),
      ...of('Pod', this.#backends),
      ...of('Service', this.#services),
      ...this.#endpoints.caches(),
    ];
  }
}
