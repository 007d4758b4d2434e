import { ProviderError } from '../../actors/ports/errors.ts';
import type { Call, Provider } from '../../actors/ports/provider.ts';
import { parseAddress } from '../../machines/model/address.ts';
import type { DNSRecord, Fields } from '../../machines/model/types.ts';
import { integer, text } from '../http/read.ts';
import { identifier, isIdentifier } from './read.ts';
import type { RequestLayer, Requests } from './requests.ts';
import { createZones, type FoundZone } from './zones.ts';

export type DNSVerbs = Pick<Provider, 'listDNSRecords' | 'createDNSRecord' | 'updateDNSRecord' | 'deleteDNSRecord'>;

/** The API allows up to 5000; a page of 1000 is half a megabyte. */
const recordsPerPage = 1000;

/** Record names are fully qualified here, and zones have ids. */
export function dnsVerbs(layer: RequestLayer): DNSVerbs {
  const zones = createZones();
  const inZone = <T>(zone: string, what: string, call: Call, run: (requests: Requests, found: FoundZone) => Promise<T>): Promise<T> =>
    layer.verb(what, call, async (requests) => {
      const found = await zones.find(requests, zone);
      try {
        return await run(requests, found);
      } catch (error) {
        if (isNotFound(error)) zones.forget(zone);
        throw error;
      }
    });
  return {
    listDNSRecords: (zone, call) =>
      inZone(zone, `list the DNS records of ${zone}`, call, async (requests, { id, name }) => {
        const listed = await requests.listAll(`/zones/${id}/dns_records`, recordsPerPage);
        return { name, records: listed.map((record) => observedRecord(record, name)) };
      }),
    createDNSRecord: (zone, record, call) =>
      inZone(zone, `create DNS record ${titleOf(record, zone)}`, call, (requests, { id, name }) =>
        requests.write('POST', `/zones/${id}/dns_records`, requestOf(record, name)),
      ),
    // PATCH keeps comments and tags that users added to the record.
    updateDNSRecord: (zone, record, call) =>
      inZone(zone, `update DNS record ${titleOf(record, zone)}`, call, (requests, { id, name }) =>
        requests.write('PATCH', `/zones/${id}/dns_records/${recordId(record.id)}`, requestOf(record, name)),
      ),
    deleteDNSRecord: async (zone, record, call) => {
      try {
        await inZone(zone, `delete DNS record ${record} of ${zone}`, call, (requests, { id }) =>
          requests.write('DELETE', `/zones/${id}/dns_records/${recordId(record)}`),
        );
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    },
  };
}

const isNotFound = (error: unknown): boolean => error instanceof ProviderError && error.kind === 'NotFound';

const titleOf = ({ type, name, data }: Omit<DNSRecord, 'id'>, zone: string): string => `${type} ${name} ${data} in ${zone}`;

const requestOf = ({ type, name, data, ttlSeconds }: Omit<DNSRecord, 'id'>, zone: string): Fields => ({
  type,
  name: name === '@' ? zone : `${name}.${zone}`,
  content: data,
  ttl: ttlSeconds,
  proxied: false,
});

/** @throws ProviderError Invalid for an invalid id */
function recordId(id: string): string {
  if (!isIdentifier(id)) throw new ProviderError('Invalid', `${id} is no id of a DNS record`);
  return id;
}

function observedRecord(record: Fields, zone: string): DNSRecord {
  const name = text(record.name, 'record name').toLowerCase();
  const type = text(record.type, 'record type');
  const content = text(record.content ?? '', 'record content');
  return {
    id: identifier(record.id, 'record id'),
    type,
    name: name === zone ? '@' : name.endsWith(`.${zone}`) ? name.slice(0, -zone.length - 1) : name,
    // An IPv6 address has many spellings.
    data: type === 'AAAA' ? (parseAddress(content) ?? content) : content,
    ttlSeconds: integer(record.ttl, 'record ttl'),
    proxied: record.proxied === true,
  };
}
