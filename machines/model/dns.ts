import { familyOf, parseAddress } from './address.ts';
import type { Address, DNSRecord, DNSZone } from './types.ts';

/** Where a record set is published. */
export interface RecordTarget {
  readonly provider: string;
  /** In lower case, without a final dot; the zone's id where the provider has ids. */
  readonly zone: string;
  /** As the user wrote it: relative, absolute, or `@`. */
  readonly recordName: string;
  readonly ttlSeconds: number;
}

/** What a record set should hold. */
export interface Records {
  readonly recordName: string;
  readonly ttlSeconds: number;
  readonly addresses: readonly Address[];
}

export type RecordStep =
  | { readonly kind: 'update'; readonly record: DNSRecord }
  | { readonly kind: 'create'; readonly record: Omit<DNSRecord, 'id'> }
  | { readonly kind: 'delete'; readonly id: string };

/** The steps, in this order; or why nothing may be touched. */
export type RecordPlan =
  | { readonly steps: readonly RecordStep[]; readonly refusal: null }
  | { readonly steps: null; readonly refusal: { readonly why: 'OutsideZone' | 'Conflict'; readonly message: string } };

/** The form in which zones are compared. */
export const canonicalZone = (zone: string): string => zone.trim().replace(/\.$/, '').toLowerCase();

/** `recordName` relative to the zone, in lower case, `@` for the zone itself. Accepts a relative name, an absolute one with or without a final dot, or `@`; a name that ends in
 *  the zone's counts as absolute. Null for a name with a final dot that lies outside the zone. */
export function relativeName(recordName: string, zoneName: string): string | null {
  const zone = canonicalZone(zoneName);
  const name = canonicalZone(recordName);
  if (name === '@' || name === zone) return '@';
  if (name.endsWith(`.${zone}`)) return name.slice(0, -zone.length - 1);
  return recordName.trim().endsWith('.') ? null : name;
}

/** The full name, for users and metrics. Where the zone is given by its id, only `recordName` is known. */
export function fullName({ recordName, zone }: Pick<RecordTarget, 'recordName' | 'zone'>): string {
  const relative = relativeName(recordName, zone);
  if (relative === null) return canonicalZone(recordName);
  if (relative === '@') return zone;
  return zone.includes('.') ? `${relative}.${zone}` : relative;
}

/** The steps that make the A and AAAA records at the set's name exactly its addresses. Correct records stay and get their TTL, never proxied; then surplus records are changed
 *  into missing ones before any is created, and remaining surplus is deleted last: the name never loses a correct answer on the way, and is never without one. An empty set
 *  plans nothing. A CNAME at the name is a conflict: DNS allows no other records beside it. Same plan for any order of the input. */
export function planRecordSet(zone: DNSZone, set: Records): RecordPlan {
  const name = relativeName(set.recordName, zone.name);
  if (name === null) return { steps: null, refusal: { why: 'OutsideZone', message: `${set.recordName} is not in zone ${zone.name}` } };
  if (set.addresses.length === 0) return { steps: [], refusal: null };
  const here = zone.records.filter((record) => record.name === name).sort(byId);
  if (here.some(({ type }) => type === 'CNAME')) {
    const title = fullName({ recordName: name, zone: zone.name });
    return { steps: null, refusal: { why: 'Conflict', message: `a CNAME record stands at ${title}: remove it, or use another name` } };
  }
  const wanted = [...new Set(set.addresses)].sort();
  const families = ([4, 6] as const).map((family) => {
    const addresses = wanted.filter((address) => familyOf(address) === family);
    return { isWanted: addresses.length > 0, ...planFamily(TYPES[family], addresses, here, { name, ttlSeconds: set.ttlSeconds }) };
  });
  // A family without wanted addresses goes last.
  families.sort((a, b) => Number(b.isWanted) - Number(a.isWanted));
  const inOrder = [
    families.flatMap(({ changes }) => changes),
    families.flatMap(({ repairs }) => repairs),
    families.flatMap(({ creations }) => creations),
    families.flatMap(({ deletions }) => deletions),
  ];
  return { steps: inOrder.flat(), refusal: null };
}

const TYPES = { 4: 'A', 6: 'AAAA' } as const;

const byId = (a: DNSRecord, b: DNSRecord): number => (a.id < b.id ? -1 : 1);

interface FamilyPlan {
  /** Surplus records that become missing ones. */
  readonly changes: readonly RecordStep[];
  /** Correct addresses with a wrong TTL, or hidden behind the provider's own. */
  readonly repairs: readonly RecordStep[];
  readonly creations: readonly RecordStep[];
  readonly deletions: readonly RecordStep[];
}

function planFamily(
  type: string,
  wanted: readonly Address[],
  here: readonly DNSRecord[],
  { name, ttlSeconds }: { readonly name: string; readonly ttlSeconds: number },
): FamilyPlan {
  const present = here.filter((record) => record.type === type);
  const isRight = (record: DNSRecord): boolean => record.ttlSeconds === ttlSeconds && !record.proxied;
  const kept = new Map<Address, DNSRecord>();
  for (const address of wanted) {
    const twins = present.filter(({ data }) => parseAddress(data) === address);
    // An unproxied record already gives the right answer, whatever its TTL.
    const best = twins.find(isRight) ?? twins.find(({ proxied }) => !proxied) ?? twins[0];
    if (best) kept.set(address, best);
  }
  const keptIds = new Set([...kept.values()].map(({ id }) => id));
  const surplus = present.filter(({ id }) => !keptIds.has(id));
  const missing = wanted.filter((address) => !kept.has(address));
  const right = (data: Address) => ({ type, name, data, ttlSeconds, proxied: false });
  return {
    changes: surplus.flatMap(({ id }, index): RecordStep[] => {
      const data = missing[index];
      return data === undefined ? [] : [{ kind: 'update', record: { id, ...right(data) } }];
    }),
    repairs: [...kept].flatMap(([address, record]): RecordStep[] =>
      isRight(record) ? [] : [{ kind: 'update', record: { id: record.id, ...right(address) } }],
    ),
    creations: missing.slice(surplus.length).map((address) => ({ kind: 'create', record: right(address) })),
    deletions: surplus.slice(missing.length).map(({ id }) => ({ kind: 'delete', id })),
  };
}
