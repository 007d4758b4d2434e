import { AsyncLocalStorage } from 'node:async_hooks';
import { Agent as HttpAgent, type IncomingHttpHeaders, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import type { TLSSocket } from 'node:tls';
import type { AxiosResponse, InternalAxiosRequestConfig } from 'axios';
import type { DigitalOcean } from 'digitalocean-js';
import { Fenced, ProviderError, Unreachable } from '../../actors/errors.ts';
import type { Budget, Call, Log, Probe } from '../../actors/ports.ts';
import type { ErrorKind } from '../../machines/types.ts';
import { loadLibrary } from './library.ts';
import { readPages } from './paging.ts';
import { fields } from './read.ts';

/**
 * What digitalocean-js lacks, on its own request layer: reserved IPs, paging, a deadline, errors that bear no token, the
 * request budget and the rate-limit headers. All requests, the library's too, go through `send` below.
 */
export interface RequestLayerOptions {
  readonly token: string;
  /** `https://api.digitalocean.com` by default; with or without /v2. */
  readonly url?: string | undefined;
  /** For a whole verb, milliseconds; 15 s by default. */
  readonly deadlineMs?: number | undefined;
  readonly budget: Budget;
  readonly log: Log;
  readonly probe?: Probe | undefined;
}

/** The API answered, and refused. */
export class ApiRefusal extends ProviderError {
  readonly status: number;
  /** What the API said, for people and for telling refusals of one status apart. */
  readonly reason: string;

  constructor(
    kind: ErrorKind,
    about: { what: string; status: number; reason: string },
    more: { retryAfterMs?: number; unknownOutcome?: boolean },
  ) {
    super(kind, `${about.what}: ${about.status} ${about.reason}`, more);
    this.name = 'ApiRefusal';
    this.status = about.status;
    this.reason = about.reason;
  }
}

export interface RequestLayer {
  readonly services: DigitalOcean;
  /** Runs one verb of the port under its deadline. `what` names it in messages: `assign 203.0.113.7 to digitalocean://1`. */
  readonly verb: <T>(what: string, call: Call, run: () => Promise<T>) => Promise<T>;
  readonly get: (path: string) => Promise<unknown>;
  readonly post: (path: string, body: unknown) => Promise<unknown>;
  readonly delete: (path: string) => Promise<unknown>;
  /** Every item of a list, or an error: never part of it. */
  readonly listAll: (path: string, key: string, query?: Readonly<Record<string, string>>) => Promise<readonly unknown[]>;
  readonly close: () => void;
}

interface Verb {
  readonly what: string;
  readonly call: Call;
  /** By `performance.now()`. */
  readonly deadlineAt: number;
  /** Requests of it that are paid for and not yet sent. */
  paid: number;
}

const defaultDeadlineMs = 15_000;
/** Shorter than what servers and load balancers keep idle connections, so that a request rarely meets a closing one. */
const idleSocketMs = 30_000;

export function createRequestLayer(options: RequestLayerOptions): RequestLayer {
  const baseURL = `${(options.url ?? 'https://api.digitalocean.com').replace(/\/+$/, '').replace(/\/v2$/, '')}/v2`;
  const secure = baseURL.startsWith('https:');
  const agent = new (secure ? HttpsAgent : HttpAgent)({ keepAlive: true, timeout: idleSocketMs, scheduling: 'lifo' });
  const { services, requestLayer } = loadLibrary(options.token, baseURL);
  const ongoing = new AsyncLocalStorage<Verb>();
  requestLayer.defaults.adapter = (config) => {
    const verb = ongoing.getStore();
    if (verb === undefined) throw new Error('a request outside of a verb');
    return send({ options, secure, agent, url: requestLayer.getUri(config) }, verb, config);
  };
  const data = (response: AxiosResponse<unknown>): unknown => response.data;
  /** Pages of each list when it was last read. */
  const pagesOf = new Map<string, number>();
  const get: RequestLayer['get'] = (path) => requestLayer.get<unknown>(path).then(data);

  return {
    services,
    verb: async (what, call, run) => {
      const deadlineAt = performance.now() + (options.deadlineMs ?? defaultDeadlineMs);
      try {
        return await ongoing.run({ what, call, deadlineAt, paid: 0 }, run);
      } catch (error) {
        throw safe(error, what);
      }
    },
    get,
    post: (path, body) => requestLayer.post<unknown>(path, body).then(data),
    delete: (path) => requestLayer.delete<unknown>(path).then(data),
    listAll: async (path, key, query = {}) => {
      // A list that stops for want of budget before its last page has spent what it took on nothing: so its pages are paid together.
      const ensurePaid = async (pages: number): Promise<void> => {
        const verb = ongoing.getStore();
        if (verb !== undefined && pages > verb.paid) await pay(options.budget, verb, pages - verb.paid);
      };
      await ensurePaid(pagesOf.get(path) ?? 1);
      return readPages({ get, path, key, query }, async (pagesLeft, pages) => {
        pagesOf.set(path, pages);
        await ensurePaid(pagesLeft);
      });
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

// ---------------------------------------------------------------- one request

interface Wire {
  readonly options: RequestLayerOptions;
  readonly secure: boolean;
  readonly agent: HttpAgent;
  readonly url: string;
}

/** Pays the budget, asks the fence, sends, and classifies what came back: the only place where requests leave. */
async function send(wire: Wire, verb: Verb, config: InternalAxiosRequestConfig): Promise<AxiosResponse> {
  const write = config.method !== 'get';
  if (verb.paid === 0) await pay(wire.options.budget, verb, 1);
  verb.paid -= 1;
  if (write) await verb.call.fence?.read();
  const reply = await exchange(wire, verb, config);
  await heed(wire.options, verb, reply);
  const data = parsed(reply.text);
  if (reply.status >= 400) throw refusal(reply, data, verb.what, write);
  if (data === undefined) {
    throw new ProviderError('Unavailable', `${verb.what}: ${reply.status}, but the answer was cut`, { unknownOutcome: write });
  }
  return { data, status: reply.status, statusText: '', headers: {}, config };
}

async function pay(budget: Budget, verb: Verb, requests: number): Promise<void> {
  const waitMs = await budget.pay(verb.call.purpose, requests).catch((cause: unknown) => {
    throw new ProviderError('Unavailable', `${verb.what}: the request budget cannot be read`, { cause });
  });
  if (waitMs > 0) throw new ProviderError('RateLimited', `${verb.what}: the request budget is spent`, { retryAfterMs: waitMs });
  verb.paid += requests;
}

interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

function exchange(wire: Wire, verb: Verb, config: InternalAxiosRequestConfig): Promise<Reply> {
  const { options, secure, agent } = wire;
  const write = config.method !== 'get';
  return new Promise((resolve, reject) => {
    let sent = false;
    const lost = (cause: Error): void => {
      clearTimeout(timer);
      const how = sent ? 'no answer' : 'no connection';
      reject(new ProviderError('Unavailable', `${verb.what}: ${how} (${cause.message})`, { cause, unknownOutcome: write && sent }));
    };
    const body = typeof config.data === 'string' ? config.data : undefined;
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const request = (secure ? requestHttps : requestHttp)(wire.url, {
      method: config.method?.toUpperCase(),
      headers: { accept: 'application/json', ...headersOf(config), ...length },
      agent,
    });
    const timer = setTimeout(() => request.destroy(new Error('deadline exceeded')), Math.max(1, verb.deadlineAt - performance.now()));
    const begin = (): void => {
      try {
        options.probe?.('beforeSend', verb.what);
        // From here to `end` nothing may be awaited: the fence holds for this moment only.
        if (write) verb.call.fence?.assertFresh();
      } catch (error) {
        clearTimeout(timer);
        reject(error);
        request.destroy();
        return;
      }
      sent = true;
      request.end(body);
    };
    // The fence is asked when the connection stands, however long that took: what is handed over before would be sent whatever has happened since.
    request.once('socket', (socket) => {
      const isReady = !socket.connecting && !(secure && (socket as TLSSocket & { secureConnecting?: boolean }).secureConnecting);
      if (isReady) begin();
      else socket.once(secure ? 'secureConnect' : 'connect', begin);
    });
    request.once('error', lost);
    request.once('response', (response) => {
      options.probe?.('beforeReplyRead', verb.what);
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', lost);
      response.once('end', () => {
        clearTimeout(timer);
        options.probe?.('afterReply', verb.what);
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text: Buffer.concat(chunks).toString('utf8') });
      });
    });
  });
}

function headersOf(config: InternalAxiosRequestConfig): Record<string, string> {
  const entries = Object.entries(config.headers.toJSON()).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
}

/** The body as JSON, an empty one as null; undefined when it is not JSON. */
function parsed(body: string): unknown {
  if (body === '') return null;
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return undefined;
  }
}

// ---------------------------------------------------------------- limits and errors

/** Hands on what the answer says of the limits. On a 429 `ratelimit-remaining: 0` may mean the minute alone, so only the wait counts. */
async function heed(options: RequestLayerOptions, verb: Verb, reply: Reply): Promise<void> {
  const remaining = Number(reply.headers['ratelimit-remaining'] ?? Number.NaN);
  if (reply.status !== 429) {
    const resetAtMs = Number(reply.headers['ratelimit-reset'] ?? Number.NaN) * 1000;
    if (Number.isFinite(remaining) && Number.isFinite(resetAtMs)) options.budget.observe({ remaining, resetAtMs });
    return;
  }
  // Creation has a limit of its own (12 a minute): when that alone is spent, everything else may go on.
  if (verb.call.purpose === 'create' && remaining > 0) return;
  await options.budget.close(waitMs(reply) ?? defaultWaitMs).catch((error: unknown) => {
    options.log.warn('could not close the request budget', { error: error instanceof Error ? error.message : String(error) });
  });
}

const defaultWaitMs = 1000;
const longestWaitMs = 3_600_000;

/** How long the API asks to wait: `Retry-After` (seconds or a date), on a 429 else `ratelimit-reset`. */
function waitMs({ status, headers }: Reply): number | undefined {
  const after = headers['retry-after'];
  const reset = Number(headers['ratelimit-reset'] ?? Number.NaN) * 1000;
  const seconds = Number(after ?? Number.NaN) * 1000;
  const until = Number.isNaN(seconds) ? Date.parse(after ?? '') - Date.now() : seconds;
  const wait = Number.isNaN(until) && status === 429 ? reset - Date.now() : until;
  return Number.isNaN(wait) ? undefined : Math.min(longestWaitMs, Math.max(defaultWaitMs, wait));
}

const kinds: Readonly<Record<number, ErrorKind>> = {
  401: 'Unauthorized',
  403: 'Unauthorized',
  404: 'NotFound',
  408: 'Unavailable',
  409: 'Conflict',
  429: 'RateLimited',
};

function refusal(reply: Reply, data: unknown, what: string, write: boolean): ApiRefusal {
  const { status } = reply;
  const said = typeof data === 'object' && data !== null && 'message' in data ? String(data.message) : '(no message)';
  const reason = said.slice(0, 300);
  const wait = waitMs(reply) ?? (status === 429 ? defaultWaitMs : undefined);
  const more = { ...(wait === undefined ? {} : { retryAfterMs: wait }), unknownOutcome: write && status >= 500 };
  return new ApiRefusal(kindOf(status, reason), { what, status, reason }, more);
}

function kindOf(status: number, reason: string): ErrorKind {
  // An account's limits are refused with 422 or 403; a token's rights with 403 too.
  if (status === 403 && /limit|quota/i.test(reason)) return 'Invalid';
  if ((status === 422 || status === 400) && /pending event/i.test(reason)) return 'InProgress';
  return kinds[status] ?? (status >= 500 ? 'Unavailable' : 'Invalid');
}

// ---------------------------------------------------------------- reserved IPs

/** Calls on addresses, under the present or the deprecated paths. What they answer is not yet read. */
export interface AddressCalls {
  readonly list: () => Promise<readonly unknown[]>;
  readonly get: (ip: string) => Promise<unknown>;
  readonly create: (region: string) => Promise<unknown>;
  readonly delete: (ip: string) => Promise<unknown>;
  readonly assign: (ip: string, dropletId: number) => Promise<unknown>;
  readonly unassign: (ip: string) => Promise<unknown>;
  readonly action: (ip: string, id: string) => Promise<unknown>;
}

/** The library knows floating IPs only, the old name of the same thing. */
export function reservedIPCalls(layer: RequestLayer): AddressCalls {
  const base = '/reserved_ips';
  const one = (key: string) => (body: unknown) => fields(body, key)[key];
  return {
    list: () => layer.listAll(base, 'reserved_ips'),
    get: (ip) => layer.get(`${base}/${ip}`).then(one('reserved_ip')),
    create: (region) => layer.post(base, { region }).then(one('reserved_ip')),
    delete: (ip) => layer.delete(`${base}/${ip}`),
    assign: (ip, dropletId) => layer.post(`${base}/${ip}/actions`, { type: 'assign', droplet_id: dropletId }).then(one('action')),
    unassign: (ip) => layer.post(`${base}/${ip}/actions`, { type: 'unassign' }).then(one('action')),
    action: (ip, id) => layer.get(`${base}/${ip}/actions/${id}`).then(one('action')),
  };
}
