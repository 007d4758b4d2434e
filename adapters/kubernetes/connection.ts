import { HttpMethod, RequestContext } from '@kubernetes/client-node/dist/gen/http/http.js';
import { Watch } from '@kubernetes/client-node/dist/watch.js';
import { type Dispatcher, request as send } from 'undici';
import type { Log } from '../../actors/ports/observers.ts';
import type { Clock } from '../../actors/ports.ts';
import { ApiError, messageOf, refusal, ServerUnreachable, type Target } from './api-error.ts';
import type { Random } from './backoff.ts';
import { ItemScanner } from './item-scanner.ts';
import type { KeptConfig } from './kube-config.ts';

export const MERGE_PATCH = 'application/merge-patch+json';
export const JSON_PATCH = 'application/json-patch+json';
/** Merges lists of built-in kinds item by item. */
export const STRATEGIC_MERGE_PATCH = 'application/strategic-merge-patch+json';

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Request {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below the server's address, e.g. `/api/v1/nodes`. */
  readonly path: string;
  readonly query?: Query;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Default `application/json`. */
  readonly contentType?: string;
  /** When to give up, ms; default that of the connection. */
  readonly deadlineMs?: number;
  /** It waits behind nothing else: it has a connection to itself. */
  readonly isUrgent?: true;
}

export interface WatchHandlers {
  /** The server began to answer. */
  opened(): void;
  event(type: string, object: unknown): void;
  /** Called once; `error` null when the server closed the watch in the ordinary way. */
  done(error: Error | null): void;
}

export interface WatchOptions {
  readonly path: string;
  readonly query: Query;
  /** The server begins to answer within this, ms. */
  readonly connectMs: number;
  /** Asked before each wait: after how long a silence, ms, the connection counts as dead. */
  quietMs(): number;
}

/** What most of what speaks to the API server needs. */
export interface Means {
  readonly connection: Connection;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** The API server, as raw JSON: objects arrive as the server wrote them, and can be dropped as soon as they are read. */
export interface Connection {
  /** The answer's body. @throws ServerUnreachable | ApiError */
  send(request: Request): Promise<unknown>;
  /** Hands over each item of a list as it arrives, and answers the list without its items. Items of a list that then fails were handed over in vain.
   *  @throws ServerUnreachable | ApiError */
  list(request: Pick<Request, 'path' | 'query' | 'deadlineMs'>, item: (object: unknown) => void): Promise<unknown>;
  /** Starts a watch; answers what ends it without a `done`. Never throws. */
  watch(options: WatchOptions, handlers: WatchHandlers): () => void;
  close(): Promise<void>;
}

const DEFAULT_DEADLINE_MS = 15_000;
/** Less than any deadline of a list or a watch. */
const DEFAULT_HEADERS_MS = 10_000;
/** Over HTTP/1.1, where each has one to itself; over HTTP/2 a few are enough. */
const MOST_FOR_WRITES = 100;

const VERBS = { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' } as const;

const targetOf = ({ method, path }: Request): Target => ({
  // Names of objects come at odd positions of a path, counted from the group; a get of a collection is a list.
  verb:
    method === 'GET' ? (/^\/(?:api\/v1|apis\/[^/]+\/[^/]+)(?:\/namespaces\/[^/]+)?\/[^/]+$/.test(path) ? 'list' : 'get') : VERBS[method],
  path,
});

const messageIn = (text: string): string => {
  try {
    const { message } = JSON.parse(text) as { readonly message?: unknown };
    return typeof message === 'string' ? message : text.slice(0, 200).trim();
  } catch {
    return text.slice(0, 200).trim();
  }
};

/** The client hides what happened, such as a refused connection, in the cause of its error; several addresses tried, in the cause's code. */
const whyOf = (error: unknown): string => {
  const { cause } = error as { readonly cause?: unknown };
  if (!(cause instanceof Error)) return messageOf(error);
  return `${messageOf(error)}: ${cause.message || (cause as { readonly code?: string }).code}`;
};

/** Retry-After in seconds, the only form that the API server uses. */
const retryAfterMsOf = (header: string | string[] | undefined): number | null => {
  const seconds = Number(header);
  return header === undefined || !Number.isFinite(seconds) ? null : seconds * 1000;
};

const urlOf = (server: string, path: string, query: Query = {}): URL => {
  const url = new URL(server.replace(/\/$/, '') + path);
  for (const [key, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(key, String(value));
  return url;
};

/** A connection that ends each call of `send` and `list` after `deadlineMs`. Where the server speaks HTTP/2, lists and watches share connections, and what is sent shares
 *  others. */
export const connect = (
  config: KeptConfig,
  { deadlineMs = DEFAULT_DEADLINE_MS, headersMs = DEFAULT_HEADERS_MS }: { readonly deadlineMs?: number; readonly headersMs?: number } = {},
): Connection => {
  const server = config.getCurrentCluster()?.server ?? '';
  const reading = config.sharing(headersMs);
  const writing = config.sharing(headersMs, MOST_FOR_WRITES);
  return {
    send: (request) => sendOne(request.isUrgent ? config : writing, server, { deadlineMs, ...request }),
    list: (request, item) => listOne(reading, server, { deadlineMs, ...request, method: 'GET' }, item),
    watch: (options, handlers) => startWatch(reading, options, handlers),
    close: async () => void (await Promise.all([config, reading, writing].map((each) => each.close()))),
  };
};

const sendOne = async (config: KeptConfig, server: string, request: Request): Promise<unknown> => {
  const text = await answered(server, request, async () => {
    const { status, body, retryAfterMs } = await exchange(config, server, request);
    const all = await body.text();
    if (status >= 400) throw refusal(targetOf(request), status, messageIn(all), retryAfterMs);
    return all;
  });
  return parsed(request, text);
};

const listOne = async (config: KeptConfig, server: string, request: Request, item: (object: unknown) => void): Promise<unknown> => {
  const scanner = new ItemScanner((text) => item(parsed(request, text)));
  const around = await answered(server, request, async () => {
    const { status, body, retryAfterMs } = await exchange(config, server, request);
    if (status >= 400) throw refusal(targetOf(request), status, messageIn(await body.text()), retryAfterMs);
    for await (const chunk of body) scanner.push(chunk as Buffer);
    return scanner.end();
  });
  return parsed(request, around);
};

/** What `exchanged` answers; whatever goes wrong on the way counts as a server that cannot be reached. */
const answered = async <T>(server: string, request: Request, exchanged: () => Promise<T>): Promise<T> => {
  try {
    return await exchanged();
  } catch (cause) {
    if (cause instanceof ApiError || cause instanceof ServerUnreachable) throw cause;
    throw new ServerUnreachable(`${targetOf(request).verb} ${request.path}: no answer from ${server}: ${whyOf(cause)}`, { cause });
  }
};

const parsed = (request: Request, text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ServerUnreachable(`${targetOf(request).verb} ${request.path}: the answer is no JSON`, { cause });
  }
};

interface Answer {
  readonly status: number;
  readonly body: Dispatcher.ResponseData['body'];
  readonly retryAfterMs: number | null;
}

const exchange = async (config: KeptConfig, server: string, request: Request): Promise<Answer> => {
  const { method, body, contentType, deadlineMs = DEFAULT_DEADLINE_MS } = request;
  const url = urlOf(server, request.path, request.query);
  const context = new RequestContext(url.toString(), HttpMethod.GET);
  await config.applySecurityAuthentication(context);
  const dispatcher = context.getDispatcher();
  const answer = await send(url, {
    method,
    headers: {
      ...context.getHeaders(),
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': contentType ?? 'application/json' }),
    },
    body: body === undefined ? null : JSON.stringify(body),
    signal: AbortSignal.timeout(deadlineMs),
    ...(dispatcher === undefined ? {} : { dispatcher }),
  });
  return { status: answer.statusCode, body: answer.body, retryAfterMs: retryAfterMsOf(answer.headers['retry-after']) };
};

const watchError = (path: string, error: unknown): Error => {
  if (error instanceof ApiError || error instanceof ServerUnreachable) return error;
  const status = (error as { readonly statusCode?: unknown }).statusCode;
  if (typeof status === 'number') return refusal({ verb: 'watch', path }, status, messageOf(error));
  return new ServerUnreachable(`watch ${path}: ${whyOf(error)}`, { cause: error });
};

const startWatch = (config: KeptConfig, options: WatchOptions, handlers: WatchHandlers): (() => void) => {
  const watch = new Watch(config);
  let ended = false;
  let waits = 0;
  // The library reads its limit each time it waits: first for the answer, then for every piece of it.
  const limitMs = (): number => {
    waits += 1;
    if (waits === 1) return options.connectMs;
    if (waits === 2 && !ended) handlers.opened();
    return options.quietMs();
  };
  Object.defineProperty(watch, 'requestTimeoutMs', { get: limitMs });
  let abort = (): void => undefined;
  const finish = (error: unknown): void => {
    if (ended) return;
    ended = true;
    handlers.done(error === null || error === undefined ? null : watchError(options.path, error));
  };
  const take = (type: string, object: unknown): void => {
    // Lines that were read before the end may still be handed over after it.
    if (!ended) handlers.event(type, object);
  };
  watch.watch(options.path, { ...options.query }, take, finish).then((controller) => {
    if (ended) controller.abort();
    else abort = () => controller.abort();
  }, finish);
  return () => {
    ended = true;
    abort();
  };
};
