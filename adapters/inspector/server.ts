import type { IncomingMessage, ServerResponse } from 'node:http';
import type { WebSocket } from '@fastify/websocket';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Observer } from '../../actors/ports/observers.ts';
import { listen } from '../listener/listen.ts';
import { createAudience } from './audience.ts';
import { createSession, type Inspectable, type InspectedRecord } from './session.ts';

interface InspectorOptions {
  /** Loopback unless `access` asks for a token. */
  readonly bind: { readonly host?: string; readonly port: number };
  /** Decides about each request; sends the response itself and returns false when it refuses. */
  readonly access: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** Serves the page's file for a path, with these additional headers; false when there is none. */
  readonly asset: (path: string, headers: Readonly<Record<string, string>>, response: ServerResponse) => Promise<boolean>;
  /** The viewer embedded in a frame: Stately's page, or one hosted elsewhere. */
  readonly viewerUrl: string;
  /** Origins of the page besides loopback: `https://inspect.example.com`. */
  readonly origins: readonly string[];
  /** Machines by the chart name used in records. */
  readonly machines: Readonly<Record<string, Inspectable>>;
  /** The drawing of the machine with that id; null when there is none. */
  readonly drawing: (machine: string) => object | null;
  /** The records that this process runs; empty while it does not lead. */
  readonly records: () => readonly InspectedRecord[];
  /** The actor that an actor is a part of; null for none. */
  readonly parentOf: (actor: string) => string | null;
  /** The leader, as far as this replica knows, and how to reach it. */
  readonly leadership: () => object;
  /** Redacts secrets in everything sent. */
  readonly hide: (text: string) => string;
}

export interface InspectorBridge {
  /** The page to open in a browser. */
  readonly url: string;
  readonly observer: Required<Pick<Observer, 'turnSaved' | 'reset'>>;
  close(): Promise<void>;
}

/** A viewer that stops reading is disconnected at this much buffered data, bytes. */
const MOST_BUFFERED = 8_000_000;

/** Serves a page with the viewer in a frame, and the WebSocket that feeds it. `ws://…/ws?actor=<id>` (may be repeated) sends these actors and their parts,
 *  without it the first hundred, owners first. With `?page` it also sends the leadership. @throws Error that names the address when it cannot be listened on */
export async function startInspector(options: InspectorOptions): Promise<InspectorBridge> {
  const { createInspector } = await import('@statelyai/inspect');
  const { default: fastify } = await import('fastify');
  const { default: websocket } = await import('@fastify/websocket');
  const { machines, records, parentOf, leadership, hide } = options;
  const audience = createAudience({ records, parentOf, leadership });
  const app = fastify();
  await app.register(websocket, { options: { maxPayload: 1024 } });

  // After hijack() Fastify does not send a response itself.
  app.addHook('onRequest', async (request, reply) => {
    if (!options.access(request.raw, reply.raw)) reply.hijack();
    else if (isForeign(request, options)) await reply.code(403).send('This page may not read the inspector.\n');
  });
  servePage(app, options);
  app.get('/ws', { websocket: true }, (socket, request) => {
    const { searchParams } = new URL(request.url, 'http://inspector');
    const send = (message: string): void => push(socket, hide(message));
    const session = createSession({ createInspector, machines, parentOf, send });
    const leave = audience.join({
      session,
      asked: searchParams.getAll('actor'),
      lead: searchParams.has('page') ? (told) => send(JSON.stringify({ type: 'routedip.leadership', ...told })) : null,
    });
    socket.on('close', leave);
  });
  await app.ready();
  const { url, close } = await listen({
    name: 'inspector',
    bind: options.bind,
    answer: (request, response) => app.routing(request, response),
    failed: (_, response) => response.writeHead(500).end(),
    upgrade: (...upgraded) => app.server.emit('upgrade', ...upgraded),
  });

  return {
    url,
    observer: audience.observer,
    close: async () => {
      audience.close();
      await app.close();
      await close();
    },
  };
}

function push(socket: WebSocket, message: string): void {
  if (socket.readyState !== socket.OPEN) return;
  if (socket.bufferedAmount > MOST_BUFFERED) socket.terminate();
  else socket.send(message);
}

const OWN_LOOPBACK = /^https?:\/\/((?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?)$/;

/** A page of another site cannot read responses, but could open a WebSocket: only our own page and the viewer may. Our page's origin is loopback or configured: with
 *  DNS rebinding, a page of any domain can resolve here, so that Host equals its origin. */
function isForeign({ headers: { origin, host } }: FastifyRequest, { viewerUrl, origins }: InspectorOptions): boolean {
  if (origin === undefined || origins.includes(origin) || origin === new URL(viewerUrl).origin) return false;
  return OWN_LOOPBACK.exec(origin)?.[1] !== host;
}

/** The page, its files, `/about`, `/actors` and `/drawings/<machine>`. */
function servePage(app: FastifyInstance, options: InspectorOptions): void {
  const { asset, viewerUrl, records, drawing, leadership, hide } = options;
  const headers = headersFor(viewerUrl);
  const answer = (body: unknown) => ({ headers: { ...headers, 'Content-Type': 'application/json' }, text: hide(JSON.stringify(body)) });

  app.get('/about', async (_, reply) => {
    const { headers: own, text } = answer({ viewer: viewerUrl, ...leadership() });
    return reply.headers(own).send(text);
  });
  app.get('/actors', async (_, reply) => {
    const { headers: own, text } = answer(records().map(({ actor, record: { chart } }) => ({ actor, chart })));
    return reply.headers(own).send(text);
  });
  app.get<{ Params: { machine: string } }>('/drawings/:machine', async ({ params: { machine } }, reply) => {
    const found = drawing(machine);
    const { headers: own, text } = answer(found ?? { error: `There is no machine ${machine}.` });
    return reply
      .code(found ? 200 : 404)
      .headers(own)
      .send(text);
  });
  app.get('/*', async (request, reply) => {
    const { pathname } = new URL(request.url, 'http://inspector');
    if (await asset(pathname === '/' ? '/inspector.html' : pathname, headers, reply.raw)) reply.hijack();
    else await reply.code(404).headers(headers).send(`There is no ${pathname}.\n`);
  });
}

const headersFor = (viewerUrl: string): Readonly<Record<string, string>> => ({
  'Content-Security-Policy': `default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-src ${new URL(viewerUrl).origin}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
});
