import { isIPv4, isIPv6 } from 'node:net';
import { type Fields, fieldsOf, integer, text } from '../http/body.ts';
import type { Cloud } from './cloud.ts';
import type { Domain, DomainRecord } from './model.ts';
import { conflict, notFound, unprocessable } from './refusal.ts';

const defaultTtl = 1800;
const minTtl = 30;
const recordTypes = new Set(['A', 'AAAA', 'CAA', 'CNAME', 'MX', 'NS', 'SOA', 'SRV', 'TXT']);
const nameServers = ['ns1.digitalocean.com', 'ns2.digitalocean.com', 'ns3.digitalocean.com'];

export function createDomain(cloud: Cloud, body: unknown): Domain {
  const fields = fieldsOf(body);
  const name = text(fields, 'name')?.toLowerCase() ?? '';
  if (!/^([a-z0-9_-]+\.)+[a-z]{2,}$/.test(name)) throw unprocessable('Name is invalid.');
  if (cloud.domains.has(name)) throw conflict(`The domain ${name} already exists.`);
  const domain: Domain = { name, ttl: defaultTtl, records: new Map() };
  place(cloud, domain, { type: 'SOA', name: '@', data: String(defaultTtl), ttl: defaultTtl });
  for (const data of nameServers) place(cloud, domain, { type: 'NS', name: '@', data, ttl: defaultTtl });
  const apex = text(fields, 'ip_address');
  if (apex !== undefined) place(cloud, domain, { type: isIPv6(apex) ? 'AAAA' : 'A', name: '@', data: apex, ttl: defaultTtl });
  cloud.domains.set(name, domain);
  return domain;
}

type Essentials = Pick<DomainRecord, 'type' | 'name' | 'data' | 'ttl'> & Partial<DomainRecord>;

function place(cloud: Cloud, domain: Domain, wanted: Essentials): DomainRecord {
  const record: DomainRecord = { priority: null, port: null, weight: null, flags: null, tag: null, ...wanted, id: cloud.nextId() };
  domain.records.set(record.id, record);
  return record;
}

export function findDomain(cloud: Cloud, name: string): Domain {
  const domain = cloud.domains.get(name.toLowerCase());
  if (domain === undefined) throw notFound();
  return domain;
}

export function findRecord(domain: Domain, id: number): DomainRecord {
  const record = domain.records.get(id);
  if (record === undefined) throw notFound();
  return record;
}

export function createRecord(cloud: Cloud, domain: Domain, body: unknown): DomainRecord {
  const fields = fieldsOf(body);
  const type = text(fields, 'type');
  if (type === undefined || !recordTypes.has(type) || type === 'SOA') throw unprocessable('Type is not included in the list.');
  const name = text(fields, 'name');
  const data = text(fields, 'data');
  if (name === undefined) throw unprocessable("Name can't be blank.");
  if (data === undefined) throw unprocessable("Data can't be blank.");
  return place(cloud, domain, checked({ type, name: relative(name, domain), data, ttl: defaultTtl, ...numbers(fields) }));
}

/** PUT and PATCH alike set what the body names and leave the rest. */
export function updateRecord(domain: Domain, record: DomainRecord, body: unknown): DomainRecord {
  const fields = fieldsOf(body);
  const name = text(fields, 'name');
  const changed: DomainRecord = {
    ...record,
    ...numbers(fields),
    data: text(fields, 'data') ?? record.data,
    name: name === undefined ? record.name : relative(name, domain),
    type: text(fields, 'type') ?? record.type,
  };
  domain.records.set(record.id, checked(changed));
  return changed;
}

export function removeRecord(domain: Domain, record: DomainRecord): void {
  if (record.type === 'SOA') throw unprocessable('The SOA record cannot be deleted.');
  domain.records.delete(record.id);
}

function checked<R extends Essentials>(record: R): R {
  if (record.type === 'A' && !isIPv4(record.data)) throw unprocessable('Data needs to be an IPv4 address.');
  if (record.type === 'AAAA' && !isIPv6(record.data)) throw unprocessable('Data needs to be an IPv6 address.');
  if (record.ttl < minTtl) throw unprocessable(`TTL must be at least ${minTtl} seconds.`);
  return record;
}

/** Names are kept relative to the domain, `@` for the domain itself. A full name ends in a dot. */
function relative(name: string, domain: Domain): string {
  if (name === `${domain.name}.`) return '@';
  const suffix = `.${domain.name}.`;
  return name.endsWith(suffix) ? name.slice(0, -suffix.length) : name;
}

function numbers(fields: Fields): Partial<DomainRecord> {
  const ttl = integer(fields, 'ttl');
  const priority = integer(fields, 'priority');
  const port = integer(fields, 'port');
  const weight = integer(fields, 'weight');
  const flags = integer(fields, 'flags');
  const tag = text(fields, 'tag');
  return {
    ...(ttl === undefined ? {} : { ttl }),
    ...(priority === undefined ? {} : { priority }),
    ...(port === undefined ? {} : { port }),
    ...(weight === undefined ? {} : { weight }),
    ...(flags === undefined ? {} : { flags }),
    ...(tag === undefined ? {} : { tag }),
  };
}

export const fullName = (record: DomainRecord, domain: Domain): string =>
  record.name === '@' ? domain.name : `${record.name}.${domain.name}`;

/** The domain as the API shows it; `zone_file` is null right after creation. */
export function renderDomain(domain: Domain, fresh: 'fresh' | 'known'): Record<string, unknown> {
  const origin = [`$ORIGIN ${domain.name}.`, `$TTL ${domain.ttl}`];
  const lines = [...domain.records.values()].map((record) => zoneLine(record, domain));
  return { name: domain.name, ttl: domain.ttl, zone_file: fresh === 'fresh' ? null : `${[...origin, ...lines].join('\n')}\n` };
}

function zoneLine(record: DomainRecord, domain: Domain): string {
  if (record.type === 'SOA') {
    return `${domain.name}. IN SOA ns1.digitalocean.com. hostmaster.${domain.name}. 1 10800 3600 604800 ${record.ttl}`;
  }
  const target = record.type === 'NS' || record.type === 'CNAME' ? `${record.data}.` : record.data;
  return `${fullName(record, domain)}. ${record.ttl} IN ${record.type} ${target}`;
}
