import type { Draw } from '../drawing.ts';

/** What becomes of one answer on its way. */
export type Spoil =
  /** Another status, other headers, another body. */
  | { readonly kind: 'answer'; readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: string }
  /** What no HTTP server sends; then the connection ends, or stands. */
  | { readonly kind: 'raw'; readonly bytes: string; readonly isHeld: boolean }
  /** The head, and then the same piece again and again, so many times; without an end where it is null. */
  | { readonly kind: 'flood'; readonly head: string; readonly piece: string; readonly times: number | null };

/** An answer as the server gave it. */
export interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const MIB = 2 ** 20;
const HTML = '<!DOCTYPE html><html><body><h1>502 Bad Gateway</h1>\x07\x1b[31m</body></html>';

export const WRONG: readonly unknown[] = [
  ...[
    null,
    true,
    false,
    0,
    -1,
    1.5,
    1e308,
    -1e308,
    2 ** 53,
    '',
    '0',
    '-1',
    'NaN',
    '__proto__',
    'digitalocean://1',
    '999.1.2.3',
    '::ffff:1',
  ],
  ...[
    [],
    {},
    [null],
    [[]],
    { toString: 1 },
    { name: null },
    '\u0000\u001b[31m\u2028\ud800',
    '203.0.113.300',
    '1970-01-01T00:00:00Z',
    'True',
  ],
];

/** A value in which something is another thing, is gone, stands twice or is much longer. */
export function mutated(draw: Draw, value: unknown, times = 1 + draw.below(3)): unknown {
  let root = structuredClone(value);
  for (let left = times; left > 0; left -= 1) root = once(draw, root);
  return root;
}

function once(draw: Draw, root: unknown): unknown {
  if (typeof root !== 'object' || root === null || draw.chance(0.03)) return draw.one(WRONG);
  let at = root as Record<string, unknown>;
  for (;;) {
    const keys = Object.keys(at);
    const key = keys.length === 0 ? 'items' : draw.one(keys);
    const inner = at[key];
    const isDeeper = typeof inner === 'object' && inner !== null && Object.keys(inner).length > 0;
    if (isDeeper && draw.chance(0.85)) {
      at = inner as Record<string, unknown>;
      continue;
    }
    change(draw, at, key);
    return root;
  }
}

function change(draw: Draw, at: Record<string, unknown>, key: string): void {
  const inner = at[key];
  draw.one([
    () => Reflect.set(at, key, draw.one(WRONG)),
    () => Reflect.set(at, key, draw.one(WRONG)),
    () => Reflect.set(at, key, draw.one(WRONG)),
    () => Reflect.deleteProperty(at, key),
    () => Reflect.set(at, key, typeof inner === 'number' ? String(inner) : [inner]),
    () =>
      Reflect.set(
        at,
        key,
        typeof inner === 'string'
          ? inner.repeat(Math.min(1 + draw.below(2_000), 1 + Math.floor((20 * MIB) / (inner.length + 1))))
          : { [key]: inner },
      ),
    () => Reflect.set(at, key, Array.isArray(inner) ? [...inner, ...inner, draw.one(WRONG)] : inner),
    () => Reflect.set(at, `${key}\u0007`, inner),
  ])();
}

/** JSON or not, changed as JSON where it is. */
function spoiltBody(draw: Draw, body: string): string {
  const value = jsonOf(body);
  const asJson = (): string => JSON.stringify(mutated(draw, value));
  return draw.one([
    ...Array.from({ length: 12 }, () => (value === undefined ? () => body : asJson)),
    () => body.slice(0, draw.below(body.length + 1)),
    () => body.slice(0, draw.below(body.length + 1)) + draw.one(['}', ']', '"', '\0', '{"a":', draw.bytes(20)]),
    () => body + body,
    () => '',
    () => HTML,
    () => draw.one(['null', '[]', '{}', '0', '"text"', 'true', '\n', '\ufeff{}', 'NaN']),
    () => draw.bytes(300),
    () => '['.repeat(1 + draw.below(200_000)),
    () => '{"items":'.repeat(1 + draw.below(50_000)),
    () => '}'.repeat(1 + draw.below(50)) + body,
    () => JSON.stringify({ kind: 'Status', status: 'Failure', code: draw.one(WRONG), message: draw.one(WRONG), reason: draw.one(WRONG) }),
    () => JSON.stringify({ message: draw.one(WRONG), id: draw.one(WRONG), meta: draw.one(WRONG), links: draw.one(WRONG) }),
  ])();
}

export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

const STATUSES = [
  200, 200, 200, 201, 202, 204, 206, 301, 302, 307, 308, 400, 403, 404, 408, 409, 410, 412, 422, 429, 429, 500, 502, 503, 504,
];
const NUMBERS = [
  '-1',
  '0',
  '1',
  'NaN',
  '',
  '1e308',
  '-1e308',
  '99999999999999999999',
  'Infinity',
  '\x80\xff',
  'Fri, 31 Dec 9999 23:59:59 GMT',
  '1, 1',
];

const headersOf = (draw: Draw, elsewhere: string): Readonly<Record<string, string>> => ({
  ...(draw.chance(0.7) && { 'content-type': draw.one(['application/json', 'application/json', 'text/html', '', 'application/x-gzip']) }),
  ...(draw.chance(0.4) && {
    'ratelimit-limit': draw.one(NUMBERS),
    'ratelimit-remaining': draw.one(NUMBERS),
    'ratelimit-reset': draw.one(NUMBERS),
  }),
  ...(draw.chance(0.4) && { 'retry-after': draw.one(NUMBERS) }),
  ...(draw.chance(0.4) && { location: `${elsewhere}${draw.one(['/', '/v2/reserved_ips', '/api/v1/nodes'])}` }),
  ...(draw.chance(0.05) && { 'content-encoding': draw.one(['gzip', 'br', 'nothing']) }),
  ...(draw.chance(0.05) && { link: `<${elsewhere}/v2/reserved_ips?page=1>; rel="next"`, 'set-cookie': 'a=b' }),
  ...(draw.chance(0.03) && { 'x-long': 'x'.repeat(draw.below(30_000)) }),
});

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`;

/** As much as ought to be refused. What never ends is ended by who reads it. */
const floodOf = (draw: Draw): Spoil => ({
  kind: 'flood',
  head: `${HEAD}\r\n${draw.one(['', '{"items":["', '{"kind":"List","metadata":{"resourceVersion":"1"},"items":[', '{"reserved_ips":[', '{"type":"'])}`,
  piece: draw.one([' ', 'x', '{"a":[]},', '[', '\n', '"', '{"metadata":{"name":"a","uid":"b","resourceVersion":"1"}},']).repeat(10_000),
  times: draw.one([null, 1, 10, 1_000]),
});

const rawOf = (draw: Draw, { body }: Answered): Spoil => ({
  kind: 'raw',
  bytes: draw.one([
    `${CHUNKED}zz\r\n${body}\r\n0\r\n\r\n`,
    `${CHUNKED}${body.length.toString(16)}\r\n${body}`,
    `${CHUNKED}ffffffffffffffff\r\n${body}`,
    `${HEAD}Content-Length: ${body.length + 50}\r\n\r\n${body}`,
    `${HEAD}Content-Length: ${Math.floor(body.length / 2)}\r\n\r\n${body}`,
    `${HEAD}Content-Length: -1\r\n\r\n${body}`,
    `${HEAD}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n${body}`,
    `HTTP/1.1 200\r\n\r\n${body}`,
    `HTTP/9.9 999 \x07\r\n\r\n`,
    `HTTP/1.1 100 Continue\r\n\r\n`.repeat(100),
    `${HEAD}Bad Header\x07: \x01\r\n\r\n`,
    `${HEAD}\r\n${body.slice(0, body.length / 2)}`,
    draw.bytes(200),
    '',
  ]),
  isHeld: draw.chance(0.2),
});

/** What becomes of one answer; null for what passes as it is. `elsewhere` is where redirects lead. */
export function spoilOf(draw: Draw, answered: Answered, elsewhere: string): Spoil {
  if (draw.chance(0.06)) return floodOf(draw);
  if (draw.chance(0.12)) return rawOf(draw, answered);
  const isOther = draw.chance(0.3);
  return {
    kind: 'answer',
    status: isOther ? draw.one(STATUSES) : answered.status,
    headers: isOther || draw.chance(0.3) ? headersOf(draw, elsewhere) : answered.headers,
    body: spoiltBody(draw, answered.body),
  };
}

const GONE = JSON.stringify({ type: 'ERROR', object: { kind: 'Status', code: 410, message: 'too old resource version' } });

/** One line of a watch, as it comes through: without an end where it is null. */
export function spoiltLine(draw: Draw, line: string): string | null {
  const event = jsonOf(line) as Record<string, unknown> | undefined;
  const typed = (type: unknown, object: unknown): string => `${JSON.stringify({ type, object })}\n`;
  return draw.one([
    ...Array.from({ length: 10 }, () => () => `${JSON.stringify(mutated(draw, event))}\n`),
    () => `${line.slice(0, draw.below(line.length + 1))}\n`,
    () => line.slice(0, draw.below(line.length + 1)),
    () => `${HTML}\n${line}\n`,
    () => '\n'.repeat(1_000),
    () => typed('BOOKMARK', draw.one(WRONG)),
    () => typed('BOOKMARK', { metadata: { resourceVersion: draw.one(WRONG) } }),
    () => typed('ERROR', draw.one(WRONG)),
    () => typed('ERROR', { code: draw.one(WRONG), message: draw.one(WRONG) }),
    () => `${GONE}\n`,
    () => typed(draw.one(WRONG), event?.object),
    () => typed('ADDED', { ...(event?.object as object), filler: 'x'.repeat(10 * MIB) }),
    () => typed('MODIFIED', draw.one(WRONG)),
    () => null,
  ])();
}
