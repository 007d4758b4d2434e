import { fields } from '../http/read.ts';
import { type AddressCalls, ApiRefusal, type RequestLayer } from './gaps.ts';
import { observedAddress } from './read.ts';

/** Reserved IPv6 addresses have separate paths, which digitalocean-js does not support: with fewer fields, no lock, and no list of actions. */
export function reservedIPv6Calls(layer: RequestLayer): Omit<AddressCalls, 'create'> {
  const base = '/reserved_ipv6';
  const one = (key: string) => (body: unknown) => fields(body, key)[key];
  return {
    list: () => layer.listAll(base, 'reserved_ipv6s', observedAddress).catch(noneWithoutPath),
    // Reads of a single address have been seen without the wrapper (digitalocean/openapi, pull request 951).
    get: (ip) => layer.get(`${base}/${ip}`).then((body) => fields(body, 'reserved_ipv6').reserved_ipv6 ?? body),
    delete: (ip) => layer.delete(`${base}/${ip}`),
    assign: (ip, dropletId) => layer.post(`${base}/${ip}/actions`, { type: 'assign', droplet_id: dropletId }).then(one('action')),
    unassign: (ip) => layer.post(`${base}/${ip}/actions`, { type: 'unassign' }).then(one('action')),
    action: (_, id) => layer.get(`/actions/${id}`).then(one('action')),
  };
}

/** An API without this path, e.g. a stand-in for DigitalOcean's, has no such addresses: pools of IPv4 addresses must still work. */
function noneWithoutPath(error: unknown): readonly never[] {
  if (error instanceof ApiRefusal && error.status === 404) return [];
  throw error;
}
