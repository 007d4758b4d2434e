import { namespaceOf } from '../../machines/model/namespaces.ts';
import type { ActorId } from '../../machines/model/types.ts';

/** Who is served next of those that wait for one thing: the namespace that has not had it for the longest time, so that none starves the others by asking often. */
export class NamespaceTurns {
  /** Which of all turns each namespace had last. */
  readonly #had = new Map<string, number>();
  #turns = 0;

  /** Those that wait, in the order in which they are to be served now that the last one is done; within a namespace as they were given. */
  next<T>(last: ActorId, waiting: readonly (readonly [ActorId, T])[]): readonly (readonly [ActorId, T])[] {
    this.#turns += 1;
    this.#had.set(namespaceOf(last), this.#turns);
    const had = (id: ActorId): number => this.#had.get(namespaceOf(id)) ?? 0;
    return waiting.toSorted(([a], [b]) => had(a) - had(b));
  }
}
