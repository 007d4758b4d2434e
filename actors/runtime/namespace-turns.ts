import { namespaceOf } from '../../machines/model/namespaces.ts';
import type { ActorId } from '../../machines/model/types.ts';

/** Orders waiting actors: the namespace that has waited longest since its last turn is next, so that none starves the others by asking often. */
export class NamespaceTurns {
  /** The number of the last turn of each namespace. */
  readonly #had = new Map<string, number>();
  #turns = 0;

  /** The waiting actors in the order in which they are served after `last`; within a namespace in the given order. */
  next<T>(last: ActorId, waiting: readonly (readonly [ActorId, T])[]): readonly (readonly [ActorId, T])[] {
    this.#turns += 1;
    this.#had.set(namespaceOf(last), this.#turns);
    const had = (id: ActorId): number => this.#had.get(namespaceOf(id)) ?? 0;
    return waiting.toSorted(([a], [b]) => had(a) - had(b));
  }
}
