import { parseAddress } from '../../machines/model/address.ts';
import { portText } from '../../machines/model/port.ts';
import type { Port } from '../../machines/model/types.ts';
import { fields, items, text } from '../http/read.ts';

/** The API's notation for everybody. */
const EVERYBODY: readonly string[] = ['0.0.0.0/0', '::/0'];

/** An inbound rule of a firewall. */
export interface FoundRule {
  /** What it opens, in the format of `portText`; null for what that cannot express: ranges, ICMP, droplets, load balancers or tags as sources. */
  readonly opens: string | null;
  /** It opens exactly that: only such a rule may be ours, and may be removed. */
  readonly exact: boolean;
  /** The rule in the form that the API expects for its removal. */
  readonly rule: SentRule;
}

/** Other kinds of sources are omitted rather than sent empty. */
export interface SentRule {
  readonly protocol: string;
  readonly ports: string;
  readonly sources: { addresses: string[]; droplet_ids: number[]; load_balancer_uids: string[]; tags: string[] };
}

/** The inbound rule for a port: for its sources, or for everybody. */
export function ruleFor({ port, protocol, sources }: Port): SentRule {
  const addresses = [...(sources ?? EVERYBODY)];
  return sent(protocol.toLowerCase(), String(port), { addresses });
}

/** digitalocean-js requires every kind of source in its type; the API rejects some that are empty (terraform-provider-digitalocean issue 33). */
const sent = (protocol: string, ports: string, sources: object): SentRule => ({
  protocol,
  ports,
  sources: sources as SentRule['sources'],
});

/** Parses an inbound rule. A rule for everybody that also names other sources opens the port, but is not ours. */
export function readRule(value: unknown): FoundRule {
  const found = fields(value, 'rule');
  const protocol = text(found.protocol, 'rule protocol');
  const ports = text(found.ports, 'rule ports');
  const kinds = Object.entries(fields(found.sources, 'rule sources')).filter(([, list]) => Array.isArray(list) && list.length > 0);
  const rule = sent(protocol, ports, Object.fromEntries(kinds));
  const addresses = [...new Set(items(rule.sources.addresses ?? [], 'addresses').map((one) => network(text(one, 'address'))))];
  const forEverybody = EVERYBODY.every((one) => addresses.includes(one));
  const byAddress = kinds.length === 1 && addresses.length > 0;
  if (!isOnePort(protocol, ports) || !(forEverybody || byAddress)) return { opens: null, exact: false, rule };
  const port: Port = { port: Number(ports), protocol: protocol === 'udp' ? 'UDP' : 'TCP' };
  if (!forEverybody) return { opens: portText({ ...port, sources: addresses }), exact: true, rule };
  return { opens: portText(port), exact: byAddress && addresses.length === EVERYBODY.length, rule };
}

/** Not a range, and not `0`, which means all ports. */
const isOnePort = (protocol: string, ports: string): boolean => (protocol === 'tcp' || protocol === 'udp') && /^[1-9]\d*$/.test(ports);

/** A source in the notation of claims. The API keeps a single address as it was sent, with or without prefix length. */
function network(source: string): string {
  const [host = '', bits] = source.split('/', 2);
  return `${parseAddress(host) ?? host}/${bits ?? (host.includes(':') ? '128' : '32')}`;
}
