import type { ActorId } from '../../machines/model/types.ts';

/** Index of actors by group; each actor is in at most one. */
export class Groups {
  readonly #of = new Map<ActorId, string>();
  readonly #members = new Map<string, Set<ActorId>>();

  /** Null removes the actor. */
  set(id: ActorId, group: string | null): void {
    const former = this.#of.get(id) ?? null;
    if (former === group) return;
    if (former !== null) {
      const others = this.#members.get(former);
      if (others?.delete(id) && others.size === 0) this.#members.delete(former);
    }
    if (group === null) this.#of.delete(id);
    else {
      this.#of.set(id, group);
      this.#members.set(group, (this.#members.get(group) ?? new Set()).add(id));
    }
  }

  /** Unordered. */
  membersOf(group: string): ReadonlySet<ActorId> {
    return this.#members.get(group) ?? NONE;
  }
}

const NONE: ReadonlySet<ActorId> = new Set();
