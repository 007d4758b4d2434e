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

/** Who asks, as audit logs and the managedFields of objects name it. */
export interface Identity {
  /** `program/version (platform) purpose`: sent with every request. */
  readonly userAgent: string;
  /** Of what is written; that of a status is `statusManager` of it. The same in every version, since fields belong to the name. */
  readonly fieldManager: string;
}

/** Under which name a status is written. */
export const statusManager = (fieldManager: string): string => `${fieldManager}-status`;

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
/** A webhook may take 10 s, as it is by default: so much longer than others writes are waited for, that the server says which it was. */
const WRITES_LONGER_MS = 3_000;
/** When the server is to give a write up, before that: what holds it up is told by its answer alone. */
const WRITE_TIMEOUT = '12s';
/** Over HTTP/1.1, where each has one to itself; over HTTP/2 a few are enough. */
const MOST_FOR_WRITES = 100;

const VERBS = { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' } as const;

const targetOf = ({ method, path }: Request): Target => ({
  // Names of objects come at odd positions of a path, counted from the group; a get of a collection is a list.
  verb:
    method === 'GET' ? (/^\/(?:api\/v1|apis\/[^/]+\/[^/]+)(?:\/namespaces\/[^/]+)?\/[^/]+$/.test(path) ? 'list' : 'get') : VERBS[method],
  path,
});

/** What is sent as `<program>/<version> (<platform>) <purpose>`. What it writes is the program's own, unless that is named otherwise. */
export const identityOf = (about: {
  readonly program: string;
  readonly version: string;
  readonly purpose: string;
  readonly fieldManager?: string;
}): Identity => ({
  userAgent: `${about.program}/${about.version} (${process.platform}/${process.arch}) ${about.purpose}`,
  fieldManager: about.fieldManager ?? about.program,
});

/** Deletions have no field manager; what is urgent has a deadline of its own. */
const queryOf = ({ method, path, query, isUrgent }: Request, { fieldManager }: Identity): Query => {
  const manager = subresourceIn(path) === 'status' ? statusManager(fieldManager) : fieldManager;
  return {
    ...query,
    ...(method !== 'GET' && !isUrgent && { timeout: WRITE_TIMEOUT }),
    ...(method !== 'GET' && method !== 'DELETE' && { fieldManager: manager }),
  };
};

/** The client hides what happened, such as a refused connection, in the cause of its error; several addresses tried, in the cause's code. */
const whyOf = (error: unknown): string => {
  const { cause } = error as { readonly cause?: unknown };
  if (!(cause instanceof Error)) return messageOf(error);
  return `${messageOf(error)}: ${cause.message || (cause as { readonly code?: string }).code}`;
};

/** What a server asks for beyond that is not waited for, ms: it asks for a second or a few. */
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

/** A connection that ends each call of `send` and `list` after `deadlineMs`. Where the server speaks HTTP/2, lists and watches share connections, and what is sent shares
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

/** What `exchanged` answers; whatever goes wrong on the way counts as a server that cannot be reached. */
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
  // While a proxy opens a tunnel the client does not heed the signal.
  const answer = await Promise.race([sent, aborted(signal)]);
  return { status: answer.statusCode, body: answer.body, retryAfterMs: retryAfterMsOf(answer.headers['retry-after']) };
};

/** Not by the library's: that one drops a line that it cannot read, keeps one without an end, and follows redirects. */
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
        // Lines that were read before the end may still come after it.
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
