import type { Call } from '../../simulator/http/call-log.ts';
import type { CallKind, ProviderCall, Version } from './history.ts';

type Meaning = Pick<ProviderCall, 'kind' | 'subject'> & { readonly droplet?: number };

/** What a process was seen to send: method and path. */
export interface Sent {
  readonly request: string;
  readonly by: Version;
}

/** Who sent a call; null when that cannot be told, undefined when it was nobody of them: a call of the scenario's own, by hand. */
type SenderOf = (call: Call) => Version | null | undefined;

/** Finds out by what was seen to be sent: of equal calls the first was sent first. */
export function senderIn(sent: readonly Sent[]): SenderOf {
  const left = Map.groupBy(sent, ({ request }) => request);
  return ({ method, path }) => left.get(`${method} ${path}`)?.shift()?.by;
}

/** What processes wanted to change, one entry for each address, rule, droplet and record. */
export function callsOf(
  provider: ProviderCall['provider'],
  calls: readonly Call[],
  senderOf: SenderOf,
  nodeOf: (droplet: number) => string,
): readonly ProviderCall[] {
  return calls.flatMap((call): readonly ProviderCall[] => {
    const by = senderOf(call);
    if (by === undefined) return [];
    const accepted = call.outcome !== 'answered' || call.status === null ? null : call.status < 300;
    return meaningsOf(call).map(({ droplet, ...meaning }) => ({
      at: call.at,
      provider,
      accepted,
      by,
      node: droplet === undefined ? null : nodeOf(droplet),
      ...meaning,
    }));
  });
}

interface Body {
  readonly type?: string;
  readonly name?: string;
  readonly data?: string;
  readonly content?: string;
  readonly droplet_id?: number;
  readonly droplet_ids?: readonly number[];
  readonly inbound_rules?: readonly { readonly protocol: string; readonly ports: string }[];
}

const CHANGES: Readonly<Record<string, '+' | '~' | '-'>> = { POST: '+', PUT: '~', PATCH: '~', DELETE: '-' };

function meaningsOf({ method, path, body }: Pick<Call, 'method' | 'path' | 'body'>): readonly Meaning[] {
  const of = (body ?? {}) as Body;
  const change = CHANGES[method] ?? '~';
  const [, address] = /^\/v2\/reserved_ips\/([^/]+)/.exec(path) ?? [];
  if (address) return [addressMeaning(address, method, of)];
  const [, firewall] = /^\/v2\/firewalls\/([^/]+)\/(?:rules|droplets)$/.exec(path) ?? [];
  if (firewall && change !== '~')
    return partsOf(of).map((part) => ({ kind: `firewall${change}` as const, subject: `firewall ${firewall} ${part}` }));
  const [, zone] = /\/(?:domains|zones)\/([^/]+)\/(?:dns_)?records/.exec(path) ?? [];
  // A record that is changed or removed is named by an id.
  if (zone)
    return [{ kind: `dns${change}`, subject: `record ${zone} ${change === '+' ? `${of.type} ${of.name} ${of.data ?? of.content}` : ''}` }];
  return [{ kind: path === '/v2/reserved_ips' ? 'create' : 'other', subject: `${method} ${path}` }];
}

const partsOf = ({ inbound_rules = [], droplet_ids = [] }: Body): readonly (string | number)[] => [
  ...inbound_rules.map(({ protocol, ports }) => `${protocol}/${ports}`),
  ...droplet_ids,
];

function addressMeaning(address: string, method: string, { type, droplet_id }: Body): Meaning {
  const kind: CallKind = method === 'DELETE' ? 'delete' : type === 'assign' || type === 'unassign' ? type : 'other';
  return { kind, subject: address, ...(droplet_id !== undefined && { droplet: droplet_id }) };
}
