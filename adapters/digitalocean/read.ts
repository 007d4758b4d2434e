import { ProviderError } from '../../actors/ports/errors.ts';
import { parseAddress } from '../../machines/model/address.ts';
import type { ObservedAddress, ProviderID } from '../../machines/model/types.ts';
import { fields, integer, items, text, unreadable } from '../http/read.ts';

export const providerIDPrefix = 'digitalocean://';

export const providerIDOf = (dropletId: number): ProviderID => `${providerIDPrefix}${dropletId}` as ProviderID;

/** The droplet's number. @throws ProviderError Invalid for a node of another provider. */
export function dropletIdOf(providerID: ProviderID): number {
  const digits = providerID.startsWith(providerIDPrefix) ? providerID.slice(providerIDPrefix.length) : '';
  if (!/^\d{1,15}$/.test(digits)) throw new ProviderError('Invalid', `${providerID} is no droplet`);
  return Number(digits);
}

/** A reserved or floating IP, or a reserved IPv6. `locked` is missing in some older responses and in those of IPv6: then nothing is known to be pending. */
export function observedAddress(value: unknown): ObservedAddress {
  const found = fields(value, 'address');
  const address = parseAddress(text(found.ip, 'address'));
  if (address === null) throw unreadable('address');
  const droplet = found.droplet;
  return {
    address,
    region: text(found.region_slug ?? fields(found.region, 'region').slug, 'region'),
    providerID: droplet === null || droplet === undefined ? null : providerIDOf(integer(fields(droplet, 'droplet').id, 'droplet id')),
    locked: found.locked === true,
  };
}

export interface ObservedAction {
  readonly id: string;
  readonly status: string;
}

export function observedAction(value: unknown): ObservedAction {
  const found = fields(value, 'action');
  return { id: String(integer(found.id, 'action id')), status: text(found.status, 'action status') };
}

export interface ObservedDroplet {
  readonly region: string;
  /** Its own and, while assigned, the reserved IP. */
  readonly publicAddresses: readonly string[];
  /** Whether it has IPv6 at all. */
  readonly ipv6: boolean;
}

export function observedDroplet(value: unknown): ObservedDroplet {
  const found = fields(value, 'droplet');
  const { v4, v6 = [] } = fields(found.networks, 'networks');
  const networks = items(v4, 'networks').map((network) => fields(network, 'network'));
  return {
    region: text(fields(found.region, 'region').slug, 'region'),
    publicAddresses: networks.filter((network) => network.type === 'public').map((network) => text(network.ip_address, 'address')),
    ipv6: items(v6, 'networks').length > 0 || items(found.features ?? [], 'features').includes('ipv6'),
  };
}
