import { ProviderError } from '../../actors/ports/errors.ts';
import { familyOf, parseAddress } from '../../machines/model/address.ts';
import type { DNSRecord, DNSZone } from '../../machines/model/types.ts';

interface Zone {
  readonly name: string;
  readonly records: Map<string, DNSRecord>;
}

const MIN_TTL_SECONDS = 30;
const MAX_TTL_SECONDS = 86_400;

/** The zones of a cloud account in memory. Two records may be identical, as at DigitalOcean. @throws ProviderError like a real provider. */
export class MemoryZones {
  /** By name and by id. */
  readonly #zones = new Map<string, Zone>();
  #made = 0;

  add(name: string, id: string): void {
    const zone: Zone = { name, records: new Map() };
    this.#zones.set(name, zone);
    this.#zones.set(id, zone);
  }

  /** A record created by another client: nothing is checked. Returns its id. */
  put(zone: string, record: Omit<DNSRecord, 'id'>): string {
    const { records } = this.#find(zone);
    this.#made += 1;
    const id = `record-${this.#made}`;
    records.set(id, { id, ...record });
    return id;
  }

  zone(nameOrId: string): DNSZone {
    const { name, records } = this.#find(nameOrId);
    return { name, records: [...records.values()].map((record) => ({ ...record, data: parseAddress(record.data) ?? record.data })) };
  }

  create(zone: string, record: Omit<DNSRecord, 'id'>): void {
    this.put(zone, accepted(record));
  }

  update(zone: string, record: DNSRecord): void {
    const { records } = this.#find(zone);
    if (!records.has(record.id)) throw notFound(`record ${record.id} of ${zone}`);
    records.set(record.id, accepted(record));
  }

  delete(zone: string, id: string): void {
    this.#zones.get(canonical(zone))?.records.delete(id);
  }

  #find(nameOrId: string): Zone {
    const zone = this.#zones.get(canonical(nameOrId));
    if (zone === undefined) throw notFound(`zone ${nameOrId}`);
    return zone;
  }
}

const canonical = (nameOrId: string): string => nameOrId.replace(/\.$/, '').toLowerCase();

const notFound = (what: string): ProviderError => new ProviderError('NotFound', `${what}: not found`);

/** The record as stored: written records are never proxied. */
function accepted<R extends Omit<DNSRecord, 'id'>>(record: R): R {
  const { type, name, data, ttlSeconds } = record;
  const address = parseAddress(data);
  const family = type === 'A' ? 4 : type === 'AAAA' ? 6 : null;
  if (family !== null && (address === null || familyOf(address) !== family)) {
    throw new ProviderError('Invalid', `record ${type} ${name}: ${data} is no IPv${family} address`);
  }
  if (ttlSeconds < MIN_TTL_SECONDS || ttlSeconds > MAX_TTL_SECONDS) {
    throw new ProviderError(
      'Invalid',
      `record ${type} ${name}: a TTL is ${MIN_TTL_SECONDS} to ${MAX_TTL_SECONDS} seconds, not ${ttlSeconds}`,
    );
  }
  return { ...record, proxied: false };
}
