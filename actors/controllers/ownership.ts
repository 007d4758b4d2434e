import { byPrecedence, type Claim, type Standing } from '../../machines/model/precedence.ts';
import type { ActorId } from '../../machines/model/types.ts';
import type { PoolObject } from '../ports/cluster.ts';

/** What an object claims: an address, or the name of a record set. */
export type Key = string;

interface Claimant {
  readonly id: ActorId;
  readonly object: PoolObject;
  readonly keys: ReadonlySet<Key>;
}

/** The claimants of a key. */
interface Contest {
  readonly ids: Set<ActorId>;
  owner: ActorId;
  /** The owner's standing at the last comparison. */
  standing: Standing;
}

/** Keys lost to others, each with the name of the object that has it. */
export type Conflicts = Readonly<Record<Key, string>>;

/** Which object has which address and which name, by the rule of `machines/model/precedence.ts`; of two of the same age the one whose uid sorts first. An index: the cost of a
 *  change depends on the number of claims of the changed object only. All claimants of a key are compared only when its owner lets go, or its standing changes. */
export class Ownership {
  readonly #objects = new Map<ActorId, Claimant>();
  readonly #contests = new Map<Key, Contest>();
  readonly #standingOf: (id: ActorId, key: Key) => Standing;

  /** `standingOf` is called for each comparison, of contested keys only. */
  constructor(standingOf: (id: ActorId, key: Key) => Standing) {
    this.#standingOf = standingOf;
  }

  /** The object claims exactly these from now on. Returns the others whose conflicts changed. */
  put(id: ActorId, object: PoolObject, keys: Iterable<Key>): readonly ActorId[] {
    const former = this.#objects.get(id);
    const claimant = { id, object, keys: new Set(keys) };
    const isSame = former?.object.ref.uid === object.ref.uid && former.object.createdAt === object.createdAt;
    return this.#change(id, [...(former?.keys ?? []), ...claimant.keys], () => {
      this.#objects.set(id, claimant);
      for (const key of former?.keys ?? []) if (!isSame || !claimant.keys.has(key)) this.#withdraw(id, key);
      for (const key of claimant.keys) this.#claim(id, key);
    });
  }

  /** The object is gone. Returns the others whose conflicts changed. */
  remove(id: ActorId): readonly ActorId[] {
    const keys = [...(this.#objects.get(id)?.keys ?? [])];
    return this.#change(id, keys, () => {
      this.#objects.delete(id);
      for (const key of keys) this.#withdraw(id, key);
    });
  }

  /** The claimant that has it; null when there is none. */
  ownerOf(key: Key): ActorId | null {
    return this.#contests.get(key)?.owner ?? null;
  }

  /** All keys that these actors claim. */
  keysOf(ids: Iterable<ActorId>): ReadonlySet<Key> {
    return new Set([...ids].flatMap((id) => [...(this.#objects.get(id)?.keys ?? [])]));
  }

  /** The standings to these keys may have changed. Returns those whose conflicts changed. */
  anew(keys: Iterable<Key>): readonly ActorId[] {
    const contested = [...keys].filter((key) => (this.#contests.get(key)?.ids.size ?? 0) > 1);
    return this.#change(null, contested, () => {
      for (const key of contested) this.#decide(key, this.#contests.get(key));
    });
  }

  /** Keys that the object claims and another one has. */
  conflicts(id: ActorId): Conflicts {
    const claimant = this.#objects.get(id);
    const lost = [...(claimant?.keys ?? [])].flatMap((key) => {
      const owner = this.#objects.get(this.#contests.get(key)?.owner ?? id);
      return owner && owner.id !== id ? [[key, calledBy(claimant?.object, owner.object)] as const] : [];
    });
    return Object.fromEntries(lost);
  }

  /** Runs `change`, and returns all other claimants of keys whose owner changed. */
  #change(id: ActorId | null, keys: readonly Key[], change: () => void): readonly ActorId[] {
    const before = new Map(keys.map((key) => [key, this.#contests.get(key)?.owner]));
    change();
    const passed = [...before].filter(([key, owner]) => this.#contests.get(key)?.owner !== owner);
    const rivals = new Set(passed.flatMap(([key]) => [...(this.#contests.get(key)?.ids ?? [])]));
    if (id !== null) rivals.delete(id);
    return [...rivals];
  }

  #withdraw(id: ActorId, key: Key): void {
    const contest = this.#contests.get(key);
    contest?.ids.delete(id);
    if (contest?.ids.size === 0) this.#contests.delete(key);
    else if (contest?.owner === id) this.#decide(key, contest);
  }

  /** A first or repeated claim. For the present owner only its standing may have changed. */
  #claim(id: ActorId, key: Key): void {
    const contest = this.#contests.get(key);
    if (!contest) {
      this.#contests.set(key, { ids: new Set([id]), owner: id, standing: 'Asks' });
      return;
    }
    contest.ids.add(id);
    if (contest.ids.size === 1) return;
    if (contest.owner === id) {
      if (this.#standingOf(id, key) !== contest.standing) this.#decide(key, contest);
      return;
    }
    const [first] = [this.#claimOf(id, key), this.#claimOf(contest.owner, key)].sort(byPrecedence);
    if (first) Object.assign(contest, { owner: first.id, standing: first.standing });
  }

  #decide(key: Key, contest: Contest | undefined): void {
    if (!contest) return;
    const [first] = [...contest.ids].map((id) => this.#claimOf(id, key)).sort(byPrecedence);
    if (first) Object.assign(contest, { owner: first.id, standing: first.standing });
  }

  #claimOf(id: ActorId, key: Key): Claim & { readonly id: ActorId } {
    const object = this.#objects.get(id)?.object;
    return { id, standing: this.#standingOf(id, key), since: object?.createdAt ?? 0, tie: object?.ref.uid ?? '' };
  }
}

/** How one owner's status names another one: with its kind, unless both are FloatingIPPools. */
const calledBy = (own: PoolObject | undefined, { ref: { kind, namespace, name } }: PoolObject): string =>
  `${own?.ref.kind === 'FloatingIPPool' && kind === 'FloatingIPPool' ? '' : `${kind} `}${namespace}/${name}`;
