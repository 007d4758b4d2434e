import type { Transition } from '../../actors/ports/observers.ts';
import type { ActorRecord } from '../../actors/ports/records.ts';
import type { ActorId, Address, ObjectRef } from '../../machines/model/types.ts';
import type { PoolContext } from '../../machines/pool/context.ts';
import { sourceKey } from './seen-classes.ts';
import type { World } from './world.ts';

/** What whoever led last knew and decided of RoutedIPs. He knows it still, and his calls are on their way, when the store has lost it. */
export class LedRoutedIPs {
  readonly #world: World;
  #isStoreDown = false;
  readonly #contexts = new Map<ActorId, PoolContext>();
  /** Those whose deletion was heard of, by uid: whether their address was to go with them, as their class said then. */
  readonly #deleted = new Map<string, boolean>();

  /** What was made and is given back, rightly when that was decided: whoever changes the class afterwards is too late, since a Job may be deleting it. */
  readonly givenBack = new Set<Address>();

  constructor(world: World) {
    this.#world = world;
    const { store } = world;
    const { goDown, comeBack } = store;
    store.goDown = () => {
      this.#isStoreDown = true;
      goDown();
    };
    store.comeBack = () => {
      this.#isStoreDown = false;
      comeBack();
    };
  }

  /** Somebody leads, and what he hears has its effect. */
  isHearing(): boolean {
    return this.#world.processes.some(
      ({ supervisor, store }) => supervisor.leading && (!this.#isStoreDown || store.isFleeting?.() === true),
    );
  }

  /** `isAsked`: whether the class says of the object of that uid that its address is to go. `isLeft`: whether it says so of what was made and is not wanted any more. */
  note({ actor, after }: Transition, { isAsked, isLeft }: { isAsked(uid: string): boolean; isLeft(address: Address): boolean }): void {
    if (!after) return;
    const context = contextOf(after);
    const { uid } = context.ref;
    this.#contexts.set(actor, context);
    const back = context.acquiring.givenBack;
    // Whoever has just begun to lead, and was told nothing yet, hears of what was made for the one before him, and goes by what that one was told.
    const isUntold = context.query === null && context.spec?.exposes?.reclaim === 'Delete';
    if (back && (isUntold || isLeft(back))) this.givenBack.add(back);
    // Whoever finds no records decides anew.
    if (!isStopping(after)) this.#deleted.delete(uid);
    else if (!this.#deleted.has(uid)) this.#deleted.set(uid, isAsked(uid));
  }

  /** By which class or issuer the RoutedIP of that uid was served; null for none. */
  servedBy(uid: string): string | null {
    const { ref, spec } = [...this.#contexts.values()].find((each) => each.ref.uid === uid) ?? {};
    const source = spec?.exposes?.source;
    return ref && source ? sourceKey(source.kind, ref.namespace, source.name) : null;
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
