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
  /** Derives the query name in an object's facts from its selectors: the machines' own function. */
  queryOf(match: MatchSelectors): string;
}

/** Annotations are only for the writer, so a change of them alone is ignored; those that others read are part of the node, as addresses. */
const sameNode = (before: SeenNode, after: SeenNode): boolean =>
  before.unclear === after.unclear && isDeepStrictEqual(before.node, after.node);

/** What objects need from the cluster, through one shared watch per kind of object. A watch exists only while it has users. */
export class ClusterWatches {
  readonly #queryOf: ClusterWatchesOptions['queryOf'];
  readonly #nodes: ObjectCache<SeenNode>;
  readonly #selectedNodes: NodeSelections;
  readonly #borne = new BorneAddresses();
  readonly #pods: ObjectCache<SeenPod>;
  readonly #selectedPods: PodSelections;
  readonly #services: ObjectCache<SeenService>;
  readonly #endpoints: EndpointWatches;
  /** Null when it must be recomputed. Cached, so that a failover does not wait for a scan of thousands of nodes. */
  #evacuating: readonly EvacuatedNode[] | null = null;
  /** The machines of all nodes; null when they must be recomputed. */
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

  /** For an object of a kind that needs something from the cluster; `status` returns its last seen status. */
  follower({ kind }: ObjectRef, news: FollowerNews, status: () => Json): Follower {
    const [nodes, pods] = [this.#nodes, this.#pods];
    if (kindOf(kind).role === 'selects') {
      const selected = { selectedNodes: this.#selectedNodes, selectedPods: this.#selectedPods };
      return new SelectorFollower({ nodes, pods, ...selected, queryOf: this.#queryOf }, news, status);
    }
    return new ServiceFollower({ nodes, pods, services: this.#services, slices: this.#endpoints.slices }, news, status);
  }

  /** All observed nodes. */
  nodes(): Iterable<SeenNode> {
    return this.#nodes.values();
  }

  node(name: string): SeenNode | null {
    return this.#nodes.reflector?.get(name) ?? null;
  }

  /** The names of the nodes annotated with the address. */
  nodesBearing(address: string): Iterable<string> {
    return this.#borne.bearing(address);
  }

  /** Nodes marked for evacuation, and nodes whose evacuation annotation is unclear, by name. The same array until one of them changes. */
  evacuating(): readonly EvacuatedNode[] {
    if (!this.#nodes.reflector?.synced) return [];
    this.#evacuating ??= this.#nodes.values().flatMap(evacuated);
    return this.#evacuating;
  }

  /** Node names by machine, for all nodes: the same map until one of them changes. Null until the nodes are synced. */
  machines(): ReadonlyMap<string, string> | null {
    if (!this.#nodes.reflector?.synced) return null;
    this.#machines ??= new Map([...this.#nodes.values()].map((seen) => [machineOf(seen), seen.node.name]));
    return this.#machines;
  }

  /** Checks whether the server now serves a newer API. */
  review(): void {
    this.#endpoints.review();
  }

  /** The caches, for inspecting their state. */
  caches(): readonly Cache[] {
    return [this.#nodes, this.#pods, this.#services, this.#endpoints.slices].flatMap(({ kind, reflector }) =>
      reflector === null ? [] : [{ kind, reflector }],
    );
  }
}

/** The providerID; the name for a Node without one. */
const machineOf = ({ node: { providerID, name } }: SeenNode): string => providerID || name;

const evacuated = ({ node: { name, providerID, evacuating }, unclear }: SeenNode): readonly EvacuatedNode[] => {
  const node = { name, providerID: providerID as ProviderID };
  if (evacuating) return [node];
  return unclear === null ? [] : [{ ...node, unclear }];
};
