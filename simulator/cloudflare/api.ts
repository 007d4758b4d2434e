import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Call, CallLog } from './call-log.ts';
import type { FaultEffect, Faults } from './faults.ts';
import type { Account, Rights } from './model.ts';
import type { Quota } from './rate-limit.ts';
import { invalidToken, malformedToken, missingToken, Refusal } from './refusal.ts';
import type { Reply } from './reply.ts';
import { route } from './routes.ts';
import { type Answer, parseJson, pause, readBody, send } from './wire.ts';

export interface ApiParts {
  readonly account: Account;
  readonly faults: Faults;
  readonly log: CallLog;
  readonly limiter: (token: string) => Quota;
  /** What a token may do; null for one that is not known. */
  readonly rightsOf: (token: string) => Rights | null;
}

interface Exchange {
  readonly parts: ApiParts;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  readonly body: string;
  readonly call: Call;
  readonly quota: Quota;
  readonly rights: Rights;
}

type Effect<K extends FaultEffect['kind']> = Extract<FaultEffect, { kind: K }>;

/** Answers requests below /client/v4: token, rate limit, faults, route, in this order. */
export function createApi(parts: ApiParts): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return async (request, response) => {
    const at = parts.account.now();
    const body = await readBody(request);
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    const token = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const call = parts.log.open({
      at,
      method: request.method ?? 'GET',
      path: url.pathname + url.search,
      body: readable(body),
      tokenHash: createHash('sha256').update(token).digest('hex').slice(0, 8),
    });
    response.once('close', () => {
      call.outcome ??= response.writableFinished ? 'answered' : 'aborted';
      call.latencyMs ??= parts.account.now() - at;
    });
    const quota = parts.limiter(token);
    const rights = parts.rightsOf(token);
    const refusal = strangerRefusal(request, token, rights) ?? quota.refusal;
    if (refusal !== null || rights === null) return answer({ response, call, quota }, refused(refusal ?? invalidToken()));
    await struck({ parts, request, response, url, body, call, quota, rights }, parts.faults.strike(call.method, call.path));
  };
}

function strangerRefusal(request: IncomingMessage, token: string, rights: Rights | null): Refusal | null {
  if (request.headers.authorization === undefined) return missingToken();
  if (token === '') return malformedToken();
  return rights === null ? invalidToken() : null;
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
        return answer(exchange, statusAnswer(effect));
      case 'hang':
        return await hang(exchange, effect, effects);
      case 'resetBefore':
        return reset(exchange);
      case 'resetAfter':
        run(exchange, effects);
        return reset(exchange);
      case 'latency':
      case 'truncatePages':
        break;
    }
  }
  answer(exchange, run(exchange, effects));
}

function all<K extends FaultEffect['kind']>(effects: readonly FaultEffect[], kind: K): Effect<K>[] {
  return effects.filter((effect): effect is Effect<K> => effect.kind === kind);
}

const standardCodes: Readonly<Record<number, number>> = { 401: 10_000, 403: 9109, 404: 7003, 429: 971 };

/** From 500 on it is the edge that answers, and not in JSON. */
function statusAnswer({ code, body, headers = {} }: Effect<'status'>): Answer {
  const standard = envelope(null, [{ code: standardCodes[code] ?? 1000, message: `Simulated ${code}.` }]);
  const said = body ?? (code >= 500 ? `error code: ${code}` : standard);
  return { status: code, headers, text: typeof said === 'string' ? said : JSON.stringify(said) };
}

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
function run({ parts, rights, url, call, body }: Exchange, effects: readonly FaultEffect[]): Answer {
  try {
    const reply = route({ account: parts.account, rights, method: call.method, url, body: parseJson(body) });
    return written(reply, all(effects, 'truncatePages')[0]);
  } catch (error) {
    if (error instanceof Refusal) return refused(error);
    return { status: 500, text: JSON.stringify(envelope(null, [{ code: 1000, message: `The simulator failed: ${String(error)}` }])) };
  }
}

const envelope = (result: unknown, errors: Refusal['errors'] = []): Record<string, unknown> => ({
  result,
  success: errors.length === 0,
  errors,
  messages: [],
});

function written(reply: Reply, cut: Effect<'truncatePages'> | undefined): Answer {
  if (reply.kind === 'text') return { status: 200, headers: { 'content-type': 'text/plain' }, text: reply.text };
  const { result, info } = reply;
  const shown = cut?.how === 'missingRest' && Array.isArray(result) ? result.slice(0, Math.floor(result.length / 2)) : result;
  const text = JSON.stringify({ ...envelope(shown), ...(info === undefined ? {} : { result_info: info }) });
  return { status: 200, text: cut !== undefined && cut.how !== 'missingRest' ? text.slice(0, Math.floor(text.length / 2)) : text };
}

const refused = ({ status, errors, headers }: Refusal): Answer => ({ status, headers, text: JSON.stringify(envelope(null, errors)) });

function answer({ response, call, quota }: Pick<Exchange, 'response' | 'call' | 'quota'>, { status, headers, text }: Answer): void {
  if (response.destroyed) return;
  call.status = status;
  send(response, { status, headers: { ...quota.headers, ...headers }, text });
}
