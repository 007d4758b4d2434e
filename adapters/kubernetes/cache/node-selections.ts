import { isDeepStrictEqual } from 'node:util';
import { type Requirement, selects } from '../../../machines/model/selector.ts';
import type { ObservedNode } from '../../../machines/model/types.ts';
import { LabelIndex, labelOf } from './label-index.ts';
import type { CacheFollower } from './object-cache.ts';
import type { SeenNode } from './trim.ts';

export interface NodeUser {
  /** Whether the user reads node addresses. They include the operator's own annotations, whose changes would otherwise notify every pool. */
  readonly readsAddresses: boolean;
  changed(): void;
}

/** The nodes under one label selector, for one user. */
export interface SelectedNodes {
  /** Sorted by name. The same array until one of them changes. */
  nodes(): readonly ObservedNode[];
  release(): void;
}

interface Selection {
  readonly requirements: readonly Requirement[];
  readonly users: Set<NodeUser>;
  /** Null when they must be looked up again. */
  nodes: readonly ObservedNode[] | null;
  /** Changes since then by node name: null for a node that is no longer selected. */
  changes: Map<string, ObservedNode | null> | null;
}

function lookUpAnew(selection: Selection): void {
  Object.assign(selection, { nodes: null, changes: null });
}

/** The parts of a node that the user reads: of its labels, only those named by the selector. */
const readOf = (node: ObservedNode, { requirements }: Selection, { readsAddresses }: NodeUser): unknown => {
  const { labels, externalIPs, internalIPs, reservedIPs, ...others } = node;
  const addresses = readsAddresses ? [externalIPs, internalIPs, reservedIPs] : [];
  return [others, addresses, requirements.map(({ key }) => labels[key])];
};

/** Evaluates label selectors on the cache of all nodes. */
export class NodeSelections implements CacheFollower<SeenNode> {
  readonly #all: () => readonly SeenNode[];
  readonly #selections = new Map<string, Selection>();
  readonly #index = new LabelIndex<Selection>();
  /** Nodes by label key and value, for the keys requested since the last node change. */
  readonly #labelled = new Map<string, ReadonlyMap<string, readonly ObservedNode[]>>();

  constructor(all: () => readonly SeenNode[]) {
    this.#all = all;
  }

  use(requirements: readonly Requirement[], user: NodeUser): SelectedNodes {
    const name = JSON.stringify(requirements);
    const selection = this.#selections.get(name) ?? this.#begin(name, requirements);
    selection.users.add(user);
    return {
      nodes: () => this.#nodesOf(selection),
      release: () => {
        if (!selection.users.delete(user) || selection.users.size > 0) return;
        this.#selections.delete(name);
        this.#index.delete(requirements, selection);
      },
    };
  }

  synced(): void {
    this.#labelled.clear();
    for (const selection of this.#selections.values()) lookUpAnew(selection);
  }

  changed(name: string, before: SeenNode | null, after: SeenNode | null): void {
    this.#labelled.clear();
    const labels = [before, after].flatMap((seen) => (seen ? [seen.node.labels] : []));
    for (const selection of new Set(labels.flatMap((each) => this.#index.candidates(each)))) {
      const [was, is] = [before, after].map((seen) => (seen && selects(selection.requirements, seen.node.labels) ? seen.node : null));
      if (!was && !is) continue;
      // A failover waits for this, so patch instead of looking up again: of ten thousand nodes a few are selected.
      if (was) selection.changes = (selection.changes ?? new Map()).set(name, is ?? null);
      else lookUpAnew(selection);
      for (const user of selection.users) {
        const isSame = was && is && isDeepStrictEqual(readOf(was, selection, user), readOf(is, selection, user));
        if (!isSame) user.changed();
      }
    }
  }

  #begin(name: string, requirements: readonly Requirement[]): Selection {
    const selection: Selection = { requirements, users: new Set(), nodes: null, changes: null };
    this.#selections.set(name, selection);
    this.#index.add(requirements, selection);
    return selection;
  }

  #nodesOf(selection: Selection): readonly ObservedNode[] {
    const { requirements, changes } = selection;
    selection.nodes ??= this.#candidates(requirements).filter((node) => selects(requirements, node.labels));
    if (changes !== null)
      selection.nodes = selection.nodes.flatMap((node) => (changes.has(node.name) ? (changes.get(node.name) ?? []) : node));
    selection.changes = null;
    return selection.nodes;
  }

  /** All nodes that may match the requirements, in cache order. */
  #candidates(requirements: readonly Requirement[]): readonly ObservedNode[] {
    const label = labelOf(requirements);
    const [value, ...others] = label?.values ?? [];
    if (!label || value === undefined || others.length > 0) return this.#all().map(({ node }) => node);
    const known = this.#labelled.get(label.key) ?? this.#byValue(label.key);
    this.#labelled.set(label.key, known);
    return known.get(value) ?? [];
  }

  #byValue(key: string): ReadonlyMap<string, readonly ObservedNode[]> {
    const bearing = this.#all().flatMap(({ node }) => (Object.hasOwn(node.labels, key) ? [node] : []));
    return Map.groupBy(bearing, ({ labels }) => labels[key] ?? '');
  }
}
