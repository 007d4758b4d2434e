import type { Port } from './types.ts';

/** The canonical text of a port that must be open: `tcp/80`, or `tcp/80@10.0.0.0/8+192.0.2.0/24` when sources are restricted. Claims, our additions and the rules of a firewall
 *  are compared by it. */
export function portText({ port, protocol, sources }: Port): string {
  const from = sources ? `@${[...new Set(sources)].sort().join('+')}` : '';
  return `${protocol.toLowerCase()}/${port}${from}`;
}

/** The port of a text made by `portText`. */
export function parsePort(text: string): Port {
  const [rule = '', from] = text.split('@', 2);
  const [protocol, port] = rule.split('/', 2);
  return { port: Number(port), protocol: protocol === 'udp' ? 'UDP' : 'TCP', ...(from && { sources: from.split('+') }) };
}
