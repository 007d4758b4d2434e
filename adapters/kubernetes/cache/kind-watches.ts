import { isDeepStrictEqual } from 'node:util';
import type { PoolObject } from '../../../actors/ports/cluster.ts';
import type { ObjectRef } from '../../../machines/model/types.ts';
import { isForbidden, isNotFound, ServerUnreachable } from '../client/api-error.ts';
import type { Kind } from './kinds.ts';
import { Reflector, type Surroundings } from './reflector.ts';
import { keyOf, type SeenObject, trimObject } from './trim.ts';

export interface KindListener {
  set(object: PoolObject): void;
  gone(object: PoolObject): void;
  /** What is known of some kind, or keeps it from being known, is another thing than before. */
  changed(): void;
}

interface Watched {
  readonly kind: Kind;
  readonly reflector: Reflector<SeenObject>;
  /** What the server last refused; an outage since does not unsay it. Null when it serves the kind, or has said nothing yet. */
  refused: Error | null;
}

/** The address that a RoutedIP has got stands in its status alone, and nobody else may have it from then on. */
const boundIn = ({ status }: PoolObject): unknown => (status as { readonly routedIP?: unknown } | null | undefined)?.routedIP;

/** Status is the operator's own writing: a change of it alone is no news, but for that. */
const same = ({ object: before }: SeenObject, { object: after }: SeenObject): boolean =>
  before.generation === after.generation &&
  before.deleting === after.deleting &&
  isDeepStrictEqual(before.spec, after.spec) &&
  isDeepStrictEqual(before.marks, after.marks) &&
  boundIn(before) === boundIn(after);

const isKnown = ({ reflector }: Watched): boolean => reflector.synced;
const isAbsent = ({ refused }: Watched): boolean => isNotFound(refused);
const isPolicy = ({ kind }: Watched): boolean => kind.role === 'policy';
const needsPolicies = ({ kind }: Watched): boolean => kind.role === 'serves';

/** The objects of some kinds. Each kind is watched from when its CRD is served, whatever becomes of the other ones; but those that go by policies not before
 *  all policies are known: one whose class was not told yet would be taken for one without. */
export class KindWatches {
  readonly #watched: readonly Watched[];
  #waiting: readonly Watched[] = [];
  #othersServed = false;

  constructor(world: Surroundings, kinds: readonly Kind[], listener: KindListener) {
    const changed = (): void => {
      this.#startWaiting();
      listener.changed();
    };
    this.#watched = kinds.map((kind) => {
      const subject = { query: kind.collection, trim: (object: unknown) => trimObject(kind.kind, object), same };
      const reflector = new Reflector<SeenObject>(world, subject, {
        set: ({ object }) => listener.set(object),
        gone: ({ object }) => listener.gone(object),
        synced: changed,
        troubled: (error) => {
          if (!(error instanceof ServerUnreachable)) watched.refused = error;
          changed();
        },
      });
      const watched: Watched = { kind, reflector, refused: null };
      return watched;
    });
  }

  start(): void {
    this.#waiting = this.#watched.filter(needsPolicies);
    for (const one of this.#watched) if (!needsPolicies(one)) one.reflector.start();
  }

  stop(): void {
    this.#waiting = [];
    for (const { reflector } of this.#watched) reflector.stop();
  }

  /** Whether the server knows other kinds that the operator does something for: then none of these need be there. */
  othersServed(served: boolean): void {
    this.#othersServed = served;
  }

  /** As last seen; null for one that is not there, or is another object of that name. */
  get({ kind, namespace, name, uid }: ObjectRef): SeenObject | null {
    const seen = this.#find(kind)?.reflector.get(keyOf(namespace, name)) ?? null;
    return seen?.object.ref.uid === uid ? seen : null;
  }

  /** Whether all objects of this kind are known. */
  knows(kind: string): boolean {
    return this.#find(kind)?.reflector.synced ?? false;
  }

  /** All policies, as last seen. */
  policies(): readonly PoolObject[] {
    return this.#watched.filter(isPolicy).flatMap(({ reflector }) => reflector.values().map(({ object }) => object));
  }

  /** Whether all is known that will be: a kind is complete or not served, or one that can be done without may not be listed. */
  get settled(): boolean {
    const barred = this.#watched.filter(isBarred);
    const waitsInVain = (one: Watched): boolean => this.#waiting.includes(one) && barred.some(isPolicy);
    const done = (one: Watched): boolean => isKnown(one) || isAbsent(one) || barred.includes(one) || waitsInVain(one);
    const isAnyKnown = this.#watched.length === 0 || this.#othersServed || this.#owners.some(isKnown);
    return isAnyKnown && this.#watched.every(done);
  }

  /** False when the server knows no kind of object that the operator could do something for; null while that cannot be told. */
  get served(): boolean | null {
    if (this.#watched.length === 0) return null;
    if (this.#owners.some((one) => isKnown(one) && one.reflector.trouble === null)) return true;
    return this.#owners.every(isAbsent) ? this.#othersServed : null;
  }

  /** The caches of the kinds that are served, as far as can be told. */
  reflectors(): readonly { readonly kind: string; readonly reflector: Reflector<SeenObject> }[] {
    return this.#begun.filter((one) => !isAbsent(one)).map(({ kind, reflector }) => ({ kind: kind.kind, reflector }));
  }

  /** What keeps kinds from being known; null for a list that is not complete yet. A kind that is not served is missed only when there is no other. */
  missing(): readonly (Error | null)[] {
    const unknown = this.#begun.filter((one) => !isKnown(one));
    const missed = this.#watched.every(isAbsent) && !this.#othersServed ? unknown : unknown.filter((one) => !isAbsent(one));
    return missed.map(({ reflector }) => reflector.trouble);
  }

  get #owners(): readonly Watched[] {
    return this.#watched.filter((one) => !isPolicy(one));
  }

  /** Those that wait for another kind are not missed themselves. */
  get #begun(): readonly Watched[] {
    return this.#watched.filter((one) => !this.#waiting.includes(one));
  }

  #startWaiting(): void {
    if (this.#waiting.length === 0 || !this.#watched.filter(isPolicy).every((one) => isKnown(one) || isAbsent(one))) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { reflector } of waiting) reflector.start();
  }

  #find(kind: string): Watched | undefined {
    return this.#watched.find((one) => one.kind.kind === kind);
  }
}

/** An operator that was updated before its permissions goes on with what it may do, and says what it may not. */
const isBarred = ({ kind, refused }: Watched): boolean => !kind.essential && isForbidden(refused);
