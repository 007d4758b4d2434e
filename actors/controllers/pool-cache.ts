import { isNameKey } from '../../machines/dns/zone.ts';
import type { ClusterFact } from '../../machines/events.ts';
import { actorOf } from '../../machines/model/actor-id.ts';
import { familyOf } from '../../machines/model/address.ts';
import type { Evidence, Standing } from '../../machines/model/precedence.ts';
import { accountOfList, cloudOf, listKey } from '../../machines/model/provider-key.ts';
import { serviceOf } from '../../machines/model/service-ref.ts';
import type { Adoption, ObjectRef } from '../../machines/model/types.ts';
import { type ActorId, type Address, type BoundAddress, FINALIZER, fieldsOf, type ObservedAddress } from '../../machines/model/types.ts';
import type { Marks } from '../../machines/pool/annotations.ts';
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
import { DELETE_ADOPTED, isCareful, isHalted, marksOn } from './annotations.ts';
import { addressesIn, Claims, type ClaimsPorts, namedBeside, registryFor, restoredAddress } from './claims.ts';
import { ObservedPolicies } from './class-cache.ts';
import { classInUseBy } from './class-in-use.ts';
import { Groups } from './groups.ts';
import type { OperatorCredentials } from './operator-credentials.ts';
import { type Conflicts, type Key, Ownership } from './ownership.ts';
import { poolContextIn } from './record-view.ts';

/** The pools, the node record sets and their facts as last observed, on every replica: a new leader starts from here. */
export class ObservedPools {
  readonly policies: ObservedPolicies;
  /** Node names by the providerID of the machine behind each; null before they are observed. */
  machines: ReadonlyMap<string, string> | null = null;
  readonly #pools = new Map<ActorId, PoolObject>();
  readonly #facts = new Map<ActorId, ClusterFact>();
  readonly #hindrances = new Map<ActorId, string>();
  /** By provider key, the objects that work with it; by the empty one those that name none. */
  readonly #byProvider = new Groups();
  /** By the class or issuer that they name, observed or not. */
  readonly #byPolicy = new Groups();
  readonly #byNamespace = new Groups();
  readonly #directory: ClaimsPorts['providers'];
  readonly #claims: Claims;
  readonly #ownership = new Ownership((id, key) => this.#standingOf(id, key));
  /** Latest contents of each account list in this term, by name: empty when it could not be read, null when it cannot be listed, absent until the first attempt has ended. */
  readonly #lists = new Map<string, ReadonlySet<Address> | null>();
  #recordsOf: ClaimsPorts['recordsOf'] = () => null;

  /** Which listed addresses every FloatingIPPool may take; its annotation can only restrict that. */
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

  /** The key of the provider that an object works with. When the class of a RoutedIP is gone, no longer names a provider, or is not open to it, its address or running
   *  creation stays at the former provider. */
  accountOf(pool: PoolObject, context = this.#poolOf(actorOf(pool.ref))): string {
    const named = this.providerOf(pool);
    if (pool.ref.kind !== 'RoutedIP' || (named !== '' && this.#worksWithNamed(pool, context))) return named;
    const { bound, boundBy } = context?.exposed ?? bindingIn(pool.status);
    const begun = context ? asBegun(context).spec?.provider : creationAt(pool.status);
    // Statuses written by earlier versions do not say where it is: a release looks for it at the named provider.
    return begun ?? boundBy?.provider ?? (bound ? named : '');
  }

  /** Whether it works with that provider: its class or issuer may be closed to new objects of its namespace. */
  #worksWithNamed(pool: PoolObject, context: PoolContext | undefined): boolean {
    return this.#isOpenTo(pool) || isServedBy(context ?? { spec: null, exposed: bindingIn(pool.status) }, this.policies.factOf(pool));
  }

  #isOpenTo(pool: PoolObject): boolean {
    return pool.ref.kind !== 'RoutedIP' || this.policies.isOpenTo(pool);
  }

  /** The objects that name the provider of this key; for the empty one those that name none, or may not use theirs. */
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

  /** What its cell receives about the object itself. `mayRestore`: its annotation may name its address, since the ledger retains none. */
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

  /** A RoutedIP restored without its status gets its former address as long as its account has that, no other object asks for it, and it may be adopted. Else a new one is
   *  created. */
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

  /** A RoutedIP that has no address and names none, while its class says `Retain`: under `Delete` an address that still exists may be about to go. */
  mayReuse(id: ActorId, pool: PoolObject): boolean {
    if (pool.ref.kind !== 'RoutedIP' || addressesIn(pool).length > 0 || this.policies.takesFromGroup(pool)) return false;
    const bound = this.#poolOf(id)?.exposed?.bound ?? boundAddress(pool.status);
    return bound === null && reclaimOf(this.policies.factOf(pool)) === 'Retain';
  }

  /** A deleted RoutedIP that names nothing that may serve it is released by the class or issuer that serves it; without one, or once that is gone, by its last valid spec. */
  #factOf(pool: PoolObject): RoutedIPFact {
    const fact = this.policies.factOf(pool);
    if (!pool.deleting || (fact.policy && fact.barred === undefined)) return fact;
    const context = this.#poolOf(actorOf(pool.ref));
    const { boundBy } = context?.exposed ?? bindingIn(pool.status);
    const by = (context?.spec && classInUse(context.spec)) ?? boundBy;
    const isKnown = context?.spec ? fact.policy || !this.policies.isThere(pool, by) : fact.policy && this.#worksWithNamed(pool, context);
    return (!isKnown && by && this.policies.factBy(pool, by)) || fact;
  }

  /** Addresses that other objects list, ask for or have, as watches show them. */
  readonly namedBeside = (pool: ActorId): ReadonlySet<Address> => namedBeside(pool, this.#pools);

  /** The object of that actor if it still wants `wanted` and no object wants or has `given`; else null. */
  makesRoom(id: ActorId, wanted: Address, given: Address): ObjectRef | null {
    const [object, asked] = [this.#pools.get(id), this.#claims.asked(this.#pools)];
    return object && !object.deleting && !isHalted(object) && asked.has(wanted) && !asked.has(given) ? object.ref : null;
  }

  /** Whether the class of a deleted RoutedIP retains its address. For one that disappeared without our release, only the leader's records show it. */
  retains(id: ActorId, address: Address): boolean {
    const object = this.#pools.get(id);
    if (object?.ref.kind === 'RoutedIP' && object.deleting && boundAddress(object.status) === address)
      return reclaimOf(this.policies.factOf(object)) === 'Retain';
    const { ref, spec, exposed } = this.#poolOf(id) ?? {};
    const source = spec?.exposes?.source;
    if (!ref || !source || object?.ref.uid === ref.uid || exposed?.bound !== address) return false;
    return this.policies.reclaimBy(source, ref.namespace) === 'Retain';
  }

  /** The same, with its place as far as the nodes of the cluster show it. */
  placed(observed: ObservedAddress): ObservedAddress {
    const { providerID, place } = observed;
    if (providerID === null || place === 'Unsaid' || this.machines?.has(providerID)) return observed;
    return { ...observed, place: this.machines === null ? 'Unseen' : 'Outside' };
  }

  fact(pool: ActorId): ClusterFact | null {
    return this.#facts.get(pool) ?? null;
  }

  /** The addresses that the pool names and another object has, each with the name of that object. A restored address is excluded: it is no longer named then. */
  conflicts(id: ActorId): Conflicts {
    const pool = this.#pools.get(id);
    const restored = pool ? restoredAddress(pool) : null;
    return Object.fromEntries(Object.entries(this.#ownership.conflicts(id)).filter(([key]) => !isNameKey(key) && key !== restored));
  }

  ownerOf(address: Address): ActorId | null {
    return this.#ownership.ownerOf(address);
  }

  /** The object that has the DNS name its record set wants; null when it has it itself. */
  nameOwner(pool: ActorId): string | null {
    const [owner = null] = Object.entries(this.#ownership.conflicts(pool)).flatMap(([key, name]) => (isNameKey(key) ? name : []));
    return owner === null || owner.includes(' ') ? owner : `FloatingIPPool ${owner}`;
  }

  /** Display name of the object that has the address, or may have it; null for none. Naming an address that the object's own account does not have is no claim. */
  claimantOf(address: Address): string | null {
    const id = this.ownerOf(address);
    const pool = id === null ? undefined : this.#pools.get(id);
    if (id === null || !pool) return null;
    // A misspelt provider has no list; that of the last valid spec has.
    const keys = [this.providerOf(pool), this.#poolOf(id)?.provider ?? ''];
    const has =
      ['Holds', 'Bound'].includes(this.#standingOf(id, address)) ||
      keys.some((key) => this.#lists.get(listKey(key, familyOf(address)))?.has(address));
    return has ? `${pool.ref.kind} ${pool.ref.namespace}/${pool.ref.name}` : null;
  }

  /** The key of the provider at which an address is being created for a RoutedIP whose class uses another one by now; null for none. */
  createsAt(id: ActorId): string | null {
    return this.#poolOf(id)?.acquiring.by?.provider ?? null;
  }

  /** By its records; undefined while there are none. */
  #poolOf(id: ActorId): PoolContext | undefined {
    return poolContextIn(this.#recordsOf(id), id);
  }

  /** The spec of an object at the provider where the creation in its status was begun; null when that is its present one, or when unknown Jobs did it. */
  createsBy(pool: PoolObject): PoolSpec | null {
    const key = creationAt(pool.status);
    if (key === null || (key === this.providerOf(pool) && this.#isOpenTo(pool))) return null;
    const cloud = cloudOf(key);
    const facts = registryFor(pool, key, this.#directory)[key] ?? registryFor(pool, cloud, this.#directory)[cloud];
    // Missing credentials are waited for.
    const registry = facts ? { [cloud]: { ...facts, missing: null }, [key]: { ...facts, missing: null } } : {};
    if (pool.ref.kind === 'RoutedIP') {
      const { spec } = checkRoutedIP(this.policies.factAt(pool, key), registry);
      return spec && { ...spec, provider: key };
    }
    return checkPoolSpec({ ...(pool.spec as object), provider: key, dnsRecordSet: null }, registry).spec;
  }

  /** A term begins with these records: from now on they decide who has what. Resolves once that is known for every object. */
  async goBy(recordsOf: ClaimsPorts['recordsOf'], clock: Parameters<typeof inSlices>[1], isOver: () => boolean): Promise<void> {
    this.#recordsOf = recordsOf;
    this.#lists.clear();
    await inSlices(this.#pools.values(), clock, isOver, (pool) => void this.put(pool));
  }

  /** The term of these records is over. */
  forget(recordsOf: ClaimsPorts['recordsOf']): void {
    if (this.#recordsOf === recordsOf) this.#recordsOf = () => null;
  }

  /** An account's list shows exactly these: none when it can no longer be read, null when it cannot be listed. Returns those whose conflicts changed. */
  listed(list: string, addresses: Iterable<Address> | null): readonly ActorId[] {
    const former = this.#lists.get(list);
    const present = addresses && new Set(addresses);
    this.#lists.set(list, present);
    if (former && present) return this.#ownership.anew(former.symmetricDifference(present));
    return former === present ? [] : this.#ownership.anew(this.#ownership.keysOf(this.#byProvider.membersOf(accountOfList(list))));
  }

  /** Returns the other pools whose conflicts changed. */
  put(pool: PoolObject): readonly ActorId[] {
    const id = actorOf(pool.ref);
    const former = this.#pools.get(id);
    // A fact of a former object, or of watches that ended when the selectors changed, may be out of date: the present watches report it again.
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

  /** Forgets a pool, unless another one has taken its name. */
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

  /** The permission that is missing to watch what it selects; null for none. */
  hindrance(id: ActorId): string | null {
    return this.#hindrances.get(id) ?? null;
  }

  /** Returns those that name one of these classes or issuers, valid or not. Put each again: who has what may depend on what these say now. */
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
