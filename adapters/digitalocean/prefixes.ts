import { BlockList, isIPv4 } from 'node:net';
import { ProviderError } from '../../actors/ports/errors.ts';
import type { Address, ObservedAddress } from '../../machines/model/types.ts';
import { fields } from '../http/read.ts';
import { ApiRefusal, type RequestLayer } from './gaps.ts';

/** A network of the account's own (BYOIP). */
interface Prefix {
  readonly cidr: string;
  readonly region: string;
  readonly isActive: boolean;
}

/**
 * An address of the account's own prefix is not listed, and may be unknown to the API, until it is on a Droplet: it is created by its first assignment
 * (docs.digitalocean.com, data source `byoip_prefix_resources`). Null for an address outside such prefixes. Needs the scope `byoip_prefix:read`.
 * @throws ProviderError when it cannot be determined
 */
export async function unassignedOfPrefix(layer: RequestLayer, address: Address): Promise<ObservedAddress | null> {
  const prefixes = await layer.listAll('/byoip_prefixes', 'byoip_prefixes', readPrefix).catch(noneWithoutRight);
  const found = prefixes.find(({ cidr, isActive }) => isActive && contains(cidr, address));
  return found ? { address, region: found.region, providerID: null, locked: false } : null;
}

export function readPrefix(value: unknown): Prefix {
  const found = fields(value, 'prefix');
  // In the API description's example, a prefix that is being created has no `prefix`. An incomplete entry must not keep other addresses from being found.
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

/** A token without access to prefixes usually belongs to an account without any, and a stand-in for DigitalOcean's API has none. */
function noneWithoutRight(error: unknown): readonly never[] {
  const isForbidden = error instanceof ProviderError && error.kind === 'Unauthorized';
  if (isForbidden || (error instanceof ApiRefusal && error.status === 404)) return [];
  throw error;
}
