import { BlockList, isIPv4 } from 'node:net';
import { ProviderError } from '../../actors/ports/errors.ts';
import type { Address, ObservedAddress } from '../../machines/model/types.ts';
import { fields } from '../http/read.ts';
import { ApiRefusal, type RequestLayer } from './gaps.ts';

/** A network that the account has brought along (BYOIP). */
interface Prefix {
  readonly cidr: string;
  readonly region: string;
  readonly isActive: boolean;
}

/**
 * An address of a prefix of the account's own is in no list, and may be unknown by itself, as long as it is on no Droplet: it comes into being with its first
 * assignment (docs.digitalocean.com, data source `byoip_prefix_resources`). Null for an address of no such prefix. The scope is `byoip_prefix:read`.
 * @throws ProviderError when nobody can tell
 */
export async function unassignedOfPrefix(layer: RequestLayer, address: Address): Promise<ObservedAddress | null> {
  const prefixes = await layer.listAll('/byoip_prefixes', 'byoip_prefixes', readPrefix).catch(noneWithoutRight);
  const found = prefixes.find(({ cidr, isActive }) => isActive && contains(cidr, address));
  return found ? { address, region: found.region, providerID: null, locked: false } : null;
}

export function readPrefix(value: unknown): Prefix {
  const found = fields(value, 'prefix');
  // One that is being made has no prefix in the description's own example of an answer. What is not whole keeps no other address from being found.
  const [cidr = '', region = ''] = [found.prefix, found.region].map((each) => (typeof each === 'string' ? each : ''));
  return { cidr, region, isActive: found.status === 'active' && region !== '' };
}

function contains(cidr: string, address: Address): boolean {
  const [network = '', bits] = cidr.split('/');
  if (!isIPv4(network) || !isIPv4(address)) return false;
  const list = new BlockList();
  list.addSubnet(network, Number(bits), 'ipv4');
  return list.check(address, 'ipv4');
}

/** A token that may not see prefixes is mostly one of an account without any, and an API that stands in for DigitalOcean's knows none. */
function noneWithoutRight(error: unknown): readonly never[] {
  const isForbidden = error instanceof ProviderError && error.kind === 'Unauthorized';
  if (isForbidden || (error instanceof ApiRefusal && error.status === 404)) return [];
  throw error;
}
