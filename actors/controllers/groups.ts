import type { ActorId } from '../../machines/model/types.ts';

/** Which actors have something in common, each in one group. */
export class Groups {
  readonly #of = new Map<ActorId, string>();
  readonly #members = new Map<string, Set<ActorId>>();

  /** Null takes the actor out. */
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

  /** In no order. */
  membersOf(group: string): ReadonlySet<ActorId> {
    return this.#members.get(group) ?? NONE;
  }
}

const NONE: ReadonlySet<ActorId> = new Set();
