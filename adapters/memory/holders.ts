import type { HolderEffect, HolderMark } from '../../actors/ports/cluster.ts';

/** The taints of holders of routed addresses, in memory. */
export class Holders {
  readonly #effects = new Map<string, HolderEffect>();
  readonly #isThere: (node: string) => boolean;
  /** What was done last about all of them. */
  markedBy: (() => void) | null = null;

  /** A node that is not there bears nothing. */
  constructor(isThere: (node: string) => boolean) {
    this.#isThere = isThere;
  }

  mark(node: string, effect: HolderEffect): void {
    if (this.#isThere(node)) this.#effects.set(node, effect);
  }

  /** `spared`: nodes of which `wanted` says nothing. */
  markAll(wanted: Readonly<Record<string, HolderMark>>, complete: boolean, spared: ReadonlySet<string> = new Set()): void {
    for (const [node, mark] of Object.entries(wanted)) if (mark !== 'AsItIs') this.mark(node, mark);
    if (!complete) return;
    for (const node of this.#effects.keys()) if (!Object.hasOwn(wanted, node) && !spared.has(node)) this.#effects.delete(node);
  }

  /** The node is gone, or somebody took the taint off. */
  drop(node: string): void {
    this.#effects.delete(node);
  }

  /** Node → effect. */
  all(): Readonly<Record<string, HolderEffect>> {
    return Object.fromEntries(this.#effects);
  }
}

/** What a process wants of all marks. Whoever wanted something last puts on again, every so often, what somebody took off. */
export const wishes = (
  holders: Holders,
): {
  want(wanted: Readonly<Record<string, HolderMark>>, complete: boolean): () => void;
  /** The node is marked at once, or could not be: what was wanted of all before says nothing against it. */
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
      // What was marked since by itself is nobody's fault: only what is missing is put on again.
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
