import type { CacheFollower } from './object-cache.ts';
import type { SeenNode, Trimmed } from './trim.ts';

/** Nodes by annotated address, from the cache of all nodes. */
export class BorneAddresses implements CacheFollower<SeenNode> {
  readonly #nodes = new Map<string, readonly string[]>();

  /** The names of the nodes. */
  bearing(address: string): readonly string[] {
    return this.#nodes.get(address) ?? [];
  }

  synced(entries: readonly Trimmed<SeenNode>[]): void {
    this.#nodes.clear();
    for (const { key, value } of entries) this.#add(key, value);
  }

  changed(name: string, before: SeenNode | null, after: SeenNode | null): void {
    for (const address of addressesOf(before)) {
      const others = this.bearing(address).filter((other) => other !== name);
      if (others.length > 0) this.#nodes.set(address, others);
      else this.#nodes.delete(address);
    }
    this.#add(name, after);
  }

  #add(name: string, node: SeenNode | null): void {
    for (const address of addressesOf(node)) this.#nodes.set(address, [...this.bearing(address), name]);
  }
}

const addressesOf = (node: SeenNode | null): readonly string[] => [node?.ipv4, node?.ipv6].filter((address) => address != null);
