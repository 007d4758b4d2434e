import { isNameKey } from '../../machines/dns/zone.ts';
import type { ClusterFact } from '../../machines/events.ts';
import { actorOf } from '../../machines/model/actor-id.ts';
import { familyOf } from '../../machines/model/address.ts';
import type { Evidence, Standing } from '../../machines/model/precedence.ts';
import { accountOfList, cloudOf, listKey } from '../../machines/model/provider-key.ts';
import { serviceOf } from '../../machines/model/service-ref.ts';
import type { Adoption, ObjectRef } from '../../machines/model/types.ts';
import {
  type ActorId,
  type Address,
  type BoundAddress,
  FINALIZER,
  fieldsOf,
  MOVE_TO,
  type ObservedAddress,
  UNASSIGNED,
} from '../../machines/model/types.ts';
import { type Marks, PAUSED } from '../../machines/pool/annotations.ts';
import type { PoolContext } from '../../machines/pool/context.ts';
import { asBegun, isUnderWay } from '../../machines/pool/creation.ts';
import { classInUse, isServedBy } from '../../machines/pool/service-observed.ts';
import type { CredentialsRefusal } from '../../machines/spec/operator-credentials.ts';
import { checkPoolSpec, type PoolSpec } from '../../machines/spec/pool.ts';
import { checkRoutedIP, type RoutedIPFact, reclaimOf } from '../../machines/spec/routedip.ts';
import { creationAt } from '../../machines/status/restore-pool.ts';
import { bindingIn, boundAddress, boundIn } from '../../machines/status/restore-routedip.ts';
import type { PoolObject } from '../ports/cluster.ts';
import { inSlices } from '../ports/in-slices.ts';
import type { Namespaces } from '../ports/namespaces.ts';
import type { Settings } from '../ports/settings.ts';
import { addressesIn, Claims, type ClaimsPorts, namedBeside, registryFor, restoredAddress } from './claims.ts';
import { ObservedPolicies } from './class-cache.ts';
import { classInUseBy } from './class-in-use.ts';
import { Groups } from './groups.ts';
import type { OperatorCredentials } from './operator-credentials.ts';
import { type Conflicts, type Key, Ownership } from './ownership.ts';
import { poolContextIn } from './record-view.ts';

/** The pools, the record sets of nodes and their facts as last observed, whoever leads: a new leader starts from here. */
export class ObservedPools {
  readonly policies: ObservedPolicies;
  /** Behind the nodes of the cluster, with the names of these; null before they are seen. */
  machines: ReadonlyMap<string, string> | null = null;
  readonly #pools = new Map<ActorId, PoolObject>();
  readonly #facts = new Map<ActorId, ClusterFact>();
  readonly #hindrances = new Map<ActorId, string>();
  /** By the key of a provider those that work with it; by the empty one those that name none. */
  readonly #byProvider = new Groups();
  /** By the class or issuer that they name, seen or not. */
  readonly #byPolicy = new Groups();
  readonly #byNamespace = new Groups();
  readonly #directory: ClaimsPorts['providers'];
  readonly #claims: Claims;
  readonly #ownership = new Ownership((id, key) => this.#standingOf(id, key));
  /** What each list of an account showed last in this term, by its name: empty when it could not be read, null when nobody can list it, absent until the first try has ended. */
  readonly #lists = new Map<string, ReadonlySet<Address> | null>();
  #recordsOf: ClaimsPorts['recordsOf'] = () => null;

  /** What every FloatingIPPool may take of what it lists; its annotation may only say less. */
  readonly #adopt: Settings['adopt'];

  constructor(
    operatorNamespace = 'default',
    providers: ClaimsPorts['providers'] = { all: {} },
    namespaces?: Namespaces,
    credentials?: OperatorCredentials,
    adopt: Settings['adopt'] = 'any',
  ) {
    this.policies = new ObservedPolicies(operatorNamespace, namespaces, credentials, (pool) =>
      classInUseBy(pool, this.#poolOf(actorOf(pool.ref))),
    );
    this.#adopt = adopt;
    this.#directory = providers;
    this.#claims = new Claims({
      policies: this.policies,
      providers,
      recordsOf: (cell) => this.#recordsOf(cell),
      evidenceOf: (...of) => this.#evidenceOf(...of),
    });
  }

  #evidenceOf(key: string, address: Address): Evidence {
    const list = this.#lists.get(listKey(key, familyOf(address)));
    if (list === null) return 'Unlistable';
    // Without credentials no list will ever be read.
    const { provider = null, unread = false } = this.#directory.all[key] ?? {};
    const mayList = list?.has(address) ?? (provider !== null || unread);
    return mayList ? 'Asks' : 'Unlisted';
  }

  get all(): ReadonlyMap<ActorId, PoolObject> {
    return this.#pools;
  }

  /** The key of the provider that an object works with, valid or not; empty for none. */
  providerOf(pool: PoolObject): string {
    return this.#claims.providerOf(pool);
  }

  /** The key of the provider that an object works with. A RoutedIP whose class is gone, does not say any more or is not for it has its address, or a creation that is under
   *  way, at the provider of before. */
  accountOf(pool: PoolObject, context = this.#poolOf(actorOf(pool.ref))): string {
    const named = this.providerOf(pool);
    if (pool.ref.kind !== 'RoutedIP' || (named !== '' && this.#worksWithNamed(pool, context))) return named;
    const { bound, boundBy } = context?.exposed ?? bindingIn(pool.status);
    const begun = context ? asBegun(context).spec?.provider : creationAt(pool.status);
    // Statuses of earlier versions do not say where it is: whoever lets it go has it read there.
    return begun ?? boundBy?.provider ?? (bound ? named : '');
  }

  /** Whether it works with that provider: its class or issuer may be for nobody new of its namespace. */
  #worksWithNamed(pool: PoolObject, context: PoolContext | undefined): boolean {
    return this.#isOpenTo(pool) || isServedBy(context ?? { spec: null, exposed: bindingIn(pool.status) }, this.policies.factOf(pool));
  }

  #isOpenTo(pool: PoolObject): boolean {
    return pool.ref.kind !== 'RoutedIP' || this.policies.isOpenTo(pool);
  }

  /** Those that name the provider of this key; for the empty one those that name none, or may not work with it. */
  usersOf(key: string): readonly (readonly [ActorId, PoolObject])[] {
    return this.#objectsOf(this.#byProvider.membersOf(key));
  }

  ofNamespace(namespace: string): readonly (readonly [ActorId, PoolObject])[] {
    return this.#objectsOf(this.#byNamespace.membersOf(namespace));
  }

  #objectsOf(ids: Iterable<ActorId>): readonly (readonly [ActorId, PoolObject])[] {
    return [...ids].flatMap((id) => {
      const pool = this.#pools.get(id);
      return pool ? [[id, pool] as const] : [];
    });
  }

  /** What its cell is told of the object itself. `mayRestore`: its annotation may name its address, since the ledger knows of none. */
  specOf(
    pool: PoolObject,
    mayRestore: boolean,
  ): {
    readonly spec: unknown;
    readonly guarded?: boolean;
    readonly refusal?: CredentialsRefusal;
    readonly deleteAdopted?: boolean;
    readonly marks?: Marks;
    readonly deleting?: boolean;
    readonly bound?: BoundAddress;
    readonly adoption?: Adoption;
  } {
    const marks = marksOn(pool);
    if (pool.ref.kind !== 'RoutedIP') {
      const refusal = this.policies.refusalOfPool(pool);
      const adoption = this.#adopt === 'unassigned' || isCareful(pool) ? 'Unassigned' : null;
      return { spec: pool.spec, ...(marks && { marks }), ...(refusal && { refusal }), ...(adoption && { adoption }) };
    }
    const { finalizers = [], annotations = {} } = pool.marks ?? {};
    const bound = boundIn(pool.status);
    const guarded = finalizers.includes(FINALIZER);
    return {
      spec: mayRestore ? this.#withRestored(pool, this.#factOf(pool)) : this.#factOf(pool),
      guarded,
      deleteAdopted: annotations[DELETE_ADOPTED] === 'true',
      ...(marks && { marks }),
      ...(pool.deleting && { deleting: true }),
      ...(bound && { bound }),
    };
  }

  /** One that was restored without its status names the address that it had: as long as its account has that, nobody else asks for it, and it may be adopted. Else another one is made. */
  #withRestored(pool: PoolObject, fact: RoutedIPFact): RoutedIPFact {
    const address = restoredAddress(pool);
    const { adoption } = fieldsOf(fact.policy?.spec);
    if (address === null || adoption === 'Never' || this.policies.takesFromGroup(pool)) return fact;
    const list = this.#lists.get(this.providerOf(pool));
    const isThere = list === null || list?.has(address);
    const id = actorOf(pool.ref);
    const { ref, exposed, acquiring } = this.#poolOf(id) ?? {};
    const hasOther = ref?.uid === pool.ref.uid && (exposed?.bound || (acquiring && isUnderWay(acquiring)));
    if (!isThere || hasOther || this.#ownership.conflicts(id)[address] !== undefined) return fact;
    return { ...fact, spec: { ...fieldsOf(fact.spec), routedIP: address } };
  }

  /** A RoutedIP that has no address and names none, while its class says `Retain`: under `Delete` an address that is there still may be on its way out. */
  mayReuse(id: ActorId, pool: PoolObject): boolean {
    if (pool.ref.kind !== 'RoutedIP' || addressesIn(pool).length > 0 || this.policies.takesFromGroup(pool)) return false;
    const bound = this.#poolOf(id)?.exposed?.bound ?? boundAddress(pool.status);
    return bound === null && reclaimOf(this.policies.factOf(pool)) === 'Retain';
  }

  /** Who is deleted, and names nothing that may serve it, is let go by the class or issuer that serves it; without one, or once that is gone, by its last valid spec. */
  #factOf(pool: PoolObject): RoutedIPFact {
    const fact = this.policies.factOf(pool);
    if (!pool.deleting || (fact.policy && fact.barred === undefined)) return fact;
    const context = this.#poolOf(actorOf(pool.ref));
    const { boundBy } = context?.exposed ?? bindingIn(pool.status);
    const by = (context?.spec && classInUse(context.spec)) ?? boundBy;
    const isKnown = context?.spec ? fact.policy || !this.policies.isThere(pool, by) : fact.policy && this.#worksWithNamed(pool, context);
    return (!isKnown && by && this.policies.factBy(pool, by)) || fact;
  }

  /** Addresses that other objects list, ask for or have got, as watches show them. */
  readonly namedBeside = (pool: ActorId): ReadonlySet<Address> => namedBeside(pool, this.#pools);

  /** The object of that actor, if it wants `wanted` served still, and no object wants, or has, `given`; else null. */
  makesRoom(id: ActorId, wanted: Address, given: Address): ObjectRef | null {
    const [object, asked] = [this.#pools.get(id), this.#claims.asked(this.#pools)];
    return object && !object.deleting && !isHalted(object) && asked.has(wanted) && !asked.has(given) ? object.ref : null;
  }

  /** A RoutedIP is deleted, and its class says that the address stays which it has got. Of one that went without our leave only the records of whoever leads tell. */
  retains(id: ActorId, address: Address): boolean {
    const object = this.#pools.get(id);
    if (object?.ref.kind === 'RoutedIP' && object.deleting && boundAddress(object.status) === address)
      return reclaimOf(this.policies.factOf(object)) === 'Retain';
    const { ref, spec, exposed } = this.#poolOf(id) ?? {};
    const source = spec?.exposes?.source;
    if (!ref || !source || object?.ref.uid === ref.uid || exposed?.bound !== address) return false;
    return this.policies.reclaimBy(source, ref.namespace) === 'Retain';
  }

  /** The same, with where it is as far as the nodes of the cluster tell. */
  placed(observed: ObservedAddress): ObservedAddress {
    const { providerID, place } = observed;
    if (providerID === null || place === 'Unsaid' || this.machines?.has(providerID)) return observed;
    return { ...observed, place: this.machines === null ? 'Unseen' : 'Outside' };
  }

  fact(pool: ActorId): ClusterFact | null {
    return this.#facts.get(pool) ?? null;
  }

  /** The addresses that the pool names and another object has, each with the name of that one. What it was restored with it names no more then. */
  conflicts(id: ActorId): Conflicts {
    const pool = this.#pools.get(id);
    const restored = pool ? restoredAddress(pool) : null;
    return Object.fromEntries(Object.entries(this.#ownership.conflicts(id)).filter(([key]) => !isNameKey(key) && key !== restored));
  }

  ownerOf(address: Address): ActorId | null {
    return this.#ownership.ownerOf(address);
  }

  /** Who has the name that its record set is to have; null when it has it itself. */
  nameOwner(pool: ActorId): string | null {
    const [owner = null] = Object.entries(this.#ownership.conflicts(pool)).flatMap(([key, name]) => (isNameKey(key) ? name : []));
    return owner === null || owner.includes(' ') ? owner : `FloatingIPPool ${owner}`;
  }

  /** Who has the address, or may have it, as people are told; null for nobody. To name an address that one's own account has not got is no claim. */
  claimantOf(address: Address): string | null {
    const id = this.ownerOf(address);
    const pool = id === null ? undefined : this.#pools.get(id);
    if (id === null || !pool) return null;
    // A provider that is misspelt has no list; that of the last valid spec has.
    const keys = [this.providerOf(pool), this.#poolOf(id)?.provider ?? ''];
    const has =
      ['Holds', 'Bound'].includes(this.#standingOf(id, address)) ||
      keys.some((key) => this.#lists.get(listKey(key, familyOf(address)))?.has(address));
    return has ? `${pool.ref.kind} ${pool.ref.namespace}/${pool.ref.name}` : null;
  }

  /** The key of the provider at which an address is being made for a RoutedIP that has a class of another one by now; null for none. */
  createsAt(id: ActorId): string | null {
    return this.#poolOf(id)?.acquiring.by?.provider ?? null;
  }

  /** By its records; undefined while there are none. */
  #poolOf(id: ActorId): PoolContext | undefined {
    return poolContextIn(this.#recordsOf(id), id);
  }

  /** What the spec of an object would be where the creation was begun that its status tells of; null when that is where it works now, or when Jobs did it that nobody knows any more. */
  createsBy(pool: PoolObject): PoolSpec | null {
    const key = creationAt(pool.status);
    if (key === null || (key === this.providerOf(pool) && this.#isOpenTo(pool))) return null;
    const cloud = cloudOf(key);
    const facts = registryFor(pool, key, this.#directory)[key] ?? registryFor(pool, cloud, this.#directory)[cloud];
    // What is missing now is waited for.
    const registry = facts ? { [cloud]: { ...facts, missing: null }, [key]: { ...facts, missing: null } } : {};
    if (pool.ref.kind === 'RoutedIP') {
      const { spec } = checkRoutedIP(this.policies.factAt(pool, key), registry);
      return spec && { ...spec, provider: key };
    }
    return checkPoolSpec({ ...(pool.spec as object), provider: key, dnsRecordSet: null }, registry).spec;
  }

  /** A term begins with these records: from now on they say who has what. Resolves once it is known of every object. */
  async goBy(recordsOf: ClaimsPorts['recordsOf'], clock: Parameters<typeof inSlices>[1], isOver: () => boolean): Promise<void> {
    this.#recordsOf = recordsOf;
    this.#lists.clear();
    await inSlices(this.#pools.values(), clock, isOver, (pool) => void this.put(pool));
  }

  /** The term of these records is over. */
  forget(recordsOf: ClaimsPorts['recordsOf']): void {
    if (this.#recordsOf === recordsOf) this.#recordsOf = () => null;
  }

  /** An account's list shows exactly these: none when it cannot be read any more, null when nobody can list it. Answers those whose conflicts changed by it. */
  listed(list: string, addresses: Iterable<Address> | null): readonly ActorId[] {
    const former = this.#lists.get(list);
    const present = addresses && new Set(addresses);
    this.#lists.set(list, present);
    if (former && present) return this.#ownership.anew(former.symmetricDifference(present));
    return former === present ? [] : this.#ownership.anew(this.#ownership.keysOf(this.#byProvider.membersOf(accountOfList(list))));
  }

  /** Answers the other pools whose conflicts changed by it. */
  put(pool: PoolObject): readonly ActorId[] {
    const id = actorOf(pool.ref);
    const former = this.#pools.get(id);
    // A fact of a former object, or of watches that ended when the selectors changed, may be out of date: the present watches tell it anew.
    if (former?.ref.uid !== pool.ref.uid || matchOf(former) !== matchOf(pool)) this.#facts.delete(id);
    this.#pools.set(id, pool);
    this.#claims.anew();
    this.#byPolicy.set(id, pool.ref.kind === 'RoutedIP' ? this.policies.askedBy(pool) : null);
    this.#noteProvider(id, pool);
    this.#byNamespace.set(id, pool.ref.namespace);
    return this.#ownership.put(id, pool, this.#claims.keysOf(id, pool));
  }

  #noteProvider(id: ActorId, pool: PoolObject): void {
    this.#byProvider.set(id, this.#isOpenTo(pool) ? this.providerOf(pool) : '');
  }

  /** Forgets a pool, unless another one bears its name by now. */
  remove(ref: ObjectRef): readonly ActorId[] {
    const id = actorOf(ref);
    if (this.#pools.get(id)?.ref.uid !== ref.uid) return [];
    this.#pools.delete(id);
    this.#claims.anew();
    this.#byProvider.set(id, null);
    this.#byNamespace.set(id, null);
    this.#byPolicy.set(id, null);
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

  /** Answers those that name one of these classes or issuers, valid or not. Each is to be put once more: who has what may rest on what these say now. */
  policiesChanged(policies: readonly PoolObject[]): ReadonlySet<ActorId> {
    const changed = [...policies, ...this.policies.confinedBy(policies)];
    const names = new Set(changed.flatMap((policy) => this.policies.askedAs(policy)));
    const concerned = new Set([...names].flatMap((name) => [...this.#byPolicy.membersOf(name)]));
    for (const id of concerned) {
      const pool = this.#pools.get(id);
      if (pool) this.#noteProvider(id, pool);
    }
    return concerned;
  }

  #standingOf(id: ActorId, key: Key): Standing {
    const pool = this.#pools.get(id);
    return pool ? this.#claims.standingOf(id, pool, key) : 'Barred';
  }
}

/** What has to be watched for an object. */
const matchOf = ({ ref, spec }: PoolObject): string =>
  ref.kind === 'RoutedIP'
    ? JSON.stringify(serviceOf(ref.namespace, spec))
    : JSON.stringify(((spec ?? {}) as { readonly match?: unknown }).match ?? null);

/** `"true"`: an address that we did not make is deleted, too, where the policy deletes. */
const DELETE_ADOPTED = 'routedip.io/delete-adopted';
/** On a FloatingIPPool: `unassigned` leaves addresses where they are that it lists and that are on machines outside of this cluster. */
const ADOPT = 'routedip.io/adopt';
/** The pool asks for that. What it does not understand is not to have it take more. */
const isCareful = ({ marks }: PoolObject): boolean => (marks?.annotations[ADOPT] ?? 'any') !== 'any';
/** `"true"`: the RoutedIP goes at once, whatever stays at the provider. */
export const FORCE_RELEASE = 'routedip.io/force-release';

/** What people ask for by annotations; null for nothing. */
function marksOn({ deleting, marks }: PoolObject): Marks | null {
  const { [PAUSED]: paused, [MOVE_TO]: moveTo, [UNASSIGNED]: unassigned } = marks?.annotations ?? {};
  const asked = Object.entries({ paused, moveTo, unassigned }).filter(([, value]) => value !== undefined);
  return asked.length === 0 ? null : { ...Object.fromEntries(asked), ...(deleting && { deleting }) };
}

/** A RoutedIP that is deleted is released now: not while it is paused, unless somebody wants it gone at all costs. */
export const isReleased = (object: PoolObject): boolean => (object.deleting && !isHalted(object)) || isForced(object);

/** It is to be let go at once, without another call. */
export const isForced = ({ deleting, marks }: PoolObject): boolean => deleting && marks?.annotations[FORCE_RELEASE] === 'true';

/** Somebody has paused it. */
export const isHalted = ({ marks }: PoolObject): boolean => marks?.annotations[PAUSED] === 'true';
