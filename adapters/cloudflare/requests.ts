import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { Fenced, ProviderError, Unreachable } from '../../actors/errors.ts';
import type { Budget, Call, Log, Probe } from '../../actors/ports.ts';
import { exchange, type Verb, type Wanted, type Wire } from './exchange.ts';
import { type Fields, fields, identifier, integer, isFields, items } from './read.ts';
import { type Reply, refusal, waitMs, windowOf } from './refusals.ts';

export interface RequestLayerOptions {
  readonly token: string;
  /** `https://api.cloudflare.com` by default; with or without /client/v4. */
  readonly url?: string | undefined;
  /** For a whole verb, milliseconds; 15 s by default. */
  readonly deadlineMs?: number | undefined;
  /** Must stay within 1200 requests in five minutes, which the API allows a token: see `cloudflareBudget`. */
  readonly budget: Budget;
  readonly log: Log;
  readonly probe?: Probe | undefined;
}

/** Requests of one verb: each is paid for, fenced when it writes, and ends with what the envelope bears or with a ProviderError. */
export interface Requests {
  readonly get: (path: string) => Promise<unknown>;
  readonly write: (method: 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown) => Promise<void>;
  /** An answer that is no envelope. */
  readonly text: (path: string) => Promise<string>;
  /** Every item of a list by its id, or an error: never part of it. */
  readonly listAll: (path: string, perPage: number, query?: Readonly<Record<string, string>>) => Promise<readonly Fields[]>;
}

export interface RequestLayer {
  /** Runs one verb of the port under its deadline. */
  readonly verb: <T>(what: string, call: Call, run: (requests: Requests) => Promise<T>) => Promise<T>;
  readonly close: () => void;
}

const defaultDeadlineMs = 15_000;
/** Shorter than what servers and load balancers keep idle connections, so that a request rarely meets a closing one. */
const idleSocketMs = 30_000;

export function createRequestLayer(options: RequestLayerOptions): RequestLayer {
  const baseURL = `${(options.url ?? 'https://api.cloudflare.com').replace(/\/+$/, '').replace(/\/client\/v4$/, '')}/client/v4`;
  const secure = baseURL.startsWith('https:');
  const agent = new (secure ? HttpsAgent : HttpAgent)({ keepAlive: true, timeout: idleSocketMs, scheduling: 'lifo' });
  const wire: Wire = { secure, agent, token: options.token, probe: options.probe };
  return {
    verb: async (what, call, run) => {
      const verb: Verb = { what, call, deadlineAt: performance.now() + (options.deadlineMs ?? defaultDeadlineMs) };
      try {
        return await run(requestsOf(options, wire, verb, baseURL));
      } catch (error) {
        throw safe(error, what);
      }
    },
    close: () => agent.destroy(),
  };
}

/** Errors of an unexpected kind may hold the request with its token: only their message goes on. */
function safe(error: unknown, what: string): unknown {
  if (error instanceof ProviderError || error instanceof Fenced || error instanceof Unreachable) return error;
  const message = error instanceof Error ? error.message : 'an unknown error';
  return new ProviderError('Unavailable', `${what}: ${message}`, { unknownOutcome: true });
}

function requestsOf(options: RequestLayerOptions, wire: Wire, verb: Verb, baseURL: string): Requests {
  const ask = (path: string): Promise<Reply> => send(options, wire, verb, { method: 'GET', url: baseURL + path });
  const envelope = async (path: string): Promise<Fields> => succeeded(await ask(path), verb, 'GET');
  return {
    get: async (path) => (await envelope(path)).result,
    write: async (method, path, body) => {
      const json = body === undefined ? {} : { body: JSON.stringify(body) };
      succeeded(await send(options, wire, verb, { method, url: baseURL + path, ...json }), verb, method);
    },
    text: async (path) => {
      const reply = await ask(path);
      if (reply.status >= 400) throw refusal(reply, parsed(reply.text), verb.what, false);
      return reply.text;
    },
    listAll: (path, perPage, query = {}) => listAll(envelope, path, perPage, query),
  };
}

/** Pays the budget, asks the fence, sends, and hands on what came back: the only place where requests leave. */
async function send(options: RequestLayerOptions, wire: Wire, verb: Verb, wanted: Wanted): Promise<Reply> {
  const waitForBudgetMs = await options.budget.pay(verb.call.purpose).catch((cause: unknown) => {
    throw new ProviderError('Unavailable', `${verb.what}: the request budget cannot be read`, { cause });
  });
  if (waitForBudgetMs > 0) {
    throw new ProviderError('RateLimited', `${verb.what}: the request budget is spent`, { retryAfterMs: waitForBudgetMs });
  }
  if (wanted.method !== 'GET') await verb.call.fence?.read();
  const reply = await exchange(wire, verb, wanted);
  await heed(options, reply);
  return reply;
}

/** The limit is the user's, and others use it up too: when nothing is left nobody sends before the window ends. */
async function heed({ budget, log }: RequestLayerOptions, reply: Reply): Promise<void> {
  const window = windowOf(reply);
  const closedMs = reply.status === 429 ? waitMs(reply) : window?.remaining === 0 ? window.endsInMs : undefined;
  if (closedMs === undefined) return;
  await budget.close(closedMs).catch((error: unknown) => {
    log.warn('could not close the request budget', { error: error instanceof Error ? error.message : String(error) });
  });
}

/** The envelope of an answer that says success. @throws ProviderError for any other */
function succeeded(reply: Reply, verb: Verb, method: Wanted['method']): Fields {
  const write = method !== 'GET';
  const data = parsed(reply.text);
  if (reply.status < 400 && data === undefined) {
    throw new ProviderError('Unavailable', `${verb.what}: ${reply.status}, but the answer was cut`, { unknownOutcome: write });
  }
  if (reply.status >= 400 || !isFields(data) || data.success !== true) throw refusal(reply, data, verb.what, write);
  return data;
}

/** The body as JSON; undefined when it is not JSON. */
function parsed(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return undefined;
  }
}

/** Pages are compared with the total they name: a list that came back cut, or changed while it was read, is an error. */
async function listAll(
  envelope: (path: string) => Promise<Fields>,
  path: string,
  perPage: number,
  query: Readonly<Record<string, string>>,
): Promise<readonly Fields[]> {
  const all = new Map<string, Fields>();
  for (let page = 1; ; page++) {
    const search = new URLSearchParams({ ...query, page: String(page), per_page: String(perPage) });
    const body = await envelope(`${path}?${search}`);
    const found = items(body.result, 'list').map((item) => fields(item, 'item of a list'));
    const info = fields(body.result_info, 'totals');
    const total = integer(info.total_count, 'total');
    for (const item of found) all.set(identifier(item.id, 'id'), item);
    if (all.size === total) return [...all.values()];
    // The API may give smaller pages than it was asked for.
    if (found.length < integer(info.per_page, 'page size') || found.length === 0 || all.size > total) {
      throw new ProviderError('Unavailable', `list ${path}: ${all.size} of ${total} were shown`);
    }
  }
}
