import type { Account, Zone } from './model.ts';
import { invalid, noRoute } from './refusal.ts';
import { isoTime } from './reply.ts';

export interface ZoneWish {
  readonly name: string;
  /** 32 hexadecimal digits; a new one when omitted. */
  readonly id?: string | undefined;
  readonly status?: Zone['status'] | undefined;
}

const idPattern = /^[0-9a-f]{32}$/;

/** Puts a zone into the account. Two zones may have one name, as when a second account has claimed it and is pending. */
export function placeZone(account: Account, wish: ZoneWish): Zone {
  const name = wish.name.toLowerCase();
  if (!/^([a-z0-9_-]+\.)+[a-z0-9-]+$/.test(name)) throw invalid(1061, `${wish.name} is no name of a zone.`);
  const id = wish.id ?? account.nextId();
  if (!idPattern.test(id)) throw invalid(1001, `${id} is no identifier.`);
  const zone: Zone = { id, name, status: wish.status ?? 'active', createdAt: account.now(), records: new Map() };
  account.zones.set(id, zone);
  return zone;
}

/** @throws Refusal 400 for a malformed identifier, 404 for one that is not known. */
export function findZone(account: Account, id: string, path: string): Zone {
  const zone = account.zones.get(id);
  if (zone === undefined) throw noRoute(path, idPattern.test(id) ? 404 : 400);
  return zone;
}

const owner = { id: '0f0e0d0c0b0a09080706050403020100', name: 'Simulated Account' };

export const renderZone = (zone: Zone): Record<string, unknown> => ({
  id: zone.id,
  name: zone.name,
  status: zone.status,
  paused: false,
  type: 'full',
  development_mode: 0,
  name_servers: ['ada.ns.cloudflare.com', 'bob.ns.cloudflare.com'],
  original_name_servers: null,
  original_registrar: null,
  original_dnshost: null,
  account: owner,
  owner: { ...owner, type: 'organization' },
  meta: { step: 2, custom_certificate_quota: 0, page_rule_quota: 3, phishing_detected: false },
  plan: {
    id: '0feeeeeeeeeeeeeeeeeeeeeeeeeeeeee',
    name: 'Free Website',
    legacy_id: 'free',
    price: 0,
    currency: 'USD',
    is_subscribed: false,
  },
  created_on: isoTime(zone.createdAt),
  modified_on: isoTime(zone.createdAt),
  activated_on: zone.status === 'active' ? isoTime(zone.createdAt) : null,
});
