import { familyOf } from '../../machines/model/address.ts';
import type { Address } from '../../machines/model/types.ts';

const FAMILIES = [4, 6] as const;

/** The address that each node should have; several when it has one of each family. */
export type Wanted = Readonly<Record<string, Address | readonly Address[]>>;

/** The annotations of nodes in memory: one address of each family. */
export class Annotations {
  readonly #borne = { 4: new Map<string, Address>(), 6: new Map<string, Address>() };
  readonly #changed: () => void;

  /** `changed` is called after each change. */
  constructor(changed: () => void) {
    this.#changed = changed;
  }

  set(node: string, addresses: Address | readonly Address[]): void {
    for (const address of [addresses].flat()) {
      const borne = this.#borne[familyOf(address)];
      if (borne.get(node) === address) continue;
      borne.set(node, address);
      this.#changed();
    }
  }

  /** Only where the node has none of that family. */
  fill(node: string, addresses: Address | readonly Address[]): void {
    this.set(
      node,
      [addresses].flat().filter((address) => !this.#borne[familyOf(address)].has(node)),
    );
  }

  /** Removes `addresses` from all nodes that should not have them. Returns those nodes. */
  remove(addresses: readonly Address[], wanted: Wanted): ReadonlySet<string> {
    const bare = new Set<string>();
    for (const family of FAMILIES) {
      for (const [node, address] of this.#borne[family]) {
        if (!addresses.includes(address) || [wanted[node] ?? []].flat().includes(address)) continue;
        this.#borne[family].delete(node);
        bare.add(node);
        this.#changed();
      }
    }
    return bare;
  }

  /** The node is gone. */
  drop(node: string): void {
    for (const family of FAMILIES) this.#borne[family].delete(node);
  }

  of(node: string): readonly Address[] {
    return FAMILIES.flatMap((family) => this.#borne[family].get(node) ?? []);
  }

  /** Node → address. */
  all(family: 4 | 6): Readonly<Record<string, Address>> {
    return Object.fromEntries(this.#borne[family]);
  }
}
