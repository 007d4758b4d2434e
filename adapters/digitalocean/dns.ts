import { ProviderError } from '../../actors/errors.ts';
import type { DNSRecordSet, Provider } from '../../actors/ports.ts';
import { familyOf } from '../../machines/address.ts';
import type { Address } from '../../machines/types.ts';
import type { RequestLayer } from './gaps.ts';
import { fields, integer, text } from './read.ts';

type RecordType = 'A' | 'AAAA';

export interface ExistingRecord {
  readonly id: number;
  readonly data: string;
  readonly ttl: number;
}

/** What is to be written, in this order: a name never resolves to less than before until the last step. */
export interface RecordPlan {
  readonly updates: readonly { readonly id: number; readonly data: string }[];
  readonly creates: readonly string[];
  readonly deletes: readonly number[];
}

/**
 * Makes the records exactly `wanted`: those that are right stay, surplus ones are changed to missing addresses, the rest is
 * created or deleted; a wrong TTL is an update. The same plan for any order of the input.
 */
export function planRecords(existing: readonly ExistingRecord[], wanted: readonly string[], ttlSeconds: number): RecordPlan {
  const kept = new Map<string, ExistingRecord>();
  const surplus: ExistingRecord[] = [];
  for (const record of existing.toSorted((a, b) => a.id - b.id)) {
    if (wanted.includes(record.data) && !kept.has(record.data)) kept.set(record.data, record);
    else surplus.push(record);
  }
  const missing = [...new Set(wanted)].filter((data) => !kept.has(data)).sort();
  const reused = surplus.slice(0, missing.length).map(({ id }, index) => ({ id, data: missing[index] ?? '' }));
  const retimed = [...kept.values()].filter(({ ttl }) => ttl !== ttlSeconds).map(({ id, data }) => ({ id, data }));
  return {
    updates: [...reused, ...retimed],
    creates: missing.slice(surplus.length),
    deletes: surplus.slice(missing.length).map(({ id }) => id),
  };
}

/** The name relative to the zone, as DigitalOcean keeps it; `@` for the zone itself. Takes relative names, full ones and `@`. */
export function relativeName(recordName: string, zone: string): string {
  const name = recordName.replace(/\.$/, '').toLowerCase();
  const origin = zone.replace(/\.$/, '').toLowerCase();
  if (name === '@' || name === '' || name === origin) return '@';
  return name.endsWith(`.${origin}`) ? name.slice(0, -origin.length - 1) : name;
}

export function dnsVerbs(layer: RequestLayer): Pick<Provider, 'ensureDNSRecordSet'> {
  return {
    ensureDNSRecordSet: (set, call) =>
      layer.verb(`set DNS ${set.recordName} in ${set.zone}`, call, async () => {
        // An empty set would make the name vanish, and resolvers keep that for the zone's negative TTL.
        if (set.addresses.length === 0) throw new ProviderError('Invalid', `${set.recordName}: a record set is never made empty`);
        for (const type of ['A', 'AAAA'] as const) {
          const addresses = set.addresses.filter((address) => typeOf(address) === type);
          if (addresses.length > 0) await ensure(layer, set, type, addresses);
        }
      }),
  };
}

const typeOf = (address: Address): RecordType => (familyOf(address) === 4 ? 'A' : 'AAAA');

async function ensure(layer: RequestLayer, set: DNSRecordSet, type: RecordType, addresses: readonly Address[]): Promise<void> {
  const zone = set.zone.replace(/\.$/, '');
  const name = relativeName(set.recordName, zone);
  const fullName = name === '@' ? zone : `${name}.${zone}`;
  // The library lists the first page only and cannot filter.
  const listed = await layer.listAll(`/domains/${encodeURIComponent(zone)}/records`, 'domain_records', { name: fullName, type });
  const plan = planRecords(listed.map(existingRecord), addresses, set.ttlSeconds);
  const { domainRecords } = layer.services;
  const record = (data: string) => ({ type, name, data, ttl: set.ttlSeconds });
  for (const { id, data } of plan.updates) await domainRecords.updateDomainRecord(zone, id, record(data));
  for (const data of plan.creates) await domainRecords.createDomainRecord(zone, record(data));
  for (const id of plan.deletes) await unlessGone(domainRecords.deleteDomainRecord(zone, id));
}

function existingRecord(value: unknown): ExistingRecord {
  const found = fields(value, 'record');
  return { id: integer(found.id, 'record id'), data: text(found.data, 'record data'), ttl: integer(found.ttl, 'record ttl') };
}

async function unlessGone(deletion: Promise<unknown>): Promise<void> {
  try {
    await deletion;
  } catch (error) {
    if (!(error instanceof ProviderError) || error.kind !== 'NotFound') throw error;
  }
}
