import { isIPv4, isIPv6 } from 'node:net';
import { type Fields, fieldsOf, flag, integer, text } from '../http/body.ts';
import type { Account, Zone, ZoneRecord } from './model.ts';
import { cnameTaken, hostTaken, identicalRecord, invalid, invalidTtl, noRecord } from './refusal.ts';
import { isoTime } from './reply.ts';

const recordTypes = new Set(['A', 'AAAA', 'CAA', 'CNAME', 'HTTPS', 'MX', 'NS', 'PTR', 'SRV', 'SVCB', 'TXT']);
const proxiable = new Set(['A', 'AAAA', 'CNAME']);
const automaticTtl = 1;
const minTtl = 60;
const maxTtl = 86_400;

export function findRecord(zone: Zone, id: string): ZoneRecord {
  const record = zone.records.get(id);
  if (record === undefined) throw noRecord();
  return record;
}

export function createRecord(account: Account, zone: Zone, body: unknown): ZoneRecord {
  const at = account.now();
  return keep(zone, { ...wholeRecord(zone, fieldsOf(body)), id: account.nextId(), createdAt: at, modifiedAt: at });
}

/** PUT: what the body does not name goes back to what it is by default. */
export function replaceRecord(account: Account, zone: Zone, record: ZoneRecord, body: unknown): ZoneRecord {
  return keep(zone, { ...wholeRecord(zone, fieldsOf(body)), id: record.id, createdAt: record.createdAt, modifiedAt: account.now() });
}

/** PATCH: what the body does not name stays. */
export function changeRecord(account: Account, zone: Zone, record: ZoneRecord, body: unknown): ZoneRecord {
  return keep(zone, { ...record, ...given(zone, fieldsOf(body)), modifiedAt: account.now() });
}

type Given = { -readonly [K in Exclude<keyof ZoneRecord, 'id' | 'createdAt' | 'modifiedAt'>]: ZoneRecord[K] };

function wholeRecord(zone: Zone, fields: Fields): Given {
  const { type, name, content, ...rest } = given(zone, fields);
  if (type === undefined) throw invalid(9000, 'A DNS record needs a type.');
  if (name === undefined) throw invalid(9000, 'DNS name is invalid.');
  if (content === undefined) throw invalid(9002, 'A DNS record needs a content.');
  return { ttl: automaticTtl, proxied: false, comment: null, tags: [], ...rest, type, name, content };
}

function given(zone: Zone, fields: Fields): Partial<Given> {
  const record: Partial<Given> = {};
  const name = text(fields, 'name');
  if (name !== undefined) record.name = fullName(name, zone);
  const type = text(fields, 'type');
  if (type !== undefined) record.type = type;
  const content = text(fields, 'content');
  if (content !== undefined) record.content = content;
  const ttl = integer(fields, 'ttl');
  if (ttl !== undefined) record.ttl = ttl;
  const proxied = flag(fields, 'proxied');
  if (proxied !== undefined) record.proxied = proxied;
  const comment = text(fields, 'comment');
  if (comment !== undefined) record.comment = comment;
  const tags = texts(fields, 'tags');
  if (tags !== undefined) record.tags = tags;
  return record;
}

/** A name that does not end in the zone's name is taken as relative to it. */
function fullName(name: string, zone: Zone): string {
  const lower = name.toLowerCase();
  if (lower === '@' || lower === zone.name) return zone.name;
  return lower.endsWith(`.${zone.name}`) ? lower : `${lower}.${zone.name}`;
}

function keep(zone: Zone, record: ZoneRecord): ZoneRecord {
  refuseMalformed(record);
  refuseClash(zone, record);
  const kept = record.proxied ? { ...record, ttl: automaticTtl } : record;
  zone.records.set(kept.id, kept);
  return kept;
}

function refuseMalformed({ type, name, content, ttl, proxied }: ZoneRecord): void {
  if (!recordTypes.has(type)) throw invalid(9004, `${type} is no type of a DNS record.`);
  if (!/^(\*\.)?[\w-]+(\.[\w-]+)*$/.test(name) || name.length > 255) throw invalid(9000, 'DNS name is invalid.');
  if (type === 'A' && !isIPv4(content)) throw invalid(9005, 'Content for A record must be a valid IPv4 address.');
  if (type === 'AAAA' && !isIPv6(content)) throw invalid(9006, 'Content for AAAA record must be a valid IPv6 address.');
  if (ttl !== automaticTtl && (ttl < minTtl || ttl > maxTtl)) throw invalidTtl();
  if (proxied && !proxiable.has(type)) throw invalid(9004, 'This record type cannot be proxied.');
}

function refuseClash(zone: Zone, record: ZoneRecord): void {
  for (const other of zone.records.values()) {
    if (other.id === record.id || other.name !== record.name) continue;
    if (other.type === record.type && other.content === record.content) throw identicalRecord();
    if (record.type === 'CNAME' && proxiable.has(other.type)) throw hostTaken();
    if (proxiable.has(record.type) && other.type === 'CNAME') throw cnameTaken();
  }
}

export const renderRecord = (record: ZoneRecord): Record<string, unknown> => ({
  id: record.id,
  name: record.name,
  type: record.type,
  content: record.content,
  proxiable: proxiable.has(record.type),
  proxied: record.proxied,
  ttl: record.ttl,
  settings: {},
  meta: {},
  comment: record.comment,
  tags: record.tags,
  created_on: isoTime(record.createdAt),
  modified_on: isoTime(record.modifiedAt),
});

/** The zone in the format of BIND, headed by its name as the real export is. */
export function exportZone(zone: Zone, now: number): string {
  const head = [';;', `;; Domain:     ${zone.name}.`, `;; Exported:   ${isoTime(now)}`, ';;'];
  const soa = `${zone.name}\t3600\tIN\tSOA\tada.ns.cloudflare.com. dns.cloudflare.com. 1 10000 2400 604800 3600`;
  const lines = [...zone.records.values()].map(({ name, ttl, type, content }) => `${name}.\t${ttl}\tIN\t${type}\t${content}`);
  return `${[...head, soa, ...lines].join('\n')}\n`;
}

function texts(fields: Fields, name: string): string[] | undefined {
  const value = fields[name];
  return Array.isArray(value) ? value.map(String) : undefined;
}
