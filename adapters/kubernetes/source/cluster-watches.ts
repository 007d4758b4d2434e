import { isDeepStrictEqual } from 'node:util';
import type { Json } from '../../../actors/ports/records.ts';
import type { EvacuatedNode, ObjectRef, ProviderID } from '../../../machines/model/types.ts';
import { BorneAddresses } from '../cache/borne-addresses.ts';
import type { Cache } from '../cache/cache-state.ts';
import { EndpointWatches } from '../cache/endpoint-watches.ts';
import { intern } from '../cache/intern.ts';
import { kindOf } from '../cache/kinds.ts';
import { NodeSelections } from '../cache/node-selections.ts';
import { type CacheFollower, ObjectCache } from '../cache/object-cache.ts';
import { PodSelections } from '../cache/pod-selections.ts';
import type { Subject, Surroundings } from '../cache/reflector.ts';
import type { MatchSelectors } from '../cache/selection.ts';
import { type SeenNode, trimNode } from '../cache/trim.ts';
import { NOT_ENDED, type SeenPod, trimPod } from '../cache/trim-pod.ts';
import { type SeenService, trimService } from '../cache/trim-service.ts';
import type { Follower, FollowerNews } from './follower.ts';
import { SelectorFollower } from './selector-follower.ts';
import { ServiceFollower } from './service-follower.ts';

export interface ClusterWatchesOptions extends Surroundings {
  /** The name of an object's selectors that its facts bear: the machines' own function. */
  queryOf(match: MatchSelectors): string;
}

/** A change of annotations alone is for the writer; what is read of them is among the addresses. */
const sameNode = (before: SeenNode, after: SeenNode): boolean =>
  before.unclear === after.unclear && isDeepStrictEqual(before.node, after.node);

/** What objects ask of the cluster, from one watch for each kind of object, however many ask and whatever they select. Each is there as long as somebody asks. */
export class ClusterWatches {
  readonly #queryOf: ClusterWatchesOptions['queryOf'];
  readonly #nodes: ObjectCache<SeenNode>;
  readonly #selectedNodes: NodeSelections;
  readonly #borne = new BorneAddresses();
  readonly #pods: ObjectCache<SeenPod>;
  readonly #selectedPods: PodSelections;
  readonly #services: ObjectCache<SeenService>;
  readonly #endpoints: EndpointWatches;
  /** Null when they are to be looked up anew: a failover waits for no look at thousands of other nodes. */
  #evacuating: readonly EvacuatedNode[] | null = null;
  /** Behind all nodes; null when they are to be looked up anew. */
  #machines: ReadonlyMap<string, string> | null = null;

  constructor(options: ClusterWatchesOptions) {
    const shared = intern();
    this.#queryOf = (match) => options.queryOf(match);
    this.#selectedNodes = new NodeSelections(() => this.#nodes.values());
    this.#selectedPods = new PodSelections(() => this.#pods.reflector?.entries() ?? []);
    const nodes: Subject<SeenNode> = {
      query: { path: '/api/v1/nodes', labelSelector: '' },
      trim: (object) => trimNode(object, shared),
      same: sameNode,
    };
    const all: CacheFollower<SeenNode> = {
      synced: () => {
        this.#evacuating = null;
        this.#machines = null;
      },
      changed: (_, before, after) => {
        if ((before && machineOf(before)) !== (after && machineOf(after))) this.#machines = null;
        if ([before, after].some((seen) => seen !== null && evacuated(seen).length > 0)) this.#evacuating = null;
      },
    };
    const followers = [this.#selectedNodes, this.#borne, all];
    this.#nodes = new ObjectCache({ kind: () => 'Node', subject: () => nodes, followers }, options);
    const pods: Subject<SeenPod> = {
      query: { path: '/api/v1/pods', labelSelector: '', fieldSelector: NOT_ENDED },
      trim: (object) => trimPod(object, shared),
      same: isDeepStrictEqual,
    };
    this.#pods = new ObjectCache({ kind: () => 'Pod', subject: () => pods, followers: [this.#selectedPods] }, options);
    const services: Subject<SeenService> = {
      query: { path: '/api/v1/services', labelSelector: '' },
      trim: trimService,
      same: isDeepStrictEqual,
    };
    this.#services = new ObjectCache({ kind: () => 'Service', subject: () => services }, options);
    this.#endpoints = new EndpointWatches(options, shared);
  }

  /** For an object of a kind that asks something of the cluster; `status` answers its status as last seen. */
  follower({ kind }: ObjectRef, news: FollowerNews, status: () => Json): Follower {
    const [nodes, pods] = [this.#nodes, this.#pods];
    if (kindOf(kind).role === 'selects') {
      const selected = { selectedNodes: this.#selectedNodes, selectedPods: this.#selectedPods };
      return new SelectorFollower({ nodes, pods, ...selected, queryOf: this.#queryOf }, news, status);
    }
    return new ServiceFollower({ nodes, pods, services: this.#services, slices: this.#endpoints.slices }, news, status);
  }

  /** Every node that is seen. */
  nodes(): Iterable<SeenNode> {
    return this.#nodes.values();
  }

  node(name: string): SeenNode | null {
    return this.#nodes.reflector?.get(name) ?? null;
  }

  /** The names of the nodes that bear the address in an annotation. */
  nodesBearing(address: string): Iterable<string> {
    return this.#borne.bearing(address);
  }

  /** Those that somebody has evacuated, and those of which nobody can tell, by name. The same array until one of them changes. */
  evacuating(): readonly EvacuatedNode[] {
    if (!this.#nodes.reflector?.synced) return [];
    this.#evacuating ??= this.#nodes.values().flatMap(evacuated);
    return this.#evacuating;
  }

  /** The machines behind all nodes, with the names of these: the same map until one of them changes. Null while the nodes are not seen. */
  machines(): ReadonlyMap<string, string> | null {
    if (!this.#nodes.reflector?.synced) return null;
    this.#machines ??= new Map([...this.#nodes.values()].map((seen) => [machineOf(seen), seen.node.name]));
    return this.#machines;
  }

  /** Looks again for what the server may have come to serve. */
  review(): void {
    this.#endpoints.review();
  }

  /** The caches, for a look at how they stand. */
  caches(): readonly Cache[] {
    return [this.#nodes, this.#pods, this.#services, this.#endpoints.slices].flatMap(({ kind, reflector }) =>
      reflector === null ? [] : [{ kind, reflector }],
    );
  }
}

/** Of a Node without a providerID its name stands for it. */
const machineOf = ({ node: { providerID, name } }: SeenNode): string => providerID || name;

const evacuated = ({ node: { name, providerID, evacuating }, unclear }: SeenNode): readonly EvacuatedNode[] => {
  const node = { name, providerID: providerID as ProviderID };
  if (evacuating) return [node];
  return unclear === null ? [] : [{ ...node, unclear }];
};
