import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Observer } from '../../actors/ports/observers.ts';
import type { JournalEntry } from '../../actors/ports/records.ts';
import type { Difference } from '../../machines/model/types.ts';
import { listen } from '../listener/listen.ts';
import { SECURITY_HEADERS, serveAsset } from './assets.ts';
import { chartDefinition, type MachineLike } from './definition.ts';
import { createFeed, type Feed, type FeedOptions } from './feed.ts';
import { rowOf } from './rows.ts';

interface DashboardOptions extends FeedOptions {
  /** Loopback unless `access` asks for a token. */
  readonly bind: { readonly host?: string; readonly port: number };
  /** Decides about each request; sends the response itself and returns false when it refuses. */
  readonly access: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** The folder with index.html, ending in a slash. */
  readonly pageFolder: URL;
  /** Machines by the chart name used in records. */
  readonly machines: Readonly<Record<string, MachineLike>>;
  /** The inventory of the accounts; null while unknown. */
  readonly inventory: () => object | null;
  /** The newest transitions of an actor, newest first. */
  readonly journal: (actor: string, limit: number) => Promise<readonly JournalEntry[]>;
  /** Other pages by the text of the link, e.g. `{ Jobs: 'http://127.0.0.1:8081/jobs' }`. */
  readonly links: Readonly<Record<string, string>>;
  /** Notes about this operator, shown beside the links; absent for none. */
  readonly notes?: readonly string[];
  /** Other pages of this server, by the first segment of their path, e.g. `/jobs`. */
  readonly mounts?: Readonly<Record<string, (request: IncomingMessage, response: ServerResponse) => void>>;
  readonly version: string;
  /** The changes withheld by an operator that only observes; absent when it does not. */
  readonly changes?: () => readonly Difference[];
}

export interface Dashboard {
  readonly url: string;
  readonly observer: Required<Pick<Observer, 'turnSaved' | 'reset'>>;
  close(): Promise<void>;
}

const JOURNAL_LIMIT = 50;

/** Serves the pages and their JSON: /api/about, /api/inventory, /api/actors, /api/actor?id=, /api/charts/<name>, /api/journal?actor=, /api/plan, /api/stream, /healthz.
 *  Read-only. @throws Error that names the address when it cannot be listened on */
export async function startDashboard(options: DashboardOptions): Promise<Dashboard> {
  const feed = createFeed(options);
  const { url, close } = await listen({
    name: 'dashboard',
    bind: options.bind,
    answer: (request, response, target) => answer(options, feed, request, response, target),
    failed: (error, response) => json(options, response, 500, { error: error instanceof Error ? error.message : String(error) }),
  });
  return {
    url,
    observer: feed.observer,
    close: () => {
      feed.close();
      return close();
    },
  };
}

async function answer(
  options: DashboardOptions,
  feed: Feed,
  request: IncomingMessage,
  response: ServerResponse,
  { pathname, searchParams }: URL,
): Promise<void> {
  if (!options.access(request, response)) return;
  const mounted = options.mounts?.[/^\/[^/?]*/.exec(request.url ?? '/')?.[0] ?? '/'];
  if (mounted) return mounted(request, response);
  if (request.method !== 'GET' && request.method !== 'HEAD') return json(options, response, 405, { error: 'This page only looks on.' });
  if (pathname === '/healthz') return json(options, response, 200, { ok: true });
  if (pathname === '/api/stream') return stream(feed, response);
  if (pathname.startsWith('/api/')) return answerJson(options, feed, pathname, searchParams, response);
  if (!(await serveAsset(pathname, options.pageFolder, response))) json(options, response, 404, { error: `There is no ${pathname}.` });
}

async function answerJson(
  options: DashboardOptions,
  feed: Feed,
  path: string,
  query: URLSearchParams,
  response: ServerResponse,
): Promise<void> {
  const found = await lookUp(options, feed, path, query);
  if (found === null) json(options, response, 404, { error: `Nothing of that name: ${path}${query.size > 0 ? `?${query}` : ''}` });
  else json(options, response, 200, found);
}

/** The data behind `path`; null when there is none. */
async function lookUp(options: DashboardOptions, feed: Feed, path: string, query: URLSearchParams): Promise<object | null> {
  const { machines, records, journal, inventory, leadership, links, notes = [], version, now, changes } = options;
  const [, of = path, name = ''] = /^(\/api\/charts)\/([^/]+)$/.exec(path) ?? [];
  switch (of) {
    case '/api/about':
      return { version, links, notes, charts: Object.keys(machines), ...leadership(), now: now() };
    case '/api/actors':
      await feed.recall();
      return { ...leadership(), now: now(), actors: feed.rows() };
    case '/api/inventory':
      return { ...leadership(), now: now(), inventory: inventory() };
    case '/api/journal':
      return { entries: await journal(query.get('actor') ?? '', JOURNAL_LIMIT) };
    case '/api/plan':
      return changes ? { differences: changes() } : null;
    case '/api/charts':
      return Object.hasOwn(machines, name) ? chartDefinition(name, machines[name] as MachineLike) : null;
    case '/api/actor': {
      await feed.recall();
      const found = records().find(({ actor }) => actor === query.get('id'));
      return found ? { row: rowOf(found.actor, found.record, feed.since(found.actor)), record: found.record } : null;
    }
    default:
      return null;
  }
}

function stream(feed: Feed, response: ServerResponse): void {
  response.writeHead(200, {
    ...SECURITY_HEADERS,
    'Content-Type': 'text/event-stream',
    'Cache-Control': 'no-store',
    'X-Accel-Buffering': 'no',
  });
  feed.attach(response);
}

function json({ hide }: DashboardOptions, response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { ...SECURITY_HEADERS, 'Content-Type': 'application/json', 'Cache-Control': 'no-store' });
  response.end(`${hide(JSON.stringify(body))}\n`);
}
