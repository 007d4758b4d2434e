import { parseAddress } from '../machines/address.ts';
import type { ObjectRef } from '../machines/jobs.ts';
import { type Marks, PAUSED } from '../machines/marks.ts';
import { isPrivate } from '../machines/provider-key.ts';
import { boundAddress } from '../machines/rebuild-routed-ip.ts';
import { serviceOf } from '../machines/service.ts';
import { type ActorId, type Address, FINALIZER, MOVE_TO } from '../machines/types.ts';
import { type Conflicts, Ownership } from './ownership.ts';
import { ObservedPolicies } from './policies.ts';
import type { ClusterFact, PoolObject } from './ports/cluster.ts';

/** First part of the ids of the actors that objects of a kind own. */
const PARTS: Readonly<Record<string, string>> = { FloatingIPPool: 'pool', RoutedIP: 'rip', NodeDNSRecordSet: 'dns' };

/** The actor that stands for an object: the pool of a FloatingIPPool, the pool of one of a RoutedIP, or a NodeDNSRecordSet's record set. */
export const actorOf = ({ kind, namespace, name }: Pick<ObjectRef, 'kind' | 'namespace' | 'name'>): ActorId =>
  `${PARTS[kind]}/${namespace}/${name}`;

/** The kind of the object that an actor stands for. */
export const kindOf = (id: ActorId): string => Object.keys(PARTS).find((kind) => id.startsWith(`${PARTS[kind]}/`)) ?? '';

export const isPool = (id: ActorId): boolean => id.startsWith('pool/') || isRoutedIP(id);
export const isRoutedIP = (id: ActorId): boolean => id.startsWith('rip/');
export const isRecordSet = (id: ActorId): boolean => id.startsWith('dns/');

/** The pools, the record sets of nodes and their facts as last observed, whoever leads: a new leader starts from here. */
export class ObservedPools {
  readonly policies: ObservedPolicies;
  readonly #pools = new Map<ActorId, PoolObject>();
  readonly #facts = new Map<ActorId, ClusterFact>();
  readonly #hindrances = new Map<ActorId, string>();
  readonly #ownership = new Ownership();

  constructor(operatorNamespace = 'default') {
    this.policies = new ObservedPolicies(operatorNamespace);
  }

  get all(): ReadonlyMap<ActorId, PoolObject> {
    return this.#pools;
  }

  /** The key of the provider that an object works with, valid or not; empty for none. */
  providerOf(pool: PoolObject): string {
    return pool.ref.kind === 'RoutedIP' ? this.policies.providerOf(pool) : namedProvider(pool);
  }

  /** What its cell is told of the object itself. */
  specOf(pool: PoolObject): {
    readonly spec: unknown;
    readonly guarded?: boolean;
    readonly deleteAdopted?: boolean;
    readonly marks?: Marks;
  } {
    const marks = marksOn(pool);
    if (pool.ref.kind !== 'RoutedIP') return { spec: pool.spec, ...(marks && { marks }) };
    const { finalizers = [], annotations = {} } = pool.marks ?? {};
    const guarded = finalizers.includes(FINALIZER);
    return { spec: this.policies.factOf(pool), guarded, deleteAdopted: annotations[DELETE_ADOPTED] === 'true', ...(marks && { marks }) };
  }

  fact(pool: ActorId): ClusterFact | null {
    return this.#facts.get(pool) ?? null;
  }

  conflicts(pool: ActorId): Conflicts {
    return this.#ownership.conflicts(pool);
  }

  /** Answers the other pools whose conflicts changed by it. */
  put(pool: PoolObject): readonly ActorId[] {
    const id = actorOf(pool.ref);
    const former = this.#pools.get(id);
    // A fact of a former object, or of watches that ended when the selectors changed, may be out of date: the present watches tell it anew.
    if (former?.ref.uid !== pool.ref.uid || matchOf(former) !== matchOf(pool)) this.#facts.delete(id);
    this.#pools.set(id, pool);
    return this.#ownership.put(id, pool, this.#addressesOf(pool));
  }

  /** Forgets a pool, unless another one bears its name by now. */
  remove(ref: ObjectRef): readonly ActorId[] {
    const id = actorOf(ref);
    if (this.#pools.get(id)?.ref.uid !== ref.uid) return [];
    this.#pools.delete(id);
    this.#facts.delete(id);
    this.#hindrances.delete(id);
    return this.#ownership.remove(id);
  }

  putFact(ref: ObjectRef, fact: ClusterFact): void {
    this.#facts.set(actorOf(ref), fact);
  }

  putHindrance(ref: ObjectRef, why: string | null): void {
    if (why === null) this.#hindrances.delete(actorOf(ref));
    else this.#hindrances.set(actorOf(ref), why);
  }

  /** Which right is missing to see what it asks of the cluster; null for none. */
  hindrance(id: ActorId): string | null {
    return this.#hindrances.get(id) ?? null;
  }

  /** A class says whether its RoutedIPs take addresses of an IPGroup. Answers whose conflicts changed by what the classes say now. */
  policiesChanged(): readonly ActorId[] {
    const routedIPs = [...this.#pools].filter(([id]) => isRoutedIP(id));
    return [...new Set(routedIPs.flatMap(([id, pool]) => this.#ownership.put(id, pool, this.#addressesOf(pool))))];
  }

  /** One that names an address of an IPGroup has it once it is reserved, however old it is: before, it may be somebody's. */
  #addressesOf(pool: PoolObject): readonly Address[] {
    return this.policies.takesFromGroup(pool) ? [boundAddress(pool.status) ?? []].flat() : addressesOf(pool);
  }
}

/** The addresses that an object says it has or wants. */
export function addressesOf({ ref, spec, status }: PoolObject): readonly Address[] {
  if (ref.kind === 'RoutedIP')
    return [boundAddress({ routedIP: (spec as { readonly routedIP?: unknown } | null)?.routedIP }) ?? boundAddress(status) ?? []].flat();
  const { ips } = (spec ?? {}) as { readonly ips?: unknown };
  if (!Array.isArray(ips)) return [];
  return ips.flatMap((text: unknown) => (typeof text === 'string' ? (parseAddress(text) ?? []) : []));
}

/** What has to be watched for an object. */
const matchOf = ({ ref, spec }: PoolObject): string =>
  ref.kind === 'RoutedIP'
    ? JSON.stringify(serviceOf(ref.namespace, spec))
    : JSON.stringify(((spec ?? {}) as { readonly match?: unknown }).match ?? null);

/** `"true"`: an address that we did not make is deleted, too, where the policy deletes. */
const DELETE_ADOPTED = 'routedip.io/delete-adopted';
/** `"true"`: the RoutedIP goes at once, whatever stays at the provider. */
export const FORCE_RELEASE = 'routedip.io/force-release';

/** What people ask for by annotations; null for nothing. */
function marksOn({ deleting, marks }: PoolObject): Marks | null {
  const { [PAUSED]: paused, [MOVE_TO]: moveTo } = marks?.annotations ?? {};
  if (paused === undefined && moveTo === undefined) return null;
  return { ...(paused !== undefined && { paused }), ...(moveTo !== undefined && { moveTo }), ...(deleting && { deleting }) };
}

/** A RoutedIP that is deleted is released now: not while it is paused, unless somebody wants it gone at all costs. */
export const isReleased = (object: PoolObject): boolean =>
  object.deleting && (!isHalted(object) || object.marks?.annotations[FORCE_RELEASE] === 'true');

/** Somebody has paused it. */
export const isHalted = ({ marks }: PoolObject): boolean => marks?.annotations[PAUSED] === 'true';

const namedProvider = ({ spec }: PoolObject): string => {
  const { provider } = (spec ?? {}) as { readonly provider?: unknown };
  return typeof provider === 'string' && !isPrivate(provider) ? provider : '';
};
