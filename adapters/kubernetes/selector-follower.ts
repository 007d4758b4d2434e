import { isDeepStrictEqual } from 'node:util';
import type { ClusterFact, PoolObject } from '../../actors/ports/cluster.ts';
import type { ObservedNode, ObservedPod } from '../../machines/types.ts';
import { type Follower, type FollowerNews, forbiddenTo, settled, troublesOf } from './follower.ts';
import { kindOf } from './kinds.ts';
import { type MatchSelectors, type Selection, selectionOf } from './selection.ts';
import type { Detail, SharedWatches, Use, WatchUser } from './shared-watches.ts';
import type { SeenNode } from './trim.ts';

export interface SelectorWatches {
  readonly nodes: SharedWatches<SeenNode>;
  readonly pods: SharedWatches<ObservedPod>;
  /** The name of an object's selectors that its facts bear: the machines' own function. */
  queryOf(match: MatchSelectors): string;
  /** One array for all objects that see the same nodes. */
  bare(seen: readonly SeenNode[]): readonly ObservedNode[];
}

const withoutAddresses = ({ node }: SeenNode): ObservedNode => ({ ...node, externalIPs: [], internalIPs: [], reservedIPs: [] });

/** What a watch keeps for others is no news to who does not read it: the operator's own annotations would come back to every pool. */
const IGNORES: Readonly<Record<Detail, WatchUser<SeenNode>['ignores']>> = {
  plain: (before, after) => before !== null && after !== null && isDeepStrictEqual(withoutAddresses(before), withoutAddresses(after)),
  full: () => false,
};

const never = (): boolean => false;

/** For a FloatingIPPool or a NodeDNSRecordSet: the nodes, and the pods, that its selectors let through. */
export class SelectorFollower implements Follower {
  readonly #watches: SelectorWatches;
  readonly #news: FollowerNews;
  #selection: Selection | null = null;
  #nodes: Use<SeenNode> | null = null;
  #pods: Use<ObservedPod> | null = null;

  constructor(watches: SelectorWatches, news: FollowerNews) {
    this.#watches = watches;
    this.#news = news;
  }

  /** New watches are taken before old ones are given back, so that common ones go on. */
  follow({ ref, spec }: PoolObject): void {
    const selection = selectionOf(spec);
    if (isDeepStrictEqual(this.#selection, selection)) return;
    const before = this.#uses();
    const { detail } = kindOf(ref.kind);
    this.#selection = selection;
    this.#nodes = selection === null ? null : this.#watches.nodes.use(selection.nodes, { ...this.#news, detail, ignores: IGNORES[detail] });
    this.#pods = selection?.pods ? this.#watches.pods.use(selection.pods, { ...this.#news, detail: 'plain', ignores: never }) : null;
    for (const use of before) use.release();
  }

  fact(): ClusterFact | null {
    const nodes = this.#nodes?.values() ?? null;
    const pods = this.#pods?.values() ?? null;
    if (this.#selection === null || nodes === null || (this.#pods !== null && pods === null)) return null;
    return { query: this.#watches.queryOf(this.#selection.match), nodes: this.#watches.bare(nodes), pods };
  }

  settled(): boolean {
    return this.#uses().every(settled);
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

  #uses(): readonly Use<unknown>[] {
    return [this.#nodes, this.#pods].filter((use) => use !== null);
  }
}
