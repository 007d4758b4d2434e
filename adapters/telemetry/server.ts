import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { listen } from '../listener/listen.ts';
import type { BindAddress } from './bind-address.ts';

/** The response of /metrics. */
export interface Scraped {
  readonly contentType: string;
  /** The text in pieces, which are rendered on demand. */
  readonly body: () => Iterable<string>;
}

interface Answer {
  readonly contentType: string;
  readonly text: Buffer;
}

/** Null while all is well, otherwise the human-readable problem: `unreachable since 12 s (connect ECONNREFUSED)`. */
export type Check = () => string | null | Promise<string | null>;

interface TelemetryServerOptions {
  /** Null to not listen. */
  readonly bind: BindAddress | null;
  /** The text for /metrics. */
  readonly scrape: () => Promise<Scraped>;
  /** Access to /metrics by the Authorization header; probes are public. Absent: /metrics is public too. Never throws. */
  readonly gate?: (authorization: string | undefined) => Promise<{ readonly status: number; readonly message: string } | null>;
  /** By name: the conditions for readiness. */
  readonly checks: Readonly<Record<string, Check>>;
  /** By name: notices that do not affect readiness; null for none. */
  readonly notices?: Readonly<Record<string, () => string | null>>;
  /** Why this process cannot continue and must be restarted; null while it can. */
  readonly fatal: () => string | null;
  /** Redacts secrets in responses. */
  readonly hide: (text: string) => string;
  /** A check that takes longer counts as failed, ms. */
  readonly checkDeadlineMs?: number;
}

export interface TelemetryServer {
  /** `http://127.0.0.1:8080`, with the actual port; null when it does not listen. */
  readonly url: string | null;
  close(): Promise<void>;
}

/** Serves /metrics, /healthz and /readyz. Resolves once it listens. @throws Error that names the address when it cannot be listened on */
export async function startTelemetryServer(options: TelemetryServerOptions): Promise<TelemetryServer> {
  if (options.bind === null) return { url: null, close: async () => undefined };
  const answering = { ...options, answer: shared(async () => wholeOf(await options.scrape())) };
  return listen({
    name: 'metrics and probes',
    bind: options.bind,
    answer: ({ method, headers: { authorization } }, response, { pathname }) => {
      const route = (method === 'GET' || method === 'HEAD') && Object.hasOwn(routes, pathname) ? routes[pathname] : undefined;
      return route ? route(answering, response, authorization) : reply(response, 404, 'There are /metrics, /healthz and /readyz.\n');
    },
    failed: (error, response) => reply(response, 500, `${options.hide(String(error))}\n`),
    limits: { header: 8 * 1024 },
  });
}

/** Requests made while a response is being rendered share it: concurrent requests cost as much as one. */
function shared<T>(make: () => Promise<T>): () => Promise<T> {
  let making: Promise<T> | null = null;
  return () => {
    making ??= make().finally(() => {
      making = null;
    });
    return making;
  };
}

interface Answering extends TelemetryServerOptions {
  /** The response shared by concurrent requests for /metrics. */
  readonly answer: () => Promise<Answer>;
}

type Route = (options: Answering, response: ServerResponse, authorization: string | undefined) => Promise<void>;

const routes: Readonly<Record<string, Route>> = {
  '/metrics': async ({ answer, gate, hide }, response, authorization) => {
    const refusal = (await gate?.(authorization)) ?? null;
    if (refusal !== null) {
      if (refusal.status === 401) response.setHeader('WWW-Authenticate', 'Bearer');
      reply(response, refusal.status, `${hide(refusal.message)}\n`);
      return;
    }
    const { contentType, text } = await answer();
    response.writeHead(200, headers(contentType));
    response.end(text);
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

/** The result of `check`; an error or a timeout is a problem as well. */
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

/** Yields to the event loop after each piece. */
async function wholeOf({ contentType, body }: Scraped): Promise<Answer> {
  const pieces: Buffer[] = [];
  for (const piece of body()) {
    pieces.push(Buffer.from(piece));
    await setImmediate();
  }
  return { contentType, text: Buffer.concat(pieces) };
}

function reply(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, headers('text/plain; charset=utf-8'));
  response.end(body);
}

const headers = (contentType: string) =>
  ({ 'Content-Type': contentType, 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' }) as const;
