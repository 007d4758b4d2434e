import type { IncomingMessage, ServerResponse } from 'node:http';
import { conduct, type Received, receive, watchEnd } from '../http/exchange.ts';
import { ofKind } from '../http/faults.ts';
import { type Answer, send } from '../http/wire.ts';
import type { Call, CallLog } from './call-log.ts';
import type { Cloud } from './cloud.ts';
import type { FaultEffect, Faults } from './faults.ts';
import { bent, refuseByMode } from './modes.ts';
import { bringToPresent } from './present.ts';
import { type Random, uuid } from './random.ts';
import type { Quota } from './rate-limit.ts';
import { addressPending, badRequest, dropletPending, quotaReached, Refusal, unauthorized } from './refusal.ts';
import type { Reply } from './reply.ts';
import type { Router } from './router.ts';
import { refuseUnseen, withoutUnseen } from './scopes.ts';

export interface ApiParts {
  readonly cloud: Cloud;
  readonly route: Router;
  readonly faults: Faults;
  readonly log: CallLog;
  readonly limiter: (token: string) => Quota;
  readonly accepts: (token: string) => boolean;
  readonly random: Random;
}

type Effect<K extends FaultEffect['kind']> = Extract<FaultEffect, { kind: K }>;

/** Answers requests below /v2: rate limit, token, faults, route, in this order. */
export function createApi(parts: ApiParts): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const { cloud, faults, log } = parts;
  return async (request, response) => {
    const received = await receive(request, cloud.now);
    const requestId = uuid(parts.random);
    const quota = parts.limiter(received.token);
    const call = log.open({ ...received.arrived, requestId, remaining: quota.remaining });
    watchEnd(call, response, cloud.now);
    const answer = (said: Answer): void => reply(response, call, quota, said);
    const refusal = parts.accepts(received.token) ? quota.refusal : unauthorized();
    if (refusal !== null) return answer(refused(requestId, refusal));
    const effects = faults.strike(call.method, call.path);
    const run = (): Answer => outcomeOf(parts, requestId, received, effects);
    await conduct({ request, response, call, run, instead: insteadOf(call, effects), answer }, effects);
  };
}

/** What a fault makes the API answer without any effect. */
function insteadOf({ path, requestId }: Call, effects: readonly FaultEffect[]): Answer | null {
  const [status] = ofKind(effects, 'status');
  if (status !== undefined) return statusAnswer(requestId, status);
  if (ofKind(effects, 'pendingEvent').length > 0) {
    return refused(requestId, /reserved|floating/.test(path) ? dropletPending() : addressPending('resource'));
  }
  if (ofKind(effects, 'quota').length === 0) return null;
  return refused(requestId, quotaReached(path.includes('floating') ? 'floating IP' : 'reserved IP'));
}

function statusAnswer(requestId: string, effect: Effect<'status'>): Answer {
  const standard = { id: standardIds[effect.code] ?? 'server_error', message: `Simulated ${effect.code}.`, request_id: requestId };
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

/** The route's effect and answer. */
function outcomeOf(parts: ApiParts, requestId: string, { url, json, arrived, token }: Received, effects: readonly FaultEffect[]): Answer {
  const { cloud } = parts;
  bringToPresent(cloud);
  try {
    const { route, params } = parts.route(arrived.method, url.pathname);
    if (json === null) throw badRequest('error parsing request body');
    const lacking = ofKind(effects, 'lacksScope').map(({ scope }) => scope);
    if (arrived.method === 'GET') refuseUnseen(url.pathname, lacking);
    refuseByMode({ cloud, url, params, body: json.value }, effects);
    const stale = Math.max(0, ...ofKind(effects, 'staleReads').map((effect) => effect.ms));
    const said = route.handle({
      cloud,
      url,
      params,
      body: json.value,
      token,
      bend: { ms: ofKind(effects, 'slowAction')[0]?.ms ?? null, failing: ofKind(effects, 'actionErrored').length > 0 },
      readAt: stale > 0 ? cloud.now() - stale : null,
      actionsHidden: ofKind(effects, 'actionNotFound').length > 0,
    });
    bringToPresent(cloud);
    return { status: said.status, text: written(bent(withoutUnseen(said, lacking), effects), ofKind(effects, 'truncatePages')[0]) };
  } catch (error) {
    if (error instanceof Refusal) return refused(requestId, error);
    const text = JSON.stringify({ id: 'server_error', message: `The simulator failed: ${String(error)}`, request_id: requestId });
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

function refused(requestId: string, { id, message, status, headers }: Refusal): Answer {
  return { status, headers, text: JSON.stringify({ id, message, request_id: requestId }) };
}

function reply(response: ServerResponse, call: Call, quota: Quota, { status, headers, text }: Answer): void {
  if (response.destroyed) return;
  call.status = status;
  const type: Record<string, string> = text === undefined ? {} : { 'content-type': 'application/json; charset=utf-8' };
  send(response, { status, headers: { ...type, 'x-request-id': call.requestId, ...quota.headers, ...headers }, text });
}
