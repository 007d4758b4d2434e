import { ProviderError } from '../../actors/ports/errors.ts';
import type { Provider } from '../../actors/ports/provider.ts';
import { parseAddress } from '../../machines/model/address.ts';
import type { DNSRecord } from '../../machines/model/types.ts';
import { fields, integer, text } from '../http/read.ts';
import type { RequestLayer } from './gaps.ts';

type DNSVerbs = Pick<Provider, 'listDNSRecords' | 'createDNSRecord' | 'updateDNSRecord' | 'deleteDNSRecord'>;

/** TTL of a record without one of its own. */
const defaultTtlSeconds = 1800;

/** Zones have no ids here, and record names are kept relative to the zone. */
export function dnsVerbs({ verb, services, listAll }: RequestLayer): DNSVerbs {
  const { domainRecords } = services;
  return {
    listDNSRecords: (zone, call) =>
      verb(`list the DNS records of ${zone}`, call, async () => {
        const name = zoneName(zone);
        // The library lists only the first page.
        return { name, records: await listAll(`/domains/${name}/records`, 'domain_records', observedRecord) };
      }),
    createDNSRecord: (zone, record, call) =>
      verb(`create DNS record ${titleOf(record, zone)}`, call, async () => {
        await domainRecords.createDomainRecord(zoneName(zone), requestOf(record));
      }),
    updateDNSRecord: (zone, record, call) =>
      verb(`update DNS record ${titleOf(record, zone)}`, call, async () => {
        await domainRecords.updateDomainRecord(zoneName(zone), recordId(record.id), requestOf(record));
      }),
    deleteDNSRecord: (zone, id, call) =>
      verb(`delete DNS record ${id} of ${zone}`, call, () => unlessGone(domainRecords.deleteDomainRecord(zoneName(zone), recordId(id)))),
  };
}

const titleOf = ({ type, name, data }: Omit<DNSRecord, 'id'>, zone: string): string => `${type} ${name} ${data} in ${zone}`;

type RecordRequest = Parameters<RequestLayer['services']['domainRecords']['createDomainRecord']>[1];

/** The library's type lists fewer record types than there are. */
const requestOf = ({ type, name, data, ttlSeconds }: Omit<DNSRecord, 'id'>): RecordRequest =>
  ({ type, name, data, ttl: ttlSeconds }) as RecordRequest;

/** The name as used in paths. @throws ProviderError Invalid for an invalid zone name */
function zoneName(zone: string): string {
  const name = zone.replace(/\.$/, '').toLowerCase();
  if (!/^[\w-]+(\.[\w-]+)*$/.test(name)) throw new ProviderError('Invalid', `${zone} is no name of a zone`);
  return name;
}

function recordId(id: string): number {
  if (!/^\d{1,15}$/.test(id)) throw new ProviderError('Invalid', `${id} is no id of a DNS record`);
  return Number(id);
}

function observedRecord(value: unknown): DNSRecord {
  const found = fields(value, 'record');
  const type = text(found.type, 'record type');
  const data = text(found.data, 'record data');
  return {
    id: String(integer(found.id, 'record id')),
    type,
    name: text(found.name, 'record name').toLowerCase(),
    // An IPv6 address has many spellings.
    data: type === 'AAAA' ? (parseAddress(data) ?? data) : data,
    ttlSeconds: integer(found.ttl ?? defaultTtlSeconds, 'record ttl'),
    proxied: false,
  };
}

async function unlessGone(deletion: Promise<void>): Promise<void> {
  try {
    await deletion;
  } catch (error) {
    if (!(error instanceof ProviderError) || error.kind !== 'NotFound') throw error;
  }
}
