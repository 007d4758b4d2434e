import { parseAddress } from '../../machines/model/address.ts';
import { portText } from '../../machines/model/port.ts';
import type { Port } from '../../machines/model/types.ts';
import { fields, items, text } from '../http/read.ts';

/** What the API wants for everybody. */
const EVERYBODY: readonly string[] = ['0.0.0.0/0', '::/0'];

/** An inbound rule of a firewall. */
export interface FoundRule {
  /** What it opens, as `portText` writes it; null for what no such text can say: ranges, ICMP, droplets, load balancers or tags as sources. */
  readonly opens: string | null;
  /** It opens that and nothing else: only then is it a rule that we may have added, and may take away. */
  readonly exact: boolean;
  /** As the API wants to hear it when it is to be removed. */
  readonly rule: SentRule;
}

/** The other kinds of source are left out rather than sent empty. */
export interface SentRule {
  readonly protocol: string;
  readonly ports: string;
  readonly sources: { addresses: string[]; droplet_ids: number[]; load_balancer_uids: string[]; tags: string[] };
}

/** The one inbound rule that stands for a port: for its sources, or for everybody. */
export function ruleFor({ port, protocol, sources }: Port): SentRule {
  const addresses = [...(sources ?? EVERYBODY)];
  return sent(protocol.toLowerCase(), String(port), { addresses });
}

/** digitalocean-js wants every kind of source in its type, the API refuses some that are empty (terraform-provider-digitalocean issue 33). */
const sent = (protocol: string, ports: string, sources: object): SentRule => ({
  protocol,
  ports,
  sources: sources as SentRule['sources'],
});

/** Reads an inbound rule. One that is open to everybody and names others too opens the port all the same, but is somebody else's. */
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

/** Not a range, and not `0`, by which the API says all ports. */
const isOnePort = (protocol: string, ports: string): boolean => (protocol === 'tcp' || protocol === 'udp') && /^[1-9]\d*$/.test(ports);

/** A source as claims write it. The API keeps a single address as it was sent, with or without its length. */
function network(source: string): string {
  const [host = '', bits] = source.split('/', 2);
  return `${parseAddress(host) ?? host}/${bits ?? (host.includes(':') ? '128' : '32')}`;
}
