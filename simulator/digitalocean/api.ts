import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { settle } from './addresses.ts';
import type { Call, CallLog } from './call-log.ts';
import type { Cloud } from './cloud.ts';
import type { FaultEffect, FaultKind, Faults } from './faults.ts';
import { type Random, uuid } from './random.ts';
import type { Quota } from './rate-limit.ts';
import { addressPending, dropletPending, quotaReached, Refusal, unauthorized } from './refusal.ts';
import type { Reply } from './reply.ts';
import type { Router } from './router.ts';
import { type Answer, parseJson, pause, readBody, send } from './wire.ts';

export interface ApiParts {
  readonly cloud: Cloud;
  readonly route: Router;
  readonly faults: Faults;
  readonly log: CallLog;
  readonly limiter: (token: string) => Quota;
  readonly accepts: (token: string) => boolean;
  readonly random: Random;
}

type Effect<K extends FaultKind> = Extract<FaultEffect, { kind: K }>;

/** Answers requests below /v2: rate limit, token, faults, route, in this order. */
export function createApi(parts: ApiParts): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return async (request, response) => {
    const at = parts.cloud.now();
    const body = await readBody(request);
    const url = new URL(request.url ?? '/', `http://${request.headers.host ?? '127.0.0.1'}`);
    const token = bearer(request);
    const call = parts.log.open({
      at,
      method: request.method ?? 'GET',
      path: url.pathname + url.search,
      body: readable(body),
      requestId: uuid(parts.random),
      tokenHash: createHash('sha256').update(token).digest('hex').slice(0, 8),
    });
    response.once('close', () => {
      call.outcome ??= response.writableFinished ? 'answered' : 'aborted';
      call.latencyMs ??= parts.cloud.now() - at;
    });
    const quota = parts.limiter(token);
    call.remaining = quota.remaining;
    const exchange: Exchange = { parts, request, response, url, body, call, quota };
    const refusal = parts.accepts(token) ? quota.refusal : unauthorized();
    if (refusal !== null) answer(exchange, refused(exchange, refusal));
    else await struck(exchange, parts.faults.strike(call.method, call.path));
  };
}

interface Exchange {
  readonly parts: ApiParts;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  readonly body: string;
  readonly call: Call;
  readonly quota: Quota;
}

function bearer(request: IncomingMessage): string {
  return /^Bearer\s+(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
}

function readable(body: string): unknown {
  try {
    return parseJson(body) ?? null;
  } catch {
    return body;
  }
}

/** Handles the request as the faults that struck it demand. */
async function struck(exchange: Exchange, effects: readonly FaultEffect[]): Promise<void> {
  const { response, call } = exchange;
  call.faults.push(...effects.map((effect) => effect.kind));
  const wait = all(effects, 'latency').reduce((sum, effect) => sum + effect.ms, 0);
  if (wait > 0 && (await pause(response, wait)) === 'gone') return;
  for (const effect of effects) {
    switch (effect.kind) {
      case 'status':
        return answer(exchange, statusAnswer(exchange, effect));
      case 'hang':
        return await hang(exchange, effect, effects);
      case 'resetBefore':
        return reset(exchange);
      case 'resetAfter':
        run(exchange, effects);
        return reset(exchange);
      case 'pendingEvent':
        return answer(exchange, refused(exchange, /reserved|floating/.test(call.path) ? dropletPending() : addressPending('resource')));
      case 'quota':
        return answer(exchange, refused(exchange, quotaReached(call.path.includes('floating') ? 'floating IP' : 'reserved IP')));
      case 'latency':
      case 'staleReads':
      case 'truncatePages':
      case 'actionNotFound':
      case 'actionErrored':
      case 'slowAction':
        break;
    }
  }
  answer(exchange, run(exchange, effects));
}

function all<K extends FaultKind>(effects: readonly FaultEffect[], kind: K): Effect<K>[] {
  return effects.filter((effect): effect is Effect<K> => effect.kind === kind);
}

function statusAnswer(exchange: Exchange, effect: Effect<'status'>): Answer {
  const standard = {
    id: standardIds[effect.code] ?? 'server_error',
    message: `Simulated ${effect.code}.`,
    request_id: exchange.call.requestId,
  };
  const body = effect.body ?? standard;
  // A real 429 shows that nothing is left.
  const spent = effect.code === 429 ? { 'ratelimit-remaining': '0' } : {};
  return { status: effect.code, headers: { ...spent, ...effect.headers }, text: typeof body === 'string' ? body : JSON.stringify(body) };
}

const standardIds: Readonly<Record<number, string>> = {
  400: 'bad_request',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  409: 'conflict',
  422: 'unprocessable_entity',
  429: 'too_many_requests',
  503: 'service_unavailable',
};

async function hang(exchange: Exchange, effect: Effect<'hang'>, effects: readonly FaultEffect[]): Promise<void> {
  const early = effect.applied === true ? run(exchange, effects) : null;
  if ((await pause(exchange.response, effect.ms ?? null)) === 'gone') return;
  answer(exchange, early ?? run(exchange, effects));
}

function reset(exchange: Exchange): void {
  exchange.call.outcome = 'reset';
  exchange.request.socket.resetAndDestroy();
}

/** The route's effect and answer. */
function run(exchange: Exchange, effects: readonly FaultEffect[]): Answer {
  const { parts, url, call } = exchange;
  settle(parts.cloud);
  try {
    const { route, params } = parts.route(call.method, url.pathname);
    const stale = Math.max(0, ...all(effects, 'staleReads').map((effect) => effect.ms));
    const reply = route.handle({
      cloud: parts.cloud,
      url,
      params,
      body: parseJson(exchange.body),
      bend: { ms: all(effects, 'slowAction')[0]?.ms ?? null, failing: all(effects, 'actionErrored').length > 0 },
      readAt: stale > 0 ? parts.cloud.now() - stale : null,
      actionsHidden: all(effects, 'actionNotFound').length > 0,
    });
    settle(parts.cloud);
    return { status: reply.status, text: written(reply, all(effects, 'truncatePages')[0]) };
  } catch (error) {
    if (error instanceof Refusal) return refused(exchange, error);
    const text = JSON.stringify({ id: 'server_error', message: `The simulator failed: ${String(error)}`, request_id: call.requestId });
    return { status: 500, text };
  }
}

function written(reply: Reply, cut: Effect<'truncatePages'> | undefined): string | undefined {
  if (reply.body === undefined) return undefined;
  if (cut === undefined) return JSON.stringify(reply.body);
  if (cut.how === 'missingRest') return JSON.stringify(withoutRest(reply.body));
  const whole = JSON.stringify(reply.body);
  return whole.slice(0, Math.floor(whole.length / 2));
}

/** Half of the items and no links; `meta.total` still tells how many there are, which is how a reader can notice. */
function withoutRest(body: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const cut: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(body)) cut[key] = Array.isArray(value) ? value.slice(0, Math.floor(value.length / 2)) : value;
  return { ...cut, links: {} };
}

function refused(exchange: Exchange, refusal: Refusal): Answer {
  const text = JSON.stringify({ id: refusal.id, message: refusal.message, request_id: exchange.call.requestId });
  return { status: refusal.status, headers: refusal.headers, text };
}

function answer(exchange: Exchange, { status, headers, text }: Answer): void {
  const { response, call, quota } = exchange;
  if (response.destroyed) return;
  call.status = status;
  send(response, { status, headers: { 'x-request-id': call.requestId, ...quota.headers, ...headers }, text });
}
