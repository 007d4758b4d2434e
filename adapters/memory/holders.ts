import type { HolderEffect } from '../../actors/ports/cluster.ts';

/** The taints of holders of routed addresses, in memory. */
export class Holders {
  readonly #effects = new Map<string, HolderEffect>();

  mark(node: string, effect: HolderEffect): void {
    this.#effects.set(node, effect);
  }

  markAll(wanted: Readonly<Record<string, HolderEffect>>, complete: boolean): void {
    for (const [node, effect] of Object.entries(wanted)) this.#effects.set(node, effect);
    if (!complete) return;
    for (const node of this.#effects.keys()) if (!Object.hasOwn(wanted, node)) this.#effects.delete(node);
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
