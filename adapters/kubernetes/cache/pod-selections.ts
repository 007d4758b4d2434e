import { type Requirement, selects } from '../../../machines/model/selector.ts';
import { LabelIndex } from './label-index.ts';
import type { CacheFollower } from './object-cache.ts';
import type { Trimmed } from './trim.ts';
import type { SeenPod } from './trim-pod.ts';

/** The nodes on which Pods under one selector serve, for one user. */
export interface ServingNodes {
  /** Sorted. The same array until a node is added or removed. */
  names(): readonly string[];
  release(): void;
}

export interface PodQuery {
  /** Empty for all namespaces. */
  readonly namespace: string;
  readonly requirements: readonly Requirement[];
}

/** Number of serving Pods per node under one selector: the cost of a Pod change does not depend on the number of Pods. */
class Selection {
  readonly users = new Set<(nodes: readonly string[]) => void>();
  readonly #query: PodQuery;
  readonly #counts = new Map<string, number>();
  #names: readonly string[] | null = null;

  constructor(query: PodQuery) {
    this.#query = query;
  }

  admits(key: string, { labels }: SeenPod): boolean {
    const { namespace, requirements } = this.#query;
    return (namespace === '' || key.startsWith(`${namespace}/`)) && selects(requirements, labels);
  }

  names(): readonly string[] {
    this.#names ??= [...this.#counts.keys()].sort();
    return this.#names;
  }

  clear(): void {
    this.#counts.clear();
    this.#names = null;
  }

  /** Whether the set of serving nodes changed. */
  add(node: string): boolean {
    const count = this.#counts.get(node) ?? 0;
    this.#counts.set(node, count + 1);
    if (count === 0) this.#names = null;
    return count === 0;
  }

  remove(node: string): boolean {
    const count = this.#counts.get(node) ?? 0;
    if (count > 1) {
      this.#counts.set(node, count - 1);
      return false;
    }
    this.#names = null;
    return this.#counts.delete(node);
  }
}

/** Determines, from the cache of all Pods, the nodes on which the Pods matching a selector serve. */
export class PodSelections implements CacheFollower<SeenPod> {
  readonly #all: () => readonly Trimmed<SeenPod>[];
  readonly #selections = new Map<string, Selection>();
  readonly #index = new LabelIndex<Selection>();

  constructor(all: () => readonly Trimmed<SeenPod>[]) {
    this.#all = all;
  }

  /** `changed` receives the nodes the Pod was or is on. */
  use(query: PodQuery, changed: (nodes: readonly string[]) => void): ServingNodes {
    const name = JSON.stringify([query.namespace, query.requirements]);
    const selection = this.#selections.get(name) ?? this.#begin(name, query);
    // Wrapped, since the same callback may be registered twice, e.g. while a use is being replaced.
    const user = (nodes: readonly string[]): void => changed(nodes);
    selection.users.add(user);
    return {
      names: () => selection.names(),
      release: () => {
        if (!selection.users.delete(user) || selection.users.size > 0) return;
        this.#selections.delete(name);
        this.#index.delete(query.requirements, selection);
      },
    };
  }

  synced(entries: readonly Trimmed<SeenPod>[]): void {
    for (const selection of this.#selections.values()) selection.clear();
    for (const { key, value } of entries) this.#added(key, value);
  }

  changed(key: string, before: SeenPod | null, after: SeenPod | null): void {
    if (before && after && serveAlike(before, after)) return;
    // Added first: the count of a node on which the Pod keeps serving must not drop in between.
    const news = new Set([...this.#added(key, after), ...this.#removed(key, before)]);
    const nodes = [before, after].flatMap((pod) => (pod ? [pod.nodeName] : []));
    for (const { users } of news) for (const changed of users) changed(nodes);
  }

  #begin(name: string, query: PodQuery): Selection {
    const selection = new Selection(query);
    this.#selections.set(name, selection);
    this.#index.add(query.requirements, selection);
    for (const { key, value } of this.#all()) {
      if (isServing(value) && selection.admits(key, value)) selection.add(value.nodeName);
    }
    return selection;
  }

  #added(key: string, pod: SeenPod | null): readonly Selection[] {
    return this.#admitting(key, pod).filter((selection) => selection.add(pod?.nodeName ?? ''));
  }

  #removed(key: string, pod: SeenPod | null): readonly Selection[] {
    return this.#admitting(key, pod).filter((selection) => selection.remove(pod?.nodeName ?? ''));
  }

  #admitting(key: string, pod: SeenPod | null): readonly Selection[] {
    if (pod === null || !isServing(pod)) return [];
    return this.#index.candidates(pod.labels).filter((selection) => selection.admits(key, pod));
  }
}

const isServing = ({ serving, nodeName }: SeenPod): boolean => serving && nodeName !== '';

const serveAlike = (one: SeenPod, other: SeenPod): boolean =>
  one.serving === other.serving && one.nodeName === other.nodeName && one.labels === other.labels;
