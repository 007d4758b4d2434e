import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Unreachable } from '../../actors/errors.ts';
import type { JournalEntry } from '../../actors/ports.ts';

interface JournalOptions {
  readonly bind: { readonly host?: string; readonly port: number };
  /** The newest transitions of an actor, newest first. @throws Unreachable */
  readonly journal: (actor: string) => Promise<readonly JournalEntry[]>;
  readonly version: string;
  /** Takes secrets out of what is answered. */
  readonly hide: (text: string) => string;
}

export interface JournalServer {
  /** With the port that is really listened on. */
  readonly url: string;
  close(): Promise<void>;
}

/** Ids of actors are paths of names; nothing longer is one. */
const LONGEST_ACTOR = 600;

/** Serves GET /journal?actor=<id> as `{version, entries}`, on whatever replica. Nothing here changes anything.
 *  @throws Error that names the address when it cannot be listened on */
export async function startJournalServer(options: JournalOptions): Promise<JournalServer> {
  const server = createServer((request, response) => {
    answer(options, request, response).catch((error) => {
      const status = error instanceof Unreachable ? 503 : 500;
      json(options, response, status, { error: error instanceof Error ? error.message : String(error) });
    });
  });
  await new Promise<void>((resolve, reject) => {
    const { host = '', port } = options.bind;
    server.once('error', (error) => reject(new Error(`journal: cannot listen on ${host}:${port}: ${error.message}`, { cause: error })));
    server.listen(options.bind, resolve);
  });
  return { url: urlOf(server), close: () => close(server) };
}

async function answer(options: JournalOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const target = URL.parse(request.url ?? '/', 'http://journal');
  if (target?.host !== 'journal') return json(options, response, 400, { error: 'This is no path.' });
  const { pathname, searchParams } = target;
  if (request.method !== 'GET') return json(options, response, 405, { error: 'The journal is only read.' });
  const actor = searchParams.get('actor') ?? '';
  if (pathname !== '/journal' || actor === '' || actor.length > LONGEST_ACTOR)
    return json(options, response, 404, { error: 'There is /journal?actor=<id>.' });
  json(options, response, 200, { version: options.version, entries: await options.journal(actor) });
}

function json({ hide }: JournalOptions, response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' });
  response.end(`${hide(JSON.stringify(body))}\n`);
}

function urlOf(server: Server): string {
  const { address, port } = server.address() as AddressInfo;
  const host = address === '::' || address === '0.0.0.0' ? '127.0.0.1' : address;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
