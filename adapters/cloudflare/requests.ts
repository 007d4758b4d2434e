import { ProviderError } from '../../actors/ports/errors.ts';
import type { Call } from '../../actors/ports/provider.ts';
import { type Fields, isFields } from '../../machines/model/types.ts';
import { exchange, isWrite, openWire, type Reply, type Verb, type Wire } from '../http/exchange.ts';
import { fields, integer, items, parsed, total as totalIn } from '../http/read.ts';
import { baseURLOf, closeBudget, pay, type RequestLayerOptions, userAgentOf, verbOf, withoutSecrets } from '../http/verbs.ts';
import { identifier } from './read.ts';
import { refusal, waitMs, windowOf } from './refusals.ts';

interface Wanted {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly url: string;
  /** JSON. */
  readonly body?: string;
}

/** Requests of one verb: each is paid for, fenced when it writes, and ends with the content of the envelope or with a ProviderError. */
export interface Requests {
  readonly get: (path: string) => Promise<unknown>;
  readonly write: (method: 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown) => Promise<void>;
  /** A response without an envelope. */
  readonly text: (path: string) => Promise<string>;
  /** Every item of a list, distinct by id, or an error: never a partial list. */
  readonly listAll: (path: string, perPage: number, query?: Readonly<Record<string, string>>) => Promise<readonly Fields[]>;
}

export interface RequestLayer {
  /** Runs one verb of the port under its deadline. */
  readonly verb: <T>(what: string, call: Call, run: (requests: Requests) => Promise<T>) => Promise<T>;
  readonly close: () => void;
}

export function createRequestLayer(options: RequestLayerOptions): RequestLayer {
  const baseURL = baseURLOf(options.url ?? 'https://api.cloudflare.com', '/client/v4');
  const wire = openWire(baseURL, options.probe);
  return {
    verb: async (what, call, run) => {
      try {
        return await run(requestsOf(options, wire, verbOf(options, what, call), baseURL));
      } catch (error) {
        throw withoutSecrets(error, what);
      }
    },
    close: () => wire.agent.destroy(),
  };
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
      if (!isGranted(reply)) throw refusal(reply, parsed(reply.text), verb.what, false);
      return reply.text;
    },
    listAll: (path, perPage, query = {}) => listAll(envelope, path, perPage, query),
  };
}

/** Pays from the budget, checks the fence, sends, and returns the reply: the only place that sends requests. */
async function send(options: RequestLayerOptions, wire: Wire, verb: Verb, wanted: Wanted): Promise<Reply> {
  await pay(options.budget, verb);
  if (isWrite(wanted.method)) await verb.call.fence?.read();
  const identity = { authorization: `Bearer ${options.token}`, 'user-agent': userAgentOf(options) };
  const type = wanted.body === undefined ? {} : { 'content-type': 'application/json' };
  const reply = await exchange(wire, verb, { ...wanted, headers: { ...identity, ...type } });
  await heed(options, reply);
  return reply;
}

/** The limit is per user and shared with other clients: when it is used up, nothing is sent until the window ends. */
async function heed(options: RequestLayerOptions, reply: Reply): Promise<void> {
  const window = windowOf(reply);
  const closedMs = reply.status === 429 ? waitMs(reply) : window?.remaining === 0 ? window.endsInMs : undefined;
  if (closedMs !== undefined) await closeBudget(options, closedMs);
}

/** A redirect is not followed: the token is for this host. */
const isGranted = ({ status }: Reply): boolean => status >= 200 && status < 300;

/** The envelope of a successful response. @throws ProviderError for any other */
function succeeded(reply: Reply, verb: Verb, method: Wanted['method']): Fields {
  const write = isWrite(method);
  const data = parsed(reply.text);
  if (isGranted(reply) && data === undefined) {
    throw new ProviderError('Unavailable', `${verb.what}: ${reply.status}, but the answer was cut`, { unknownOutcome: write });
  }
  if (!isGranted(reply) || !isFields(data) || data.success !== true) throw refusal(reply, data, verb.what, write);
  return data;
}

/** Pages are checked against their total: a list that is truncated, or changed while it was read, is an error. */
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
    const total = totalIn(info.total_count);
    for (const item of found) all.set(identifier(item.id, 'id'), item);
    if (all.size === total) return [...all.values()];
    // The API may return smaller pages than requested.
    if (found.length < integer(info.per_page, 'page size') || found.length === 0 || all.size > total) {
      throw new ProviderError('Unavailable', `list ${path}: ${all.size} of ${total} were shown`);
    }
  }
}
