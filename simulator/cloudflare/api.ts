import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Call, CallLog } from '../http/call-log.ts';
import { conduct, type Received, receive, watchEnd } from '../http/exchange.ts';
import { type Faults, type HttpEffect, ofKind } from '../http/faults.ts';
import { type Answer, send } from '../http/wire.ts';
import type { Account, Rights } from './model.ts';
import type { Quota } from './rate-limit.ts';
import { invalidToken, malformedBody, malformedToken, missingToken, Refusal } from './refusal.ts';
import type { Reply } from './reply.ts';
import { route } from './routes.ts';

export interface ApiParts {
  readonly account: Account;
  readonly faults: Faults;
  readonly log: CallLog;
  readonly limiter: (token: string) => Quota;
  /** What a token may do; null for one that is not known. */
  readonly rightsOf: (token: string) => Rights | null;
}

type Effect<K extends HttpEffect['kind']> = Extract<HttpEffect, { kind: K }>;

/** Answers requests below /client/v4: token, rate limit, faults, route, in this order. */
export function createApi(parts: ApiParts): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const { account, faults, log } = parts;
  return async (request, response) => {
    const received = await receive(request, account.now);
    const { token, arrived } = received;
    const call = log.open(arrived);
    watchEnd(call, response, account.now);
    const quota = parts.limiter(token);
    const answer = (said: Answer): void => reply(response, call, quota, said);
    const rights = parts.rightsOf(token);
    const refusal = strangerRefusal(request, token, rights) ?? quota.refusal;
    if (refusal !== null || rights === null) return answer(refused(refusal ?? invalidToken()));
    const effects = faults.strike(call.method, call.path);
    const [status] = ofKind(effects, 'status');
    const [cut] = ofKind(effects, 'truncatePages');
    const run = (): Answer => outcomeOf(account, rights, received, cut);
    await conduct({ request, response, call, run, instead: status === undefined ? null : statusAnswer(status), answer }, effects);
  };
}

function strangerRefusal(request: IncomingMessage, token: string, rights: Rights | null): Refusal | null {
  if (request.headers.authorization === undefined) return missingToken();
  if (token === '') return malformedToken();
  return rights === null ? invalidToken() : null;
}

const standardCodes: Readonly<Record<number, number>> = { 401: 10_000, 403: 9109, 404: 7003, 429: 971 };

/** From 500 on it is the edge that answers, and not in JSON. */
function statusAnswer({ code, body, headers = {} }: Effect<'status'>): Answer {
  const standard = envelope(null, [{ code: standardCodes[code] ?? 1000, message: `Simulated ${code}.` }]);
  const said = body ?? (code >= 500 ? `error code: ${code}` : standard);
  return { status: code, headers, text: typeof said === 'string' ? said : JSON.stringify(said) };
}

/** The route's effect and answer. */
function outcomeOf(account: Account, rights: Rights, { url, json, arrived }: Received, cut: Effect<'truncatePages'> | undefined): Answer {
  try {
    if (json === null) throw malformedBody();
    return written(route({ account, rights, method: arrived.method, url, body: json.value }), cut);
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

function reply(response: ServerResponse, call: Call, quota: Quota, { status, headers, text }: Answer): void {
  if (response.destroyed) return;
  call.status = status;
  send(response, { status, headers: { ...quota.headers, ...headers }, text });
}
