import type { ActorId, Address } from '../machines/types.ts';
import type { PoolObject } from './ports/cluster.ts';

interface Claimant {
  readonly id: ActorId;
  readonly object: PoolObject;
  readonly addresses: readonly Address[];
}

/** Addresses that are lost to others, each with the name of the object that has it. */
export type Conflicts = Readonly<Record<Address, string>>;

/** Who may have which address. Of several objects that claim one the oldest has it; of two of the same age the one whose uid sorts first.
 *  An index: a change costs as much as the object that changes has addresses, however many others there are. */
export class Ownership {
  readonly #objects = new Map<ActorId, Claimant>();
  /** The claimants of each address, its owner first. */
  readonly #claimants = new Map<Address, readonly Claimant[]>();

  /** The object claims exactly these addresses from now on. Answers those others whose conflicts changed by it. */
  put(id: ActorId, object: PoolObject, addresses: readonly Address[]): readonly ActorId[] {
    const former = this.#objects.get(id);
    const claimant = { id, object, addresses };
    if (former && isSameClaim(former, claimant)) return [];
    return this.#change(claimant, [...(former?.addresses ?? []), ...addresses], () => {
      if (former) this.#withdraw(former);
      this.#objects.set(id, claimant);
      for (const address of new Set(addresses)) {
        this.#claimants.set(address, [...(this.#claimants.get(address) ?? []), claimant].sort(byAge));
      }
    });
  }

  /** The object is gone. Answers those others whose conflicts changed by it. */
  remove(id: ActorId): readonly ActorId[] {
    const former = this.#objects.get(id);
    if (!former) return [];
    return this.#change(former, former.addresses, () => this.#withdraw(former));
  }

  /** What the object claims and another one has. */
  conflicts(id: ActorId): Conflicts {
    const claimant = this.#objects.get(id);
    const lost = (claimant?.addresses ?? []).flatMap((address) => {
      const owner = this.#claimants.get(address)?.[0];
      return owner && owner.id !== id ? [[address, calledBy(claimant?.object, owner.object)] as const] : [];
    });
    return Object.fromEntries(lost);
  }

  #withdraw({ id, addresses }: Claimant): void {
    this.#objects.delete(id);
    for (const address of addresses) {
      const others = (this.#claimants.get(address) ?? []).filter((other) => other.id !== id);
      if (others.length > 0) this.#claimants.set(address, others);
      else this.#claimants.delete(address);
    }
  }

  /** Runs `change`, and answers whose conflicts are others than before, of all that claim one of the addresses but who changes itself. */
  #change({ id }: Claimant, addresses: readonly Address[], change: () => void): readonly ActorId[] {
    const rivals = new Set(addresses.flatMap((address) => (this.#claimants.get(address) ?? []).map((other) => other.id)));
    rivals.delete(id);
    const before = new Map([...rivals].map((other) => [other, JSON.stringify(this.conflicts(other))]));
    change();
    return [...rivals].filter((other) => JSON.stringify(this.conflicts(other)) !== before.get(other));
  }
}

/** Whether another one would neither gain nor lose by the newer claim, and be told the same name. */
const isSameClaim = (a: Claimant, b: Claimant): boolean =>
  a.object.ref.uid === b.object.ref.uid &&
  a.object.createdAt === b.object.createdAt &&
  a.addresses.length === b.addresses.length &&
  a.addresses.every((address, index) => address === b.addresses[index]);

const byAge = ({ object: a }: Claimant, { object: b }: Claimant): number => a.createdAt - b.createdAt || (a.ref.uid < b.ref.uid ? -1 : 1);

/** How one owner's status names another one: with its kind, unless both are FloatingIPPools. */
const calledBy = (own: PoolObject | undefined, { ref: { kind, namespace, name } }: PoolObject): string =>
  `${own?.ref.kind === 'FloatingIPPool' && kind === 'FloatingIPPool' ? '' : `${kind} `}${namespace}/${name}`;
