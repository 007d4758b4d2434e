import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { parseJson } from './body.ts';
import type { Arrived, Call } from './call-log.ts';
import { type AnyEffect, type HttpEffect, ofKind } from './faults.ts';
import { type Answer, pause, readBody } from './wire.ts';

export interface Received {
  readonly url: URL;
  /** The body; null when it is no JSON. */
  readonly json: { readonly value: unknown } | null;
  /** The bearer token; '' for none. */
  readonly token: string;
  readonly arrived: Arrived;
}

/** Reads one request. */
export async function receive(request: IncomingMessage, now: () => number): Promise<Received> {
  const at = now();
  const body = await readBody(request);
  const json = parseJson(body);
  const url = new URL(request.url ?? '/', `http://${request.headers.host ?? '127.0.0.1'}`);
  const token = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
  const arrived = {
    at,
    method: request.method ?? 'GET',
    path: url.pathname + url.search,
    body: json === null ? body : (json.value ?? null),
    tokenHash: createHash('sha256').update(token).digest('hex').slice(0, 8),
  };
  return { url, json, token, arrived };
}

/** Writes into the call how and when it ends. */
export function watchEnd(call: Call, response: ServerResponse, now: () => number): void {
  response.once('close', () => {
    call.outcome ??= response.writableFinished ? 'answered' : 'aborted';
    call.latencyMs ??= now() - call.at;
  });
}

/** One call that nothing speaks against. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly call: Call;
  /** Lets the request take its effect, and says what the API answers. */
  readonly run: () => Answer;
  /** What a fault makes the API answer without any effect; null when none does. */
  readonly instead: Answer | null;
  readonly answer: (answer: Answer) => void;
}

/** Handles the request as the faults that struck it demand. */
export async function conduct(exchange: Exchange, struck: readonly AnyEffect[]): Promise<void> {
  const { response, call } = exchange;
  call.faults.push(...struck.map((effect) => effect.kind));
  // Kinds of one API alone are none of these: `instead` and `run` know them.
  const effects = struck as readonly HttpEffect[];
  const wait = ofKind(effects, 'latency').reduce((sum, effect) => sum + effect.ms, 0);
  if (wait > 0 && (await pause(response, wait)) === 'gone') return;
  const [hanging] = ofKind(effects, 'hang');
  const answer = (said: Answer): void => exchange.answer(shaped(said, effects));
  if (ofKind(effects, 'needsUserAgent').length > 0 && !NAMED.test(exchange.request.headers['user-agent'] ?? '')) return answer(NAMELESS);
  if (exchange.instead !== null) return answer(exchange.instead);
  if (hanging !== undefined) return await hang({ ...exchange, answer }, hanging);
  if (ofKind(effects, 'resetBefore').length > 0) return reset(exchange);
  const said = exchange.run();
  if (ofKind(effects, 'resetAfter').length > 0) return reset(exchange);
  answer(said);
}

/** What HTTP libraries call themselves says nothing of the program. */
const NAMED = /^(?!axios|node|undici|Go-http-client)\S/;
const NAMELESS: Answer = { status: 403, headers: { 'content-type': 'text/html' }, text: '<html><body>Forbidden</body></html>' };

function shaped(answer: Answer, effects: readonly HttpEffect[]): Answer {
  const [drip] = ofKind(effects, 'dripBody');
  const [clock] = ofKind(effects, 'clockOff');
  const headers = {
    ...answer.headers,
    ...(clock && { date: new Date(Date.now() + clock.ms).toUTCString() }),
    ...(ofKind(effects, 'closeConnection').length > 0 && { connection: 'close' }),
  };
  return { ...answer, headers, ...(drip && { dripMs: drip.ms }) };
}

async function hang({ response, run, answer }: Exchange, { applied, ms }: Extract<HttpEffect, { kind: 'hang' }>): Promise<void> {
  const early = applied === true ? run() : null;
  if ((await pause(response, ms ?? null)) === 'gone') return;
  answer(early ?? run());
}

function reset({ request, call }: Exchange): void {
  call.outcome = 'reset';
  request.socket.resetAndDestroy();
}
