import { ProviderError } from '../../actors/ports/errors.ts';
import { text } from '../http/read.ts';
import { identifier, isIdentifier } from './read.ts';
import type { Requests } from './requests.ts';

export interface FoundZone {
  readonly id: string;
  readonly name: string;
}

/** Zones by name or id, cached: id and name of a zone never change. */
export interface Zones {
  /** @throws ProviderError NotFound; Invalid when the name is ambiguous */
  find(requests: Requests, zone: string): Promise<FoundZone>;
  /** The zone is gone: another one may have its name now. */
  forget(zone: string): void;
}

const largestPage = 50;

export function createZones(): Zones {
  const known = new Map<string, FoundZone>();
  return {
    find: async (requests, zone) => {
      const wanted = canonical(zone);
      const found = known.get(wanted) ?? (isIdentifier(wanted) ? await byId(requests, wanted) : await byName(requests, wanted));
      known.set(wanted, found);
      return found;
    },
    forget: (zone) => void known.delete(canonical(zone)),
  };
}

const canonical = (zone: string): string => zone.replace(/\.$/, '').toLowerCase();

/** The same name may exist in several accounts; at most one of these zones is active. */
async function byName(requests: Requests, name: string): Promise<FoundZone> {
  const listed = await requests.listAll('/zones', largestPage, { name });
  const named = listed.filter((zone) => zone.name === name);
  const active = named.filter((zone) => zone.status === 'active');
  const candidates = active.length > 0 ? active : named;
  const [first, second] = candidates;
  if (first === undefined) throw new ProviderError('NotFound', `there is no zone ${name}, or the token may not see it`);
  if (second !== undefined) throw new ProviderError('Invalid', `${candidates.length} zones are named ${name}: give the id instead`);
  return { id: identifier(first.id, 'zone id'), name };
}

/** A DNS-only token may not read the zone, but the export of its records, which contains the name. */
async function byId(requests: Requests, id: string): Promise<FoundZone> {
  try {
    const found = await requests.get(`/zones/${id}`);
    return { id, name: canonical(text(Reflect.get(Object(found), 'name'), 'zone name')) };
  } catch (error) {
    if (!(error instanceof ProviderError) || error.kind !== 'Unauthorized') throw error;
    const name = /^;;\s*Domain:\s*(\S+)\s*$/m.exec(await requests.text(`/zones/${id}/dns_records/export`))?.[1];
    if (name === undefined) throw error;
    return { id, name: canonical(name) };
  }
}
