import type { Call } from '../../simulator/http/call-log.ts';

/** What a call asked of the account, in a line: `assign 203.0.113.1 to play-a: 201`. */
export function told({ method, path, body, status }: Call, nodes: { nameOf(droplet: number): string }): string {
  const address = /^\/v2\/reserved_ips\/([^/]+)/.exec(path)?.[1];
  const { type, droplet_id: droplet, region } = (body ?? {}) as Wish;
  if (address !== undefined && type === 'assign' && droplet !== undefined)
    return `assign ${address} to ${nodes.nameOf(droplet)}: ${status}`;
  if (address !== undefined && type === 'unassign') return `unassign ${address}: ${status}`;
  if (address === undefined && method === 'POST' && path === '/v2/reserved_ips') return `create an address in ${region}: ${status}`;
  return `${method} ${path}: ${status}`;
}

interface Wish {
  readonly type?: string;
  readonly droplet_id?: number;
  readonly region?: string;
}
