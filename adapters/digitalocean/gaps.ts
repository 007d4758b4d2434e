import { AsyncLocalStorage } from 'node:async_hooks';
import type { AxiosResponse, InternalAxiosRequestConfig } from 'axios';
import type { DigitalOcean } from 'digitalocean-js';
import { ProviderError } from '../../actors/ports/errors.ts';
import type { Call } from '../../actors/ports/provider.ts';
import { type ErrorKind, fieldsOf, isFields, type ObservedAddress } from '../../machines/model/types.ts';
import { type Verb as AnyVerb, exchange, isWrite, openWire, type Reply, type Wire } from '../http/exchange.ts';
import { counted, fields, KIND_OF_STATUS, parsed } from '../http/read.ts';
import {
  baseURLOf,
  boundedWaitMs,
  closeBudget,
  pay,
  type RequestLayerOptions,
  retryAfterMs,
  shortestWaitMs,
  untilByServer,
  userAgentOf,
  verbOf,
  withoutSecrets,
} from '../http/verbs.ts';
import { library } from './library.ts';
import { PageSizes, pagesFor, readPages } from './paging.ts';
import { observedAddress } from './read.ts';

/** The API responded with a refusal. */
export class ApiRefusal extends ProviderError {
  readonly status: number;
  /** The API's message, for users and to distinguish refusals of the same status. */
  readonly reason: string;

  constructor(
    kind: ErrorKind,
    about: { what: string; status: number; reason: string },
    more: { retryAfterMs?: number; unknownOutcome?: boolean; effectWithinMs?: number },
  ) {
    super(kind, `${about.what}: ${about.status} ${about.reason}`, more);
    this.name = 'ApiRefusal';
    this.status = about.status;
    this.reason = about.reason;
  }
}

/**
 * What digitalocean-js lacks, on top of its own request layer: reserved IPs, paging, a deadline, errors without the token, the
 * request budget and the rate-limit headers. All requests, including the library's, go through `send` below.
 */
export interface RequestLayer {
  readonly services: DigitalOcean;
  /** Runs one verb of the port under its deadline. `what` names it in messages: `assign 203.0.113.7 to digitalocean://1`. */
  readonly verb: <T>(what: string, call: Call, run: () => Promise<T>) => Promise<T>;
  readonly get: (path: string) => Promise<unknown>;
  readonly post: (path: string, body: unknown) => Promise<unknown>;
  readonly delete: (path: string) => Promise<unknown>;
  /** Every item of a list, or an error: never a partial list. */
  readonly listAll: <T>(
    path: string,
    key: string,
    read: (item: unknown) => T,
    query?: Readonly<Record<string, string>>,
  ) => Promise<readonly T[]>;
  readonly close: () => void;
}

/** The request settings of one token. */
interface Account {
  readonly options: RequestLayerOptions;
  readonly baseURL: string;
  readonly wire: Wire;
}

interface Verb extends AnyVerb {
  readonly account: Account;
  /** Requests paid for but not yet sent. */
  paid: number;
}

const { services, requestLayer } = library;

/** The verb that a request of the library belongs to, which determines its token. */
const ongoing = new AsyncLocalStorage<Verb>();

requestLayer.defaults.adapter = (config) => {
  const verb = ongoing.getStore();
  if (verb === undefined) throw new Error('a request outside of a verb');
  return send(verb, config);
};

export function createRequestLayer(options: RequestLayerOptions): RequestLayer {
  const baseURL = baseURLOf(options.url ?? 'https://api.digitalocean.com', '/v2');
  const wire = openWire(baseURL, options.probe, options.heard);
  const account: Account = { options, baseURL, wire };
  const data = (response: AxiosResponse<unknown>): unknown => response.data;
  /** Number of items of each list when last read. */
  const itemsOf = new Map<string, number>();
  const sizes = new PageSizes();
  const get: RequestLayer['get'] = (path) => requestLayer.get<unknown>(path).then(data);

  return {
    services,
    verb: async (what, call, run) => {
      try {
        return await ongoing.run({ ...verbOf(options, what, call), account, paid: 0 }, run);
      } catch (error) {
        throw withoutSecrets(error, what);
      }
    },
    get,
    post: (path, body) => requestLayer.post<unknown>(path, body).then(data),
    delete: (path) => requestLayer.delete<unknown>(path).then(data),
    listAll: async (path, key, read, query = {}) => {
      // A list that runs out of budget before its last page wastes what it spent, so its pages are paid together.
      const ensurePaid = async (pages: number): Promise<void> => {
        const verb = ongoing.getStore();
        if (verb !== undefined && pages > verb.paid) await prepay(options, verb, pages - verb.paid);
      };
      const perPage = sizes.of(path, performance.now());
      await ensurePaid(pagesFor(itemsOf.get(path) ?? 0, perPage));
      try {
        const all = await readPages({ get, path, key, query, perPage, read }, ensurePaid);
        itemsOf.set(path, all.length);
        return all;
      } catch (error) {
        if (error instanceof ApiRefusal && error.status >= 500) sizes.failed(path, performance.now());
        throw error;
      }
    },
    close: () => wire.agent.destroy(),
  };
}

// ---------------------------------------------------------------- one request

/** Pays from the budget, checks the fence, sends, and classifies the response: the only place that sends requests. */
async function send(verb: Verb, config: InternalAxiosRequestConfig): Promise<AxiosResponse> {
  const { options, baseURL, wire } = verb.account;
  const url = requestLayer.getUri({ ...config, baseURL });
  const method = (config.method ?? 'get').toUpperCase();
  const write = isWrite(method);
  // Both are calls to Redis, made in parallel.
  await Promise.all([verb.paid === 0 && prepay(options, verb, 1), write && verb.call.fence?.read()]);
  verb.paid -= 1;
  const body = typeof config.data === 'string' ? config.data : undefined;
  const reply = await exchange(wire, verb, {
    method,
    url,
    headers: { ...headersOf(config), 'User-Agent': userAgentOf(options), Authorization: `Bearer ${options.token}` },
    body,
  });
  await heed(options, verb, reply);
  const data = reply.text === '' ? null : parsed(reply.text);
  // A redirect is not followed: the token is for this host.
  if (reply.status < 200 || reply.status >= 300) throw refusal(reply, data, verb.what, write);
  // Deleting, adding and removing calls return no body.
  if (!isFields(data) && !(write && data === null)) {
    throw new ProviderError('Unavailable', `${verb.what}: ${reply.status}, but the answer was cut or is none of the API`, {
      unknownOutcome: write,
    });
  }
  return { data, status: reply.status, statusText: '', headers: {}, config };
}

async function prepay({ budget }: RequestLayerOptions, verb: Verb, requests: number): Promise<void> {
  await pay(budget, verb, requests);
  verb.paid += requests;
}

function headersOf(config: InternalAxiosRequestConfig): Record<string, string> {
  const entries = Object.entries(config.headers.toJSON()).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
}

// ---------------------------------------------------------------- limits and errors

/** Passes the rate-limit headers to the budget. On a 429, `ratelimit-remaining: 0` may refer only to the minute, so only the wait counts. */
async function heed(options: RequestLayerOptions, verb: Verb, reply: Reply): Promise<void> {
  const remaining = counted(reply.headers['ratelimit-remaining']);
  if (reply.status !== 429) {
    const resetAt = counted(reply.headers['ratelimit-reset']);
    if (remaining !== undefined && resetAt !== undefined)
      options.budget.observe({ remaining, resetAtMs: Date.now() + untilByServer(reply, resetAt * 1000) });
    return;
  }
  // Creation has its own limit (12 a minute): when only that is used up, everything else may continue.
  if (verb.call.purpose === 'create' && remaining !== undefined && remaining > 0) return;
  await closeBudget(options, waitMs(reply) ?? shortestWaitMs);
}

/** How long the API asks to wait, ms: `Retry-After`, otherwise on a 429 `ratelimit-reset`. */
function waitMs(reply: Reply): number | undefined {
  const named = retryAfterMs(reply);
  if (named !== undefined || reply.status !== 429) return named;
  const resetAt = counted(reply.headers['ratelimit-reset']);
  return resetAt === undefined ? undefined : boundedWaitMs(untilByServer(reply, resetAt * 1000));
}

const kinds: Readonly<Record<number, ErrorKind>> = {
  ...KIND_OF_STATUS,
  429: 'RateLimited',
};

/** Statuses of the API itself, after which it no longer works on the request. A 502 or a 504 comes from a gateway in front of it. */
const STATUS_OF_FAILED_HANDLER: ReadonlySet<number> = new Set([500, 503]);
/** Any effect from before such a response is visible after this, ms. */
const ANSWERED_MS = 2_000;

function refusal(reply: Reply, data: unknown, what: string, write: boolean): ApiRefusal {
  const { status } = reply;
  const { message } = fieldsOf(data);
  const reason = (typeof message === 'string' ? message : '(no message)').slice(0, 300);
  const wait = waitMs(reply) ?? (status === 429 ? shortestWaitMs : undefined);
  const isUnclear = status >= 500 || status < 400 || !isOfApi(data);
  const isSettled = isOfApi(data) && STATUS_OF_FAILED_HANDLER.has(status);
  const more = {
    ...(wait === undefined ? {} : { retryAfterMs: wait }),
    unknownOutcome: write && status !== 429 && isUnclear,
    ...(isSettled && { effectWithinMs: ANSWERED_MS }),
  };
  return new ApiRefusal(isOfApi(data) ? kindOf(status, reason) : kindOfForeign(status), { what, status, reason }, more);
}

/** A refusal without the fields of the API's errors comes from a proxy: its 404 says nothing about an address. */
const isOfApi = (data: unknown): boolean => typeof fieldsOf(data).id === 'string' || typeof fieldsOf(data).message === 'string';

const kindOfForeign = (status: number): ErrorKind => (status === 429 ? 'RateLimited' : 'Unavailable');

function kindOf(status: number, reason: string): ErrorKind {
  // Exceeded account limits return 422 or 403; missing token scopes return 403 too.
  if (status === 403 && /limit|quota/i.test(reason)) return 'Invalid';
  if ((status === 422 || status === 400) && /pending event/i.test(reason)) return 'InProgress';
  return kinds[status] ?? (status >= 500 || status < 400 ? 'Unavailable' : 'Invalid');
}

// ---------------------------------------------------------------- reserved IPs

/** Calls on addresses, under the current or the deprecated paths. Responses about a single address are not parsed yet. */
export interface AddressCalls {
  readonly list: () => Promise<readonly ObservedAddress[]>;
  readonly get: (ip: string) => Promise<unknown>;
  readonly create: (region: string) => Promise<unknown>;
  readonly delete: (ip: string) => Promise<unknown>;
  readonly assign: (ip: string, dropletId: number) => Promise<unknown>;
  readonly unassign: (ip: string) => Promise<unknown>;
  readonly action: (ip: string, id: string) => Promise<unknown>;
}

/** The library only supports floating IPs, the former name of reserved IPs. */
export function reservedIPCalls(layer: RequestLayer): AddressCalls {
  const base = '/reserved_ips';
  const one = (key: string) => (body: unknown) => fields(body, key)[key];
  return {
    list: () => layer.listAll(base, 'reserved_ips', observedAddress),
    get: (ip) => layer.get(`${base}/${ip}`).then(one('reserved_ip')),
    create: (region) => layer.post(base, { region }).then(one('reserved_ip')),
    delete: (ip) => layer.delete(`${base}/${ip}`),
    assign: (ip, dropletId) => layer.post(`${base}/${ip}/actions`, { type: 'assign', droplet_id: dropletId }).then(one('action')),
    unassign: (ip) => layer.post(`${base}/${ip}/actions`, { type: 'unassign' }).then(one('action')),
    action: (ip, id) => layer.get(`${base}/${ip}/actions/${id}`).then(one('action')),
  };
}
