import { fields } from '../http/read.ts';
import { type AddressCalls, ApiRefusal, type RequestLayer } from './gaps.ts';
import { observedAddress } from './read.ts';

/** Reserved IPv6 addresses have paths of their own, which digitalocean-js does not know: with less in their answers, no lock, and no list of actions. */
export function reservedIPv6Calls(layer: RequestLayer): Omit<AddressCalls, 'create'> {
  const base = '/reserved_ipv6';
  const one = (key: string) => (body: unknown) => fields(body, key)[key];
  return {
    list: () => layer.listAll(base, 'reserved_ipv6s', observedAddress).catch(noneWithoutPath),
    // Reads of a single one were seen without the wrapper (digitalocean/openapi, pull request 951).
    get: (ip) => layer.get(`${base}/${ip}`).then((body) => fields(body, 'reserved_ipv6').reserved_ipv6 ?? body),
    delete: (ip) => layer.delete(`${base}/${ip}`),
    assign: (ip, dropletId) => layer.post(`${base}/${ip}/actions`, { type: 'assign', droplet_id: dropletId }).then(one('action')),
    unassign: (ip) => layer.post(`${base}/${ip}/actions`, { type: 'unassign' }).then(one('action')),
    action: (_, id) => layer.get(`/actions/${id}`).then(one('action')),
  };
}

/** An API that has no such path, e.g. one that stands in for DigitalOcean's, has no such address: pools of IPv4 addresses need not suffer for it. */
function noneWithoutPath(error: unknown): readonly never[] {
  if (error instanceof ApiRefusal && error.status === 404) return [];
  throw error;
}
