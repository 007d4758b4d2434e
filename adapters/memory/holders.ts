import type { HolderEffect, HolderMark } from '../../actors/ports/cluster.ts';

/** The holder taints of nodes with routed addresses, in memory. */
export class Holders {
  readonly #effects = new Map<string, HolderEffect>();
  readonly #isThere: (node: string) => boolean;
  /** The last operation on all marks. */
  markedBy: (() => void) | null = null;

  /** A node that does not exist has no taint. */
  constructor(isThere: (node: string) => boolean) {
    this.#isThere = isThere;
  }

  mark(node: string, effect: HolderEffect): void {
    if (this.#isThere(node)) this.#effects.set(node, effect);
  }

  /** `spared`: nodes that `wanted` does not cover. */
  markAll(wanted: Readonly<Record<string, HolderMark>>, complete: boolean, spared: ReadonlySet<string> = new Set()): void {
    for (const [node, mark] of Object.entries(wanted)) if (mark !== 'AsItIs') this.mark(node, mark);
    if (!complete) return;
    for (const node of this.#effects.keys()) if (!Object.hasOwn(wanted, node) && !spared.has(node)) this.#effects.delete(node);
  }

  /** The node is gone, or its taint was removed externally. */
  drop(node: string): void {
    this.#effects.delete(node);
  }

  /** Node → effect. */
  all(): Readonly<Record<string, HolderEffect>> {
    return Object.fromEntries(this.#effects);
  }
}

/** The marks wanted by a process. The process that wanted something last periodically restores marks that were removed externally. */
export const wishes = (
  holders: Holders,
): {
  want(wanted: Readonly<Record<string, HolderMark>>, complete: boolean): () => void;
  /** Marks the node immediately, or fails: earlier wants for all nodes must not remove it. */
  mark(node: string, write: () => void): void;
  again(run: (mark: () => void) => void): void;
  forget(): void;
} => {
  let last: (() => void) | null = null;
  const marked = new Set<string>();
  return {
    mark: (node, write) => {
      marked.add(node);
      write();
    },
    want: (wanted, complete) => {
      marked.clear();
      // Nodes may have been marked individually since: only restore what is missing.
      const mark = (): void => holders.markAll(wanted, false);
      return () => {
        holders.markedBy = mark;
        last = mark;
        holders.markAll(wanted, complete, marked);
      };
    },
    again: (run) => {
      if (last && holders.markedBy === last) run(last);
    },
    forget: () => {
      last = null;
    },
  };
};
