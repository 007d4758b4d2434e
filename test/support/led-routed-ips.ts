import type { Transition } from '../../actors/ports/observers.ts';
import type { ActorRecord } from '../../actors/ports.ts';
import type { ObjectRef } from '../../machines/jobs.ts';
import type { PoolContext } from '../../machines/pool.ts';
import type { ActorId } from '../../machines/types.ts';

/** What whoever led last knew and decided of RoutedIPs. He knows it still, and his calls are on their way, when the store has lost it. */
export class LedRoutedIPs {
  readonly #contexts = new Map<ActorId, PoolContext>();
  /** Those whose deletion was heard of, by uid: whether their address was to go with them, as their class said then. */
  readonly #deleted = new Map<string, boolean>();

  /** `isAsked`: whether the class says of the object of that uid that its address is to go. */
  note({ actor, after }: Transition, isAsked: (uid: string) => boolean): void {
    if (!after) return;
    const context = contextOf(after);
    const { uid } = context.ref;
    this.#contexts.set(actor, context);
    // Whoever finds no records decides anew.
    if (!isStopping(after)) this.#deleted.delete(uid);
    else if (!this.#deleted.has(uid)) this.#deleted.set(uid, isAsked(uid));
  }

  all(): Iterable<PoolContext> {
    return this.#contexts.values();
  }

  lastOf(actor: ActorId): PoolContext | undefined {
    return this.#contexts.get(actor);
  }

  /** Whoever led last has heard that it is deleted. */
  hasHeard({ uid }: ObjectRef): boolean {
    return this.#deleted.has(uid);
  }

  /** A call that deletes its address was rightly sent, and may be on its way. */
  wasToDelete({ uid }: ObjectRef): boolean {
    return this.#deleted.get(uid) === true;
  }
}

const contextOf = ({ snapshot }: ActorRecord): PoolContext => snapshot.context as unknown as PoolContext;
const isStopping = ({ snapshot: { value } }: ActorRecord): boolean => Object.hasOwn(Object(value), 'Stopping');
