import { isDeepStrictEqual } from 'node:util';
import type { PoolObject } from '../../../actors/ports/cluster.ts';
import type { Json } from '../../../actors/ports/records.ts';
import type { ClusterFact } from '../../../machines/events.ts';
import { fieldsOf } from '../../../machines/model/types.ts';
import { kindOf } from '../cache/kinds.ts';
import type { NodeSelections, SelectedNodes } from '../cache/node-selections.ts';
import type { ObjectCache, Use } from '../cache/object-cache.ts';
import type { PodSelections, ServingNodes } from '../cache/pod-selections.ts';
import { type MatchSelectors, type Selection, selectionOf } from '../cache/selection.ts';
import type { SeenNode } from '../cache/trim.ts';
import type { SeenPod } from '../cache/trim-pod.ts';
import type { Cause } from '../client/pace.ts';
import { type Follower, type FollowerNews, forbiddenTo, troublesOf } from './follower.ts';

export interface SelectorWatches {
  readonly nodes: ObjectCache<SeenNode>;
  readonly selectedNodes: NodeSelections;
  readonly pods: ObjectCache<SeenPod>;
  readonly selectedPods: PodSelections;
  /** Derives the query name in an object's facts from its selectors: the machines' own function. */
  queryOf(match: MatchSelectors): string;
}

/** Whether an address is assigned to one of the nodes, is moving there, or waits for any node. */
const concernsAddress = (status: Json, nodes: readonly unknown[]): boolean =>
  Object.values(fieldsOf(fieldsOf(status).ips)).some((ip) => {
    const { state, nodeName, electedNode } = fieldsOf(ip);
    return nodes.includes(nodeName) || nodes.includes(electedNode) || state === 'unassigned' || state === 'no-match';
  });

interface Watched {
  readonly selection: Selection;
  readonly uses: readonly Use<unknown>[];
  readonly nodes: SelectedNodes;
  /** Null when it does not select Pods. */
  readonly serving: ServingNodes | null;
}

/** For a FloatingIPPool or a NodeDNSRecordSet: follows the nodes that its selectors match, and those on which its Pods serve. */
export class SelectorFollower implements Follower {
  readonly #watches: SelectorWatches;
  readonly #news: FollowerNews;
  /** The status as last seen. */
  readonly #status: () => Json;
  /** Null for invalid selectors. */
  #watched: Watched | null = null;

  constructor(watches: SelectorWatches, news: FollowerNews, status: () => Json) {
    this.#watches = watches;
    this.#news = news;
    this.#status = status;
  }

  /** New uses are acquired before the old ones are released, so that shared watches continue. */
  follow({ ref, spec }: PoolObject): void {
    const selection = selectionOf(spec);
    if (isDeepStrictEqual(this.#watched?.selection ?? null, selection)) return;
    const before = this.#watched;
    this.#watched = selection && this.#watch(selection, kindOf(ref.kind).readsAddresses);
    release(before);
  }

  fact(): ClusterFact | null {
    if (this.#watched === null || !this.settled()) return null;
    const { selection, nodes, serving } = this.#watched;
    return { query: this.#watches.queryOf(selection.match), nodes: nodes.nodes(), serving: serving?.names() ?? null };
  }

  settled(): boolean {
    return this.#uses.every(({ synced }) => synced);
  }

  troubles(): readonly (Error | null)[] {
    return troublesOf(this.#uses);
  }

  forbidden(): string | null {
    return forbiddenTo(this.#uses);
  }

  release(): void {
    release(this.#watched);
    this.#watched = null;
  }

  get #uses(): readonly Use<unknown>[] {
    return this.#watched?.uses ?? [];
  }

  #watch(selection: Selection, readsAddresses: boolean): Watched {
    const { nodes, selectedNodes, pods, selectedPods } = this.#watches;
    const by = (cause: Cause) => ({ changed: () => this.#news.changed(cause), troubled: () => this.#news.troubled() });
    return {
      selection,
      uses: [nodes.use(by('node')), ...(selection.pods ? [pods.use(by('other'))] : [])],
      nodes: selectedNodes.use(selection.nodes, { ...by('node'), readsAddresses }),
      serving:
        selection.pods &&
        selectedPods.use(selection.pods, (on) => this.#news.changed(concernsAddress(this.#status(), on) ? 'node' : 'other')),
    };
  }
}

function release(watched: Watched | null): void {
  if (watched === null) return;
  watched.nodes.release();
  watched.serving?.release();
  for (const use of watched.uses) use.release();
}
