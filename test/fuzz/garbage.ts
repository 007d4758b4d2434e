import { type Draw, drawingOf } from './drawing.ts';

/** What listens, as the operator names it. */
export const LISTENERS = ['telemetry', 'dashboard', 'inspector', 'journal', 'webhook'] as const;
export type ListenerName = (typeof LISTENERS)[number];

/** One connection, and what is sent on it. */
export interface Attempt {
  readonly number: number;
  readonly to: ListenerName;
  /** Latin-1, sent one after another. */
  readonly pieces: readonly string[];
  /** What is sent is not all of it: there may never be an answer. */
  readonly isHalf: boolean;
  /** Between two pieces, ms. */
  readonly pauseMs: number;
  /** What becomes of the connection afterwards: the answer is read; or it is not and the connection stands for a while; or the connection is ended, or reset. */
  readonly end: 'read' | 'hold' | 'end' | 'reset';
}

/** The token that the operator asks browsers for. */
export const TOKEN = 'token-of-the-fuzzer-0123456789';

const METHODS = [
  'GET',
  'GET',
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'CONNECT',
  'QUERY',
  'BREW',
  'get',
  '',
  'M-SEARCH',
];
const PATHS = [
  ...[
    '/',
    '//',
    '///',
    '*',
    '',
    '?',
    '/%',
    '/%00',
    '/%2e%2e/%2e%2e/etc/passwd',
    '/../../etc/passwd',
    '/\\',
    '/.//a',
    '/;',
    '/#',
    '/[',
    'http://[',
    'http://a/',
    '//a/',
  ],
  ...[
    'http://localhost:99999999/',
    'localhost:443',
    '/metrics',
    '/healthz',
    '/readyz',
    '/metrics?x',
    '/api/about',
    '/api/actors',
    '/api/actor?id=__proto__',
    '/api/stream',
  ],
  ...[
    '/api/charts/pool',
    '/api/charts/__proto__',
    '/api/charts/constructor',
    '/api/journal?actor=pool/default/ingress',
    '/api/journal',
    '/jobs',
    '/jobs/',
    '/jobs/api/queues',
  ],
  ...[
    '/jobs/api/queues/timers/1',
    '/jobs/static/%',
    '/jobs/api/queues/%zz',
    '/index.html',
    '/app.js',
    '/vendor/elk-api.js',
    '/inspector.html',
    '/about',
    '/actors',
    '/drawings/ip',
  ],
  ...[
    '/drawings/%E0%A4%A',
    '/drawings/__proto__',
    '/ws',
    '/ws?page',
    '/ws?actor=a&actor=b',
    '/journal',
    '/journal?actor=pool/default/ingress',
    '/journal?actor=%00',
    '/journal?actor=',
  ],
  ...[
    '/validate-paas-org-v1-ip',
    '/validate-paas-org-v1-virtualip',
    '/validate-paas-org-v1-ip/',
    '/__proto__',
    '/constructor',
    '/hasOwnProperty',
    '/toString',
  ],
];
const HOSTS = [
  'localhost',
  'localhost',
  '127.0.0.1',
  '127.0.0.1:8081',
  'evil.example',
  '',
  '[::::]',
  '[::1]',
  'a b',
  ':',
  'localhost:99999',
  '\x80\xff',
  'localhost\t',
];
const VALUES = [
  '',
  '0',
  '-1',
  '99999999999999999999',
  'null',
  '\xff\xfe',
  '%E0%A4%A',
  'a;b=c',
  '__proto__',
  '{}',
  'chunked',
  'close',
  'keep-alive',
  'gzip',
  '*/*',
  'text/html',
];
const NAMES = [
  ...[
    'Accept',
    'Accept',
    'Accept-Encoding',
    'Authorization',
    'Connection',
    'Content-Encoding',
    'Content-Length',
    'Content-Type',
    'Cookie',
    'Expect',
    'Forwarded',
    'If-None-Match',
  ],
  ...[
    'Last-Event-ID',
    'Origin',
    'Range',
    'Referer',
    'TE',
    'Trailer',
    'Transfer-Encoding',
    'Upgrade',
    'X-Forwarded-For',
    '__proto__',
    'constructor',
    'Sec-WebSocket-Extensions',
    'Bad Name',
    '',
  ],
];
const ORIGINS = ['http://localhost', 'http://evil.example', 'null', 'https://stately.ai', 'http://[', 'file://'];
const CREDENTIALS = [
  `Authorization: Bearer ${TOKEN}`,
  `Cookie: routedip-token=${TOKEN}`,
  'Authorization: Bearer made-up',
  'Authorization: Basic Og==',
  'Cookie: routedip-token=%E0%A4%A',
  'Authorization: Bearer',
];
const SOCKET = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='];

const REVIEW = JSON.stringify({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request: {
    uid: 'a',
    operation: 'CREATE',
    resource: { group: 'paas.org', version: 'v1', resource: 'ips' },
    userInfo: { username: 'jane' },
    object: {},
  },
});

/** A text in which some is left out, doubled or changed. */
function spoilt(draw: Draw, text: string): string {
  const at = draw.below(text.length);
  const to = at + draw.below(20);
  return text.slice(0, at) + draw.one(['', text.slice(at, to).repeat(3), draw.bytes(8), '\0', '"', '}', '[[[[', '\r\n']) + text.slice(to);
}

function bodyOf(draw: Draw): string {
  return draw.one([
    () => '',
    () => draw.bytes(200),
    () => REVIEW,
    () => spoilt(draw, REVIEW),
    () => REVIEW.replace('"object":{}', `"object":{"a":"${'x'.repeat(draw.below(300_000))}"}`),
    () => '['.repeat(draw.below(100_000)),
    () => 'x'.repeat(draw.below(400_000)),
  ])();
}

function requestOf(draw: Draw): string {
  const isSocket = draw.chance(0.15);
  const method = draw.chance(isSocket ? 0.9 : 0.5) ? 'GET' : draw.one(METHODS);
  const body = method === 'POST' || draw.chance(0.1) ? bodyOf(draw) : '';
  const { headers, sent } = framed(draw, body);
  const lines = [
    `${method} ${pathOf(draw, isSocket)} ${draw.chance(0.9) ? 'HTTP/1.1' : draw.one(VERSIONS)}`,
    ...headersOf(draw, isSocket),
    ...headers,
    '',
    '',
  ];
  return lines.join('\r\n') + sent + (isSocket ? framesOf(draw) : '');
}

const VERSIONS = ['HTTP/1.0', 'HTTP/2.0', 'HTTP/9.9', ''];

function pathOf(draw: Draw, isSocket: boolean): string {
  if (isSocket && draw.chance(0.7)) return '/ws?page';
  const query = draw.one([...Array.from({ length: 18 }, () => ''), `?token=${TOKEN}`, 'x'.repeat(20_000)]);
  return draw.one(PATHS) + query;
}

function headersOf(draw: Draw, isSocket: boolean): readonly string[] {
  const some = (part: number, of: () => readonly string[]): readonly string[] => (draw.chance(part) ? of() : []);
  return [
    ...some(0.97, () => [`Host: ${draw.chance(0.7) ? 'localhost' : draw.one(HOSTS)}`]),
    ...some(0.6, () => [draw.one(CREDENTIALS)]),
    ...some(isSocket ? 1 : 0, () => SOCKET.filter(() => draw.chance(0.95))),
    ...some(0.2, () => [`Origin: ${draw.one(ORIGINS)}`]),
    ...Array.from({ length: draw.below(4) }, () => (draw.chance(0.6) ? 'Accept: text/html' : `${draw.one(NAMES)}: ${draw.one(VALUES)}`)),
    ...some(0.02, () => Array.from({ length: draw.below(3_000) }, (_, index) => `X-${index}: a`)),
    ...some(0.02, () => [`X: ${'x'.repeat(draw.below(50_000))}`]),
  ];
}

/** A body as it is sent, with the headers that say how long it is, mostly rightly. */
function framed(draw: Draw, body: string): { readonly headers: readonly string[]; readonly sent: string } {
  if (body === '' && !draw.chance(0.05)) return { headers: [], sent: '' };
  const { length } = body;
  const [header, sent] = draw.one([
    [`Content-Length: ${length}`, body],
    [`Content-Length: ${length}`, body],
    [`Content-Length: ${length + 50}`, body],
    ['Transfer-Encoding: chunked', `${length.toString(16)}\r\n${body}\r\n0\r\n\r\n`],
    ['Transfer-Encoding: chunked', body],
  ]);
  return { headers: ['Content-Type: application/json', header ?? ''], sent: sent ?? '' };
}

const framesOf = (draw: Draw): string =>
  draw.one(['', draw.bytes(50), '\x88\x80abcd', `\x81\xfe\xff\xff${draw.bytes(100)}`, '\xff'.repeat(64), '\x89\x80abcd'.repeat(500)]);

function piecesOf(draw: Draw): Pick<Attempt, 'pieces' | 'isHalf'> {
  const text = draw.one([
    ...Array.from({ length: 12 }, () => () => requestOf(draw)),
    () => Array.from({ length: 1 + draw.below(50) }, () => requestOf(draw)).join(''),
    () => requestOf(draw).repeat(1 + draw.below(20)),
    () => spoilt(draw, requestOf(draw)),
    () => draw.bytes(500),
    () => '',
  ])();
  const isHalf = draw.chance(0.1);
  const end = isHalf ? draw.below(text.length) : text.length;
  if (!draw.chance(0.2)) return { pieces: [text.slice(0, end)], isHalf };
  const middle = draw.below(end);
  return { pieces: [text.slice(0, middle), text.slice(middle, end)], isHalf };
}

/** The attempts of a seed, without an end. */
export function attemptOf(seed: number, number: number): Attempt {
  const draw = drawingOf(seed, number);
  return {
    number,
    to: draw.one(LISTENERS),
    ...piecesOf(draw),
    pauseMs: draw.chance(0.03) ? 1_000 : draw.below(5),
    end: draw.one(['read', 'read', 'read', 'read', 'read', 'read', 'read', 'end', 'reset', draw.chance(0.1) ? 'hold' : 'reset'] as const),
  };
}
