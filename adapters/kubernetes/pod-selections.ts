import { type Labels, type Requirement, selects } from '../../machines/selector.ts';
import type { CacheFollower } from './object-cache.ts';
import type { Trimmed } from './trim.ts';
import type { SeenPod } from './trim-pod.ts';

/** The nodes on which Pods under one selector serve, for one user. */
export interface ServingNodes {
  /** Sorted. The same array until another one is among them, or one is not any more. */
  names(): readonly string[];
  release(): void;
}

export interface PodQuery {
  /** Empty for all namespaces. */
  readonly namespace: string;
  readonly requirements: readonly Requirement[];
}

/** How many Pods under one selector serve on each node: what a change of a Pod costs does not depend on how many there are. */
class Selection {
  readonly users = new Set<() => void>();
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

  /** Whether other nodes serve now than before. */
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

/** By a label that every Pod under it bears; null for one that names none. */
const labelOf = ({ requirements }: PodQuery): Requirement | null => requirements.find(({ operator }) => operator === 'in') ?? null;

/** Answers from the cache of all Pods on which nodes those serve that a selector lets through. */
export class PodSelections implements CacheFollower<SeenPod> {
  readonly #all: () => readonly Trimmed<SeenPod>[];
  readonly #selections = new Map<string, Selection>();
  /** By key and value of a label that Pods bear under them. */
  readonly #byLabel = new Map<string, Map<string, Set<Selection>>>();
  readonly #others = new Set<Selection>();

  constructor(all: () => readonly Trimmed<SeenPod>[]) {
    this.#all = all;
  }

  use(query: PodQuery, changed: () => void): ServingNodes {
    const name = JSON.stringify([query.namespace, query.requirements]);
    const selection = this.#selections.get(name) ?? this.#begin(name, query);
    // One user may be there twice, as when it takes the place of what it had.
    const user = (): void => changed();
    selection.users.add(user);
    return {
      names: () => selection.names(),
      release: () => {
        if (!selection.users.delete(user) || selection.users.size > 0) return;
        this.#selections.delete(name);
        this.#unfile(query, selection);
      },
    };
  }

  synced(entries: readonly Trimmed<SeenPod>[]): void {
    for (const selection of this.#selections.values()) selection.clear();
    for (const { key, value } of entries) this.#added(key, value);
  }

  changed(key: string, before: SeenPod | null, after: SeenPod | null): void {
    if (before && after && serveAlike(before, after)) return;
    // In this order a node on which it goes on serving counts no less meanwhile.
    const news = new Set([...this.#added(key, after), ...this.#removed(key, before)]);
    for (const { users } of news) for (const changed of users) changed();
  }

  #begin(name: string, query: PodQuery): Selection {
    const selection = new Selection(query);
    this.#selections.set(name, selection);
    for (const set of this.#places(query)) set.add(selection);
    for (const { key, value } of this.#all()) {
      if (isServing(value) && selection.admits(key, value)) selection.add(value.nodeName);
    }
    return selection;
  }

  #places(query: PodQuery): readonly Set<Selection>[] {
    const label = labelOf(query);
    if (label === null) return [this.#others];
    const byValue = this.#byLabel.get(label.key) ?? new Map<string, Set<Selection>>();
    this.#byLabel.set(label.key, byValue);
    return [...new Set(label.values)].map((value) => {
      const set = byValue.get(value) ?? new Set();
      byValue.set(value, set);
      return set;
    });
  }

  #unfile(query: PodQuery, selection: Selection): void {
    for (const set of this.#places(query)) set.delete(selection);
    const { key, values } = labelOf(query) ?? { key: '', values: [] };
    const byValue = this.#byLabel.get(key);
    for (const value of values) if (byValue?.get(value)?.size === 0) byValue.delete(value);
    if (byValue?.size === 0) this.#byLabel.delete(key);
  }

  #added(key: string, pod: SeenPod | null): readonly Selection[] {
    return this.#admitting(key, pod).filter((selection) => selection.add(pod?.nodeName ?? ''));
  }

  #removed(key: string, pod: SeenPod | null): readonly Selection[] {
    return this.#admitting(key, pod).filter((selection) => selection.remove(pod?.nodeName ?? ''));
  }

  #admitting(key: string, pod: SeenPod | null): readonly Selection[] {
    if (pod === null || !isServing(pod)) return [];
    return [...this.#others, ...this.#labelled(pod.labels)].filter((selection) => selection.admits(key, pod));
  }

  #labelled(labels: Labels): readonly Selection[] {
    const found: Selection[] = [];
    for (const key in labels) found.push(...(this.#byLabel.get(key)?.get(labels[key] ?? '') ?? []));
    return found;
  }
}

const isServing = ({ serving, nodeName }: SeenPod): boolean => serving && nodeName !== '';

const serveAlike = (one: SeenPod, other: SeenPod): boolean =>
  one.serving === other.serving && one.nodeName === other.nodeName && one.labels === other.labels;
