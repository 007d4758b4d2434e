import { HttpMethod, RequestContext } from '@kubernetes/client-node/dist/gen/http/http.js';
import { request as send } from 'undici';
import type { Log } from '../../../actors/ports/observers.ts';
import type { Clock } from '../../../actors/ports/records.ts';
import { type Answer, fieldsIn, granted, Lines, objectIn, unreadable } from './answers.ts';
import { ApiError, messageOf, ServerUnreachable, subresourceIn, type Target } from './api-error.ts';
import type { Random } from './backoff.ts';
import type { KeptConfig } from './kube-config.ts';
import { ItemScanner } from './list-parser.ts';

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
  /** Does not wait behind other requests: it has a connection to itself. */
  readonly isUrgent?: true;
}

export interface WatchHandlers {
  /** The server began to respond. */
  opened(): void;
  event(type: string, object: unknown): void;
  /** Called once; `error` is null when the server closed the watch normally. */
  done(error: Error | null): void;
}

export interface WatchOptions {
  readonly path: string;
  readonly query: Query;
  /** The server must begin to respond within this, ms. */
  readonly connectMs: number;
  /** Called before each wait: how long the stream may be silent, ms, before the connection counts as dead. */
  quietMs(): number;
}

/** The client's identity in audit logs and in the managedFields of objects. */
export interface Identity {
  /** `program/version (platform) purpose`: sent with every request. */
  readonly userAgent: string;
  /** Field manager of writes; for a status it is `statusManager` of this. The same in every version, since it owns the fields. */
  readonly fieldManager: string;
}

/** The field manager for writes of a status. */
export const statusManager = (fieldManager: string): string => `${fieldManager}-status`;

/** Common dependencies of clients of the API server. */
export interface Means {
  readonly connection: Connection;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** The API server, as raw JSON: objects arrive as the server sent them, and can be dropped as soon as they are read. */
export interface Connection {
  /** The response body. @throws ServerUnreachable | ApiError */
  send(request: Request): Promise<unknown>;
  /** Hands over each item of a list as it arrives, and returns the list without its items. If the list then fails, discard the items.
   *  @throws ServerUnreachable | ApiError */
  list(request: Pick<Request, 'path' | 'query' | 'deadlineMs'>, item: (object: unknown) => void): Promise<unknown>;
  /** Starts a watch; returns a function that ends it without calling `done`. Never throws. */
  watch(options: WatchOptions, handlers: WatchHandlers): () => void;
  close(): Promise<void>;
}

const DEFAULT_DEADLINE_MS = 15_000;
/** Less than any deadline of a list or a watch. */
const DEFAULT_HEADERS_MS = 10_000;
/** Webhooks time out after 10 s by default: writes get this much extra time, so that the server can report which webhook it was, ms. */
const WRITES_LONGER_MS = 3_000;
/** When the server must give up a write, before our own timeout: only its response says what delayed it. */
const WRITE_TIMEOUT = '12s';
/** Matters over HTTP/1.1, where each request needs its own connection; over HTTP/2 a few are enough. */
const MOST_FOR_WRITES = 100;

const VERBS = { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' } as const;

const targetOf = ({ method, path }: Request): Target => ({
  // A GET of a collection, i.e. a path that ends in the plural, is a list.
  verb:
    method === 'GET' ? (/^\/(?:api\/v1|apis\/[^/]+\/[^/]+)(?:\/namespaces\/[^/]+)?\/[^/]+$/.test(path) ? 'list' : 'get') : VERBS[method],
  path,
});

/** User agent `<program>/<version> (<platform>) <purpose>`; the field manager defaults to the program. */
export const identityOf = (about: {
  readonly program: string;
  readonly version: string;
  readonly purpose: string;
  readonly fieldManager?: string;
}): Identity => ({
  userAgent: `${about.program}/${about.version} (${process.platform}/${process.arch}) ${about.purpose}`,
  fieldManager: about.fieldManager ?? about.program,
});

/** Deletes have no field manager; urgent requests have a deadline of their own. */
const queryOf = ({ method, path, query, isUrgent }: Request, { fieldManager }: Identity): Query => {
  const manager = subresourceIn(path) === 'status' ? statusManager(fieldManager) : fieldManager;
  return {
    ...query,
    ...(method !== 'GET' && !isUrgent && { timeout: WRITE_TIMEOUT }),
    ...(method !== 'GET' && method !== 'DELETE' && { fieldManager: manager }),
  };
};

/** The HTTP client hides the reason, such as a refused connection, in the error's cause; when several addresses were tried, in the cause's code. */
const whyOf = (error: unknown): string => {
  const { cause } = error as { readonly cause?: unknown };
  if (!(cause instanceof Error)) return messageOf(error);
  return `${messageOf(error)}: ${cause.message || (cause as { readonly code?: string }).code}`;
};

/** Cap of Retry-After, ms: a server normally asks for a few seconds. */
const LONGEST_WAIT_MS = 60_000;

/** Retry-After in seconds, the only form that the API server uses. */
const retryAfterMsOf = (header: string | string[] | undefined): number | null =>
  typeof header === 'string' && /^\d+$/.test(header) ? Math.min(Number(header) * 1000, LONGEST_WAIT_MS) : null;

const urlOf = (server: string, path: string, query: Query = {}): URL => {
  const url = new URL(server.replace(/\/+$/, '') + path);
  for (const [key, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(key, String(value));
  return url;
};

const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason as Error);
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });

interface Link {
  readonly config: KeptConfig;
  readonly server: string;
  readonly identity: Identity;
}

/** A connection that ends each call of `send` and `list` after `deadlineMs`. Where the server supports HTTP/2, lists and watches share connections, and `send` shares
 *  others. */
export const connect = (
  config: KeptConfig,
  identity: Identity,
  { deadlineMs = DEFAULT_DEADLINE_MS, headersMs = DEFAULT_HEADERS_MS }: { readonly deadlineMs?: number; readonly headersMs?: number } = {},
): Connection => {
  const server = config.getCurrentCluster()?.server ?? '';
  const alone: Link = { config, server, identity };
  const reading: Link = { ...alone, config: config.sharing(headersMs) };
  const writing: Link = { ...alone, config: config.sharing(headersMs + WRITES_LONGER_MS, MOST_FOR_WRITES) };
  return {
    send: (request) => sendOne(request.isUrgent ? alone : writing, { deadlineMs, ...request }),
    list: (request, item) => listOne(reading, { deadlineMs, ...request, method: 'GET' }, item),
    watch: (options, handlers) => startWatch(reading, options, handlers),
    close: async () => void (await Promise.all([alone, reading, writing].map((each) => each.config.close()))),
  };
};

const sendOne = (link: Link, request: Request): Promise<unknown> => {
  const target = targetOf(request);
  return answered(link.server, target, async () => objectIn(await granted(await exchange(link, request), target), target));
};

const listOne = (link: Link, request: Request, item: (object: unknown) => void): Promise<unknown> => {
  const target = targetOf(request);
  const scanner = new ItemScanner((text) => item(fieldsIn(text, target)));
  return answered(link.server, target, async () => {
    const body = await granted(await exchange(link, request), target);
    for await (const chunk of body) scanner.push(chunk as Buffer);
    return fieldsIn(scanner.end(), target);
  });
};

/** The result of `exchanged`; any other error than a refusal counts as an unreachable server. */
const answered = async <T>(server: string, { verb, path }: Target, exchanged: () => Promise<T>): Promise<T> => {
  try {
    return await exchanged();
  } catch (cause) {
    if (cause instanceof ApiError || cause instanceof ServerUnreachable) throw cause;
    throw new ServerUnreachable(`${verb} ${path}: no answer from ${server}: ${whyOf(cause)}`, { cause });
  }
};

const exchange = async ({ config, server, identity }: Link, request: Request, until?: AbortSignal): Promise<Answer> => {
  const { method, body, contentType, deadlineMs = DEFAULT_DEADLINE_MS } = request;
  const url = urlOf(server, request.path, queryOf(request, identity));
  const context = new RequestContext(url.toString(), HttpMethod.GET);
  await config.applySecurityAuthentication(context);
  const dispatcher = context.getDispatcher();
  const signal = until ?? AbortSignal.timeout(deadlineMs);
  const sent = send(url, {
    method,
    headers: {
      ...context.getHeaders(),
      accept: 'application/json',
      'user-agent': identity.userAgent,
      ...(body === undefined ? {} : { 'content-type': contentType ?? 'application/json' }),
    },
    body: body === undefined ? null : JSON.stringify(body),
    signal,
    ...(dispatcher === undefined ? {} : { dispatcher }),
  });
  // The HTTP client ignores the signal while a proxy opens a tunnel.
  const answer = await Promise.race([sent, aborted(signal)]);
  return { status: answer.statusCode, body: answer.body, retryAfterMs: retryAfterMsOf(answer.headers['retry-after']) };
};

/** Replaces the library's watch, which drops unreadable lines, buffers an endless line, and follows redirects. */
const startWatch = (link: Link, options: WatchOptions, handlers: WatchHandlers): (() => void) => {
  const { path, query, connectMs, quietMs } = options;
  const target = { verb: 'watch', path };
  const [controller, lines] = [new AbortController(), new Lines()];
  let timer: NodeJS.Timeout | undefined;
  const within = (ms: number): void => {
    clearTimeout(timer);
    timer = setTimeout(() => controller.abort(new Error(`silent for ${ms} ms, which is its timeout`)), ms).unref();
  };
  const read = async (): Promise<void> => {
    within(connectMs);
    const answer = await exchange(link, { method: 'GET', path, query: { ...query, watch: true } }, controller.signal);
    const body = await granted(answer, target);
    if (!ended) handlers.opened();
    within(quietMs());
    for await (const chunk of body) {
      for (const line of lines.push(chunk as Buffer)) {
        const { type, object } = fieldsIn(line, target);
        if (typeof type !== 'string') throw unreadable(target, 'a line is no event');
        // Lines that were already read may still be processed after the end.
        if (!ended) handlers.event(type, object);
      }
      within(quietMs());
    }
  };
  let ended = false;
  const finish = (error: Error | null): void => {
    clearTimeout(timer);
    controller.abort();
    if (ended) return;
    ended = true;
    handlers.done(error);
  };
  answered(link.server, target, read).then(() => finish(null), finish);
  return () => {
    ended = true;
    clearTimeout(timer);
    controller.abort();
  };
};
