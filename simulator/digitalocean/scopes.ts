import type { Scope } from './faults.ts';
import { Refusal } from './refusal.ts';
import type { Reply } from './reply.ts';

/** By scope: the path that it lets be read, and what is null in answers to a token without it. */
const SCOPES: Readonly<Record<Scope, { readonly path: RegExp; readonly keys: readonly string[] }>> = {
  'droplet:read': { path: /^\/v2\/droplets(\/|$)/, keys: ['droplet', 'droplet_ids'] },
  'tag:read': { path: /^\/v2\/tags(\/|$)/, keys: ['tags'] },
  'reserved_ip:read': { path: /^\/v2\/(reserved_ips|floating_ips|reserved_ipv6)(\/|$)/, keys: [] },
  'actions:read': { path: /^\/v2\/actions(\/|$)/, keys: [] },
  'domain:read': { path: /^\/v2\/domains(\/|$)/, keys: [] },
  'firewall:read': { path: /^\/v2\/firewalls(\/|$)/, keys: [] },
  'byoip_prefix:read': { path: /^\/v2\/byoip_prefixes(\/|$)/, keys: [] },
  'account:read': { path: /^\/v2\/account$/, keys: [] },
};

/** @throws Refusal 403 for what the token may not read */
export function refuseUnseen(path: string, lacking: readonly Scope[]): void {
  if (lacking.some((scope) => SCOPES[scope].path.test(path)))
    throw new Refusal(403, 'Forbidden', 'You are not authorized to perform this operation');
}

/** An answer to a token without these: it says nothing of what that may not read. */
export function withoutUnseen(reply: Reply, lacking: readonly Scope[]): Reply {
  if (lacking.length === 0 || !reply.body) return reply;
  const hidden = new Set(lacking.flatMap((scope) => SCOPES[scope].keys));
  const body: Reply['body'] = JSON.parse(JSON.stringify(reply.body, (key, value: unknown) => (hidden.has(key) ? null : value)));
  return { ...reply, ...(body && { body }) };
}
