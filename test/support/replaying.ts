import type { RequestListener } from 'node:http';
import { ProviderError } from '../../actors/ports/errors.ts';
import type { Provider } from '../../actors/ports/provider.ts';
import type { RecordedExchange, Recording } from '../../adapters/digitalocean/probe/recording.ts';
import type { Address, ErrorKind, Port, ProviderID } from '../../machines/model/types.ts';

/** A server that answers as one recorded did. At any time it stands at one exchange: a request is answered by that, else by the same request that was answered last before, else next. */
export class Replaying {
  /** Where it stands. */
  at = 0;
  /** What was asked that no recording answers. */
  readonly unknown: string[] = [];
  readonly #exchanges: readonly RecordedExchange[];

  constructor({ exchanges }: Recording) {
    this.#exchanges = exchanges;
  }

  readonly answer: RequestListener = ({ method = '', url = '' }, response) => {
    const same = [...this.#exchanges.entries()].filter(([, each]) => each.method === method && each.path === url);
    const [, found] = same.findLast(([index]) => index <= this.at) ?? same[0] ?? [];
    if (!found) this.unknown.push(`${method} ${url}`);
    const body = found?.answer === undefined ? '<html>'.repeat(found?.foreignBytes ? 1 : 0) : JSON.stringify(found.answer);
    response.writeHead(found?.status ?? 404, { ...found?.headers });
    response.end(body);
  };
}

/** A recorded exchange as the adapter would come to it. */
interface Played {
  readonly verb: string;
  readonly run: (provider: Provider) => Promise<unknown>;
  /** What is wrong with what the verb answers; null for nothing. */
  readonly trouble: (value: unknown, exchange: RecordedExchange) => string | null;
}

const READ = { purpose: 'verify' } as const;
const WRITE = { purpose: 'failover' } as const;
const ADDRESS = '([\\d.]+|[0-9a-f:]+)';
const well = (): null => null;

type Parts = readonly string[];
type Row = readonly [
  pattern: RegExp,
  verb: string,
  run: (provider: Provider, parts: Parts, body: Body) => Promise<unknown>,
  trouble?: Played['trouble'],
];

/** What is sent, as far as it is looked at. */
interface Body {
  readonly [field: string]: unknown;
}

const count = (value: unknown, { answer }: RecordedExchange): string | null => {
  const total = (answer as { meta?: { total?: unknown } }).meta?.total;
  const shown = (value as { records?: unknown[] }).records ?? (value as unknown[]);
  return shown.length === total ? null : `${shown.length} of ${String(total)} were read`;
};
const node = (id: unknown): ProviderID => `digitalocean://${String(id)}` as ProviderID;
const portOf = ({ inbound_rules }: Body): Port[] =>
  (inbound_rules as { ports: string; protocol: string; sources: { addresses: string[] } }[]).map(({ ports, protocol, sources }) => ({
    port: Number(ports),
    protocol: protocol.toUpperCase() as 'TCP',
    sources: sources.addresses,
  }));
const act = (provider: Provider, ip: Address, { type, droplet_id }: Body): Promise<unknown> =>
  type === 'assign' ? provider.assignRoutedIP(ip, node(droplet_id), WRITE) : provider.unassignRoutedIP(ip, WRITE);
const ended = (value: unknown): string | null =>
  ['running', 'completed', 'errored'].includes(String(value)) ? null : `it is ${String(value)}`;
const recordOf = ({ type, name, data, ttl }: Body) =>
  ({ type, name, data, ttlSeconds: ttl, proxied: false }) as Parameters<Provider['createDNSRecord']>[1];

const ROWS: readonly Row[] = [
  [/^GET \/v2\/reserved_ips\?page=1&per_page=200$/, 'listRoutedIPs', (provider) => provider.listRoutedIPs({ ...READ, family: 4 }), count],
  [/^GET \/v2\/reserved_ipv6\?page=1&per_page=200$/, 'listRoutedIPs', (provider) => provider.listRoutedIPs({ ...READ, family: 6 }), count],
  [
    /^GET \/v2\/domains\/([^/]+)\/records\?page=1&/,
    'listDNSRecords',
    (provider, [zone = '']) => provider.listDNSRecords(zone, READ),
    count,
  ],
  [new RegExp(`^GET /v2/reserved_ips/${ADDRESS}$`), 'findRoutedIP', (provider, [ip]) => provider.findRoutedIP(ip as Address, READ)],
  [
    new RegExp(`^GET /v2/reserved_ips/${ADDRESS}/actions/(\\d+)$`),
    'actionState',
    (provider, [ip, id = '']) => provider.actionState(ip as Address, id, READ),
    ended,
  ],
  [/^GET \/v2\/droplets\/(\d+)$/, 'findNode', (provider, [id]) => provider.findNode(node(id), READ)],
  [/^GET \/v2\/firewalls\/([0-9a-f-]{36})$/, 'findRoutedIPFirewall', (provider, [id = '']) => provider.findRoutedIPFirewall(id, READ)],
  [
    /^POST \/v2\/reserved_ips$/,
    'createRoutedIP',
    (provider, _, { region }) => provider.createRoutedIP(String(region), { purpose: 'create' }),
  ],
  [
    new RegExp(`^POST /v2/reserved_ips/${ADDRESS}/actions$`),
    'assignRoutedIP',
    (provider, [ip], body) => act(provider, ip as Address, body),
  ],
  [new RegExp(`^DELETE /v2/reserved_ips/${ADDRESS}$`), 'deleteRoutedIP', (provider, [ip]) => provider.deleteRoutedIP(ip as Address, WRITE)],
  [
    /^POST \/v2\/domains\/([^/]+)\/records$/,
    'createDNSRecord',
    (provider, [zone = ''], body) => provider.createDNSRecord(zone, recordOf(body), WRITE),
  ],
  [
    /^DELETE \/v2\/domains\/([^/]+)\/records\/(\d+)$/,
    'deleteDNSRecord',
    (provider, [zone = '', id = '']) => provider.deleteDNSRecord(zone, id, WRITE),
  ],
  [
    /^POST \/v2\/firewalls\/([^/]+)\/rules$/,
    'addRoutedIPFirewallPort',
    (provider, [id = ''], body) => provider.addRoutedIPFirewallPort(id, portOf(body), WRITE),
  ],
  [
    /^DELETE \/v2\/firewalls\/([^/]+)\/rules$/,
    'deleteRoutedIPFirewallPort',
    (provider, [id = ''], body) => provider.deleteRoutedIPFirewallPort(id, portOf(body), WRITE),
  ],
];

/** Null for an exchange that no verb begins with: further pages, and what the probe asks for itself. */
export function playedBy({ method, path, body }: RecordedExchange): Played | null {
  for (const [pattern, verb, run, trouble = well] of ROWS) {
    const found = pattern.exec(`${method} ${path}`);
    if (found) return { verb, run: (provider) => run(provider, found.slice(1), (body ?? {}) as Body), trouble };
  }
  return null;
}

/** What the adapter may throw where this was answered; none for what it takes for done. */
function kindsFor({ method, path, status, answer }: RecordedExchange): readonly ErrorKind[] {
  if (status < 300) return [];
  if (answer === undefined || status >= 500) return status === 429 ? ['RateLimited'] : ['Unavailable'];
  if (status === 404) return method === 'DELETE' || path.includes('/droplets/') || path.includes('/firewalls/') ? [] : ['NotFound'];
  const kinds: Readonly<Record<number, readonly ErrorKind[]>> = {
    401: ['Unauthorized'],
    403: ['Unauthorized', 'Invalid'],
    409: ['Conflict'],
    429: ['RateLimited'],
  };
  return kinds[status] ?? ['Invalid', 'InProgress', 'NodeInUse', 'NotFound'];
}

/** Runs the verb. Answers what is wrong with what came of it; null for nothing. */
export async function troubleOf(played: Played, provider: Provider, exchange: RecordedExchange): Promise<string | null> {
  const kinds = kindsFor(exchange);
  const about = `${played.verb}, answered ${exchange.status}`;
  try {
    const value = await played.run(provider);
    if (kinds.length > 0) return `${about}: it threw nothing`;
    const trouble = exchange.status < 300 ? played.trouble(value, exchange) : null;
    return trouble && `${about}: ${trouble}`;
  } catch (error) {
    const isExpected = error instanceof ProviderError && kinds.includes(error.kind);
    return isExpected ? null : `${about}: ${String(error)}`;
  }
}
