import type { AddressContext } from '../../machines/address/context.ts';
import type { RecordSetContext } from '../../machines/dns/record-set.ts';
import { isNameKey, nameKey } from '../../machines/dns/zone.ts';
import { addressActor, recordSetActor } from '../../machines/model/actor-id.ts';
import { familyOf, parseAddress } from '../../machines/model/address.ts';
import { asRecord, InvalidSpec } from '../../machines/model/parse.ts';
import type { Evidence, Standing } from '../../machines/model/precedence.ts';
import { isPrivate } from '../../machines/model/provider-key.ts';
import { type ActorId, ADDRESS, type Address, type Family } from '../../machines/model/types.ts';
import { listed, type PoolContext } from '../../machines/pool/context.ts';
import { refusedNow } from '../../machines/spec/operator-credentials.ts';
import { checkPoolSpec } from '../../machines/spec/pool.ts';
import type { ProviderRegistry } from '../../machines/spec/providers.ts';
import { checkRecordSetSpec } from '../../machines/spec/record-set.ts';
import { recordTarget } from '../../machines/spec/record-target.ts';
import { checkRoutedIP } from '../../machines/spec/routedip.ts';
import { keptUnnamed, shownAddresses, showsName, standingTo, standingToName } from '../../machines/status/holdings.ts';
import { boundAddress } from '../../machines/status/restore-routedip.ts';
import type { PoolObject } from '../ports/cluster.ts';
import type { ProviderDirectory } from '../ports/directory.ts';
import type { ActorRecord } from '../ports/records.ts';
import type { ObservedPolicies } from './class-cache.ts';
import type { Key } from './ownership.ts';

export interface ClaimsPorts {
  readonly policies: ObservedPolicies;
  readonly providers: Pick<ProviderDirectory, 'all'>;
  /** Records of an object's cell; null while this process does not lead, or when the cell has none. */
  readonly recordsOf: (cell: ActorId) => ReadonlyMap<ActorId, ActorRecord> | null;
  /** Standing towards an awaited address of the objects that use the provider with this key; `Asks` until the first attempt to read its account has ended, if one will be made. */
  readonly evidenceOf: (key: string, address: Address) => Evidence;
}

type Records = ReadonlyMap<ActorId, ActorRecord>;

/** What objects claim, and their standing to each claim. The operator's records say what an object has; its status counts only while it has no records. */
export class Claims {
  readonly #ports: ClaimsPorts;
  /** Validity of each object checked since `anew`: it may be queried for each of a thousand addresses. */
  #valid = new Map<PoolObject, boolean>();

  constructor(ports: ClaimsPorts) {
    this.#ports = ports;
  }

  /** Drops cached results: their inputs may have changed. */
  anew(): void {
    this.#valid = new Map();
  }

  /** The key of the provider that an object works with, valid or not; empty for none. */
  providerOf(object: PoolObject): string {
    return object.ref.kind === 'RoutedIP' ? this.#ports.policies.providerOf(object) : namedProvider(object);
  }

  /** The keys that the spec names, plus those of the last valid spec while it is invalid; for a RoutedIP always its bound address. */
  keysOf(id: ActorId, object: PoolObject): ReadonlySet<Key> {
    const records = this.#recordsOf(id, object);
    const bound = boundTo(id, object, records);
    const isOfGroup = this.#ports.policies.takesFromGroup(object);
    const asked = isOfGroup ? [] : [...addressesIn(object), ...namesIn(object), ...[restoredAddress(object) ?? []].flat()];
    const pool = poolIn(id, records);
    const keys = new Set([...asked, ...(bound ? [bound] : []), ...(pool ? keptUnnamed(pool) : [])]);
    const former = formerKeys(id, object, records).filter((key) => !keys.has(key));
    return former.length === 0 || this.#isValid(id, object, records) ? keys : keys.union(new Set(former));
  }

  /** All keys that these objects claim. */
  asked(objects: ReadonlyMap<ActorId, PoolObject>): ReadonlySet<Key> {
    this.anew();
    return new Set([...objects].flatMap(([id, object]) => [...this.keysOf(id, object)]));
  }

  standingOf(id: ActorId, object: PoolObject, key: Key): Standing {
    const standing = this.#wishOf(id, object, key);
    if (standing !== 'Asks' || isNameKey(key)) return standing;
    const provider = this.#accountOf(id, object);
    // Anyone who may edit the object may set that annotation: it must not win over an object that asks for the address.
    const isWeak = provider === '' || restoredAddress(object) === key;
    return isWeak ? 'Unlisted' : this.#ports.evidenceOf(provider, key as Address);
  }

  /** An edit that makes an object invalid does not move it to another account: it keeps asking at the former one. */
  #accountOf(id: ActorId, object: PoolObject): string {
    const records = this.#recordsOf(id, object);
    const former = poolIn(id, records)?.spec?.provider;
    return former === undefined || this.#isValid(id, object, records) ? this.providerOf(object) : former;
  }

  /** Standing regardless of what its account lists. */
  #wishOf(id: ActorId, object: PoolObject, key: Key): Standing {
    const records = this.#recordsOf(id, object);
    const recorded = records && (isNameKey(key) ? nameIn(id, records, key) : addressIn(id, records, key as Address));
    // Otherwise an address that it no longer names would be withheld from others for as long as its spec is invalid.
    const isLeft = recorded === 'Asks' && !addressesIn(object).includes(key as Address) && !this.#isValid(id, object, records);
    if (recorded !== null) return isLeft ? 'Barred' : recorded;
    const bound = boundTo(id, object, records);
    if (isNameKey(key) ? !setIn(id, records)?.revision && showsName(object) : isShown(object, records, key as Address)) return 'Bound';
    const isMoved = bound !== null && bound !== key;
    return object.deleting || isMoved || !this.#isValid(id, object, records) ? 'Barred' : 'Asks';
  }

  /** Null when the records belong to another object of the same name. */
  #recordsOf(id: ActorId, { ref }: PoolObject): Records | null {
    const records = this.#ports.recordsOf(id);
    const context = records?.get(id)?.snapshot.context as { readonly ref?: { readonly uid?: string } } | undefined;
    return context?.ref?.uid === ref.uid ? records : null;
  }

  #isValid(id: ActorId, object: PoolObject, records: Records | null): boolean {
    const isValid = this.#valid.get(object) ?? this.#check(id, object, records);
    this.#valid.set(object, isValid);
    return isValid;
  }

  #check(id: ActorId, object: PoolObject, records: Records | null): boolean {
    const { policies, providers } = this.#ports;
    const { kind } = object.ref;
    const provider = this.providerOf(object);
    // Whether the provider is usable is known once its Secret has been read.
    if (providers.all[provider]?.unread) return true;
    const registry = registryFor(object, provider, providers);
    const served = contextOf<Pick<PoolContext, 'spec' | 'error'>>(records, id);
    const isServed = served !== null && served.spec !== null && served.error === null;
    if (kind !== 'RoutedIP' && refusedNow(policies.refusalOfPool(object) ?? undefined, isServed)) return false;
    if (kind === 'NodeDNSRecordSet') return checkRecordSetSpec(object.spec, registry).error === null;
    if (kind !== 'RoutedIP') return checkPoolSpec(object.spec, registry).error === null;
    const checked = checkRoutedIP(policies.factOf(object), registry);
    return checked.error === null || (checked.keeps !== null && isServed);
  }
}

/** The providers that the object may name: for a RoutedIP that of its class or issuer, else all public ones. */
export const registryFor = ({ ref }: PoolObject, named: string, { all }: Pick<ProviderDirectory, 'all'>): ProviderRegistry => {
  const keys = ref.kind === 'RoutedIP' ? [named] : Object.keys(all).filter((key) => !isPrivate(key));
  return Object.fromEntries(keys.flatMap((key) => (Object.hasOwn(all, key) && all[key] ? [[key, all[key].facts]] : [])));
};

const namedProvider = ({ spec }: PoolObject): string => {
  const { provider } = (spec ?? {}) as { readonly provider?: unknown };
  return typeof provider === 'string' && !isPrivate(provider) ? provider : '';
};

const contextOf = <T>(records: Records | null, actor: ActorId): T | null => {
  const record = records?.get(actor);
  return record ? (record.snapshot.context as unknown as T) : null;
};

const poolIn = (id: ActorId, records: Records | null): PoolContext | null =>
  records?.get(id)?.chart === 'pool' ? contextOf<PoolContext>(records, id) : null;

/** The record set of a NodeDNSRecordSet or of a pool; null before it exists. */
const setIn = (id: ActorId, records: Records | null): RecordSetContext | null =>
  contextOf(records, poolIn(id, records) ? recordSetActor(id) : id);

function addressIn(id: ActorId, records: Records, address: Address): Standing | null {
  const pool = poolIn(id, records);
  return pool && standingTo(pool, contextOf<AddressContext>(records, addressActor(id, address)) ?? undefined, address);
}

function nameIn(id: ActorId, records: Records, key: Key): Standing | null {
  const set = setIn(id, records);
  return set && standingToName(set, key);
}

/** Without records, the status decides. */
const isShown = ({ ref, status }: PoolObject, records: Records | null, address: Address): boolean =>
  records === null && (ref.kind === 'RoutedIP' ? boundAddress(status) === address : shownAddresses(status).includes(address));

/** The address that a RoutedIP is bound to. */
const boundTo = (id: ActorId, { ref, status }: PoolObject, records: Records | null): Address | null => {
  if (ref.kind !== 'RoutedIP') return null;
  // The status shows it before it is recorded, and the object may be observed in between.
  return (records && poolIn(id, records)?.exposed?.bound) ?? boundAddress(status);
};

/** What the last valid spec named, as far as is known. */
function formerKeys(id: ActorId, object: PoolObject, records: Records | null): readonly Key[] {
  const pool = poolIn(id, records);
  const target = pool ? pool.spec?.records : setIn(id, records)?.target;
  const names = target ? [nameKey(target)] : [];
  if (object.ref.kind === 'RoutedIP') return pool ? listed(pool) : [];
  const shown = pool ? Object.entries(pool.remembered).flatMap(([address, entry]) => (entry.shown ? address : [])) : [];
  return [...(pool ? [...listed(pool), ...shown] : shownAddresses(object.status)), ...names];
}

/** The former address, by its annotation, of a RoutedIP restored without its status; null for none, or when the spec names one. */
export function restoredAddress(object: PoolObject): Address | null {
  const { ref, spec, status, marks } = object;
  if (ref.kind !== 'RoutedIP' || boundAddress(status) !== null || boundAddress(spec) !== null) return null;
  const address = parseAddress(marks?.annotations[ADDRESS] ?? '');
  return address && familyOf(address) === 4 ? address : null;
}

/** IP family of the addresses that an object's spec names. */
export const familyIn = (object: PoolObject): Family => (addressesIn(object).some((address) => familyOf(address) === 6) ? 6 : 4);

/** The addresses that the spec of an object names. */
export function addressesIn({ ref, spec }: PoolObject): readonly Address[] {
  if (ref.kind === 'RoutedIP') return [boundAddress(spec) ?? []].flat();
  const { ips } = (spec ?? {}) as { readonly ips?: unknown };
  if (!Array.isArray(ips)) return [];
  return ips.flatMap((text: unknown) => (typeof text === 'string' ? (parseAddress(text) ?? []) : []));
}

const DEFAULT_PROVIDER = 'digitalocean';

/** The desired DNS name of a pool's record set or of a NodeDNSRecordSet. */
function namesIn({ ref, spec }: PoolObject): readonly Key[] {
  const { dnsRecordSet, provider } = (spec ?? {}) as { readonly dnsRecordSet?: unknown; readonly provider?: unknown };
  if (ref.kind === 'RoutedIP' || !dnsRecordSet) return [];
  try {
    const set = asRecord(dnsRecordSet, 'spec.dnsRecordSet');
    const named = [set.provider, provider].find((each): each is string => typeof each === 'string' && each !== '');
    return [nameKey(recordTarget(set, named ?? (ref.kind === 'NodeDNSRecordSet' ? DEFAULT_PROVIDER : '')))];
  } catch (error) {
    if (error instanceof InvalidSpec) return [];
    throw error;
  }
}

/** Addresses that other objects list, ask for or have, as watches show them. */
export function namedBeside(id: ActorId, objects: ReadonlyMap<ActorId, PoolObject>): ReadonlySet<Address> {
  const others = [...objects].filter(([each]) => each !== id);
  return new Set(others.flatMap(([, object]) => [...addressesIn(object), boundAddress(object.status) ?? []].flat()));
}
