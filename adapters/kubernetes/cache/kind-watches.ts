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
  /** The sync state or the error of some kind changed. */
  changed(): void;
}

interface Watched {
  readonly kind: Kind;
  readonly reflector: Reflector<SeenObject>;
  /** The server's last refusal; a later outage does not clear it. Null when it serves the kind, or has not responded yet. */
  refused: Error | null;
}

/** The address bound to a RoutedIP is stored only in its status, and is reserved from then on. */
const boundIn = ({ status }: PoolObject): unknown => (status as { readonly routedIP?: unknown } | null | undefined)?.routedIP;

/** The operator writes the status itself: a change of the status alone is ignored, except for the bound address. */
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

/** The objects of several kinds. Each kind is watched as soon as its CRD is served, independently of the others; but kinds that depend on policies only once
 *  all policies are known: otherwise an object whose class was not yet observed would seem to have none. */
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

  /** Whether the server serves other kinds that the operator works for: then none of these need to be served. */
  othersServed(served: boolean): void {
    this.#othersServed = served;
  }

  /** As last seen; null when it does not exist, or the name belongs to an object with another uid. */
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

  /** Whether everything is known that will be: each kind is complete, not served, or non-essential and forbidden to list. */
  get settled(): boolean {
    const barred = this.#watched.filter(isBarred);
    const waitsInVain = (one: Watched): boolean => this.#waiting.includes(one) && barred.some(isPolicy);
    const done = (one: Watched): boolean => isKnown(one) || isAbsent(one) || barred.includes(one) || waitsInVain(one);
    const isAnyKnown = this.#watched.length === 0 || this.#othersServed || this.#owners.some(isKnown);
    return isAnyKnown && this.#watched.every(done);
  }

  /** False when the server serves no kind that the operator works for; null while that is unknown. */
  get served(): boolean | null {
    if (this.#watched.length === 0) return null;
    if (this.#owners.some((one) => isKnown(one) && one.reflector.trouble === null)) return true;
    return this.#owners.every(isAbsent) ? this.#othersServed : null;
  }

  /** The caches of the kinds that are served, as far as known. */
  reflectors(): readonly { readonly kind: string; readonly reflector: Reflector<SeenObject> }[] {
    return this.#begun.filter((one) => !isAbsent(one)).map(({ kind, reflector }) => ({ kind: kind.kind, reflector }));
  }

  /** Errors of the kinds that are not known yet; null for an incomplete list. A kind that is not served counts only when no other is served. */
  missing(): readonly (Error | null)[] {
    const unknown = this.#begun.filter((one) => !isKnown(one));
    const missed = this.#watched.every(isAbsent) && !this.#othersServed ? unknown : unknown.filter((one) => !isAbsent(one));
    return missed.map(({ reflector }) => reflector.trouble);
  }

  get #owners(): readonly Watched[] {
    return this.#watched.filter((one) => !isPolicy(one));
  }

  /** Without kinds that wait for another kind: those are not missing themselves. */
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

/** An operator that was upgraded before its RBAC rules keeps doing what it is allowed to, and reports what is forbidden. */
const isBarred = ({ kind, refused }: Watched): boolean => !kind.essential && isForbidden(refused);
