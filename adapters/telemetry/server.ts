import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import { listen } from '../listener/listen.ts';
import type { BindAddress } from './bind-address.ts';

/** What /metrics answers. */
export interface Scraped {
  readonly contentType: string;
  /** The text in pieces, which are made as they are taken. */
  readonly body: () => Iterable<string>;
}

/** Null while all is well, else what is missing, for people: `unreachable since 12 s (connect ECONNREFUSED)`. */
export type Check = () => string | null | Promise<string | null>;

/** So long a client may take to read all series, ms. */
const SEND_MS = 30_000;

interface TelemetryServerOptions {
  /** Null for nowhere. */
  readonly bind: BindAddress | null;
  /** The text for /metrics. */
  readonly scrape: () => Promise<Scraped>;
  /** Decides by the Authorization header who gets /metrics; probes are for everybody. Absent for all. Never throws. */
  readonly gate?: (authorization: string | undefined) => Promise<{ readonly status: number; readonly message: string } | null>;
  /** By name: what has to be there before this process is ready. */
  readonly checks: Readonly<Record<string, Check>>;
  /** By name: what people should know although nothing is missing; null for nothing. */
  readonly notices?: Readonly<Record<string, () => string | null>>;
  /** Why this process cannot go on and has to be restarted; null while it can. */
  readonly fatal: () => string | null;
  /** Takes secrets out of what is answered. */
  readonly hide: (text: string) => string;
  /** A check that takes longer counts as failed, ms. */
  readonly checkDeadlineMs?: number;
}

export interface TelemetryServer {
  /** `http://127.0.0.1:8080`, with the port that is really listened on; null when it listens nowhere. */
  readonly url: string | null;
  close(): Promise<void>;
}

/** Serves /metrics, /healthz and /readyz. Resolves once it listens. @throws Error that names the address when it cannot be listened on */
export async function startTelemetryServer(options: TelemetryServerOptions): Promise<TelemetryServer> {
  if (options.bind === null) return { url: null, close: async () => undefined };
  const scraped = { ...options, scrape: shared(options.scrape) };
  return listen({
    name: 'metrics and probes',
    bind: options.bind,
    answer: ({ method, headers: { authorization } }, response, { pathname }) => {
      const route = (method === 'GET' || method === 'HEAD') && Object.hasOwn(routes, pathname) ? routes[pathname] : undefined;
      return route ? route(scraped, response, authorization) : reply(response, 404, 'There are /metrics, /healthz and /readyz.\n');
    },
    failed: (error, response) => reply(response, 500, `${options.hide(String(error))}\n`),
    limits: { header: 8 * 1024 },
  });
}

/** Whoever asks while an answer is being made gets that one: many at once cost as much as one. */
function shared<T>(make: () => Promise<T>): () => Promise<T> {
  let making: Promise<T> | null = null;
  return () => {
    making ??= make().finally(() => {
      making = null;
    });
    return making;
  };
}

type Route = (options: TelemetryServerOptions, response: ServerResponse, authorization: string | undefined) => Promise<void>;

const routes: Readonly<Record<string, Route>> = {
  '/metrics': async ({ scrape, gate, hide }, response, authorization) => {
    const refusal = (await gate?.(authorization)) ?? null;
    if (refusal !== null) {
      if (refusal.status === 401) response.setHeader('WWW-Authenticate', 'Bearer');
      reply(response, refusal.status, `${hide(refusal.message)}\n`);
      return;
    }
    const { contentType, body } = await scrape();
    response.writeHead(200, headers(contentType));
    await pipeline(paced(body()), response, { signal: AbortSignal.timeout(SEND_MS) });
  },
  '/healthz': async ({ fatal, hide }, response) => {
    const reason = fatal();
    if (reason === null) reply(response, 200, 'ok\n');
    else reply(response, 500, `${hide(reason)}\n`);
  },
  '/readyz': async ({ checks, notices = {}, hide, checkDeadlineMs = 2_000 }, response) => {
    const results = await Promise.all(
      Object.entries(checks).map(async ([name, check]) => ({ name, problem: await problemOf(check, checkDeadlineMs) })),
    );
    const missing = results.filter(({ problem }) => problem !== null);
    const isReady = missing.length === 0;
    const said = Object.entries(notices).map(([name, notice]) => ({ name, problem: notice() }));
    const lines = [...missing, ...said.filter(({ problem }) => problem !== null)].map(
      ({ name, problem }) => `${name}: ${oneLine(problem ?? '')}\n`,
    );
    reply(response, isReady ? 200 : 503, hide([...(isReady ? ['ok\n'] : []), ...lines].join('')));
  },
};

/** What `check` says; an error or silence is a problem as well. */
async function problemOf(check: Check, deadlineMs: number): Promise<string | null> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<string>((resolve) => {
    timer = setTimeout(resolve, deadlineMs, `no answer within ${deadlineMs} ms`);
  });
  try {
    return await Promise.race([Promise.resolve().then(check), silence]);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    clearTimeout(timer);
  }
}

const oneLine = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(' ');

/** Leaves the event loop to others after each piece. */
async function* paced(pieces: Iterable<string>): AsyncGenerator<string> {
  for (const piece of pieces) {
    yield piece;
    await setImmediate();
  }
}

function reply(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, headers('text/plain; charset=utf-8'));
  response.end(body);
}

const headers = (contentType: string) =>
  ({ 'Content-Type': contentType, 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' }) as const;
