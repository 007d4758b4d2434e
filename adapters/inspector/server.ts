import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { WebSocket } from '@fastify/websocket';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Observer } from '../../actors/ports/observers.ts';
import { createSession, type Inspectable, type InspectedRecord, type Session } from './session.ts';

interface InspectorOptions {
  /** Loopback unless `access` asks for a token. */
  readonly bind: { readonly host?: string; readonly port: number };
  /** Decides about each request; answers itself and returns false when it refuses. */
  readonly access: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** The folder with inspector.html, ending in a slash. */
  readonly pageFolder: URL;
  /** The viewer that is shown in a frame: Stately's page, or one that is served elsewhere. */
  readonly viewerUrl: string;
  /** Machines by the chart name that records bear. */
  readonly machines: Readonly<Record<string, Inspectable>>;
  /** The records that this process runs; empty while it does not lead. */
  readonly records: () => readonly InspectedRecord[];
  /** Takes secrets out of what is sent. */
  readonly hide: (text: string) => string;
}

export interface InspectorBridge {
  /** The page to open in a browser. */
  readonly url: string;
  readonly observer: Required<Pick<Observer, 'turnSaved' | 'reset'>>;
  close(): Promise<void>;
}

interface Client {
  readonly session: Session;
  readonly wants: (actor: string) => boolean;
  readonly replay: () => void;
}

/** A viewer gets no more actors than this at once unless it names them: the remote page draws every one. */
const MOST_ACTORS = 100;
/** A viewer that does not read any more is cut off once so much waits for it, bytes. */
const MOST_BUFFERED = 8_000_000;

const FILES: Readonly<Record<string, string>> = {
  '/': 'inspector.html',
  '/inspector.js': 'inspector.js',
  '/inspector.css': 'inspector.css',
  '/theme.css': 'theme.css',
  '/theme.js': 'theme.js',
  '/icon.svg': 'icon.svg',
};
const TYPES: Readonly<Record<string, string>> = { html: 'text/html', css: 'text/css', js: 'text/javascript', svg: 'image/svg+xml' };

/** Serves a page with the viewer in a frame, and the WebSocket that feeds it. `ws://…/?actor=<id>` (may be repeated) tells of these actors, without it of
 *  the first hundred, pools first. @throws Error that names the address when it cannot be listened on */
export async function startInspector(options: InspectorOptions): Promise<InspectorBridge> {
  const { createInspector } = await import('@statelyai/inspect');
  const { default: fastify } = await import('fastify');
  const { default: websocket } = await import('@fastify/websocket');
  const clients = new Map<WebSocket, Client>();
  const app = fastify({ forceCloseConnections: true });
  await app.register(websocket, { options: { maxPayload: 1024 } });

  // After hijack() Fastify leaves the answer to whoever has written it.
  app.addHook('onRequest', async (request, reply) => {
    if (!options.access(request.raw, reply.raw)) reply.hijack();
    else if (isForeign(request, options.viewerUrl)) await reply.code(403).send('This page may not read the inspector.\n');
  });
  serveFiles(app, options);
  app.get('/actors', async (_, reply) => {
    const list = inOrder(options.records()).map(({ actor, record }) => ({ actor, chart: record.chart }));
    return reply
      .headers(headers(options.viewerUrl))
      .type('application/json')
      .send(options.hide(JSON.stringify(list)));
  });
  app.get('/ws', { websocket: true }, (socket, request) => {
    const asked = new URL(request.url, 'http://inspector').searchParams.getAll('actor');
    const session = createSession({ createInspector, machines: options.machines, send: (message) => push(socket, options.hide(message)) });
    const client = clientOf(session, asked, options.records);
    clients.set(socket, client);
    socket.on('close', () => clients.delete(socket));
    client.replay();
  });
  const url = await listen(app, options.bind);

  return {
    url,
    observer: {
      turnSaved: ({ transitions }) => {
        for (const { session, wants } of clients.values()) {
          for (const transition of transitions) if (wants(transition.actor)) session.saved(transition);
        }
      },
      reset: () => {
        for (const { replay } of clients.values()) replay();
      },
    },
    close: () => app.close(),
  };
}

function clientOf(session: Session, asked: readonly string[], records: InspectorOptions['records']): Client {
  const chosen = new Set(asked);
  const select = (): readonly InspectedRecord[] => {
    const all = inOrder(records());
    return asked.length > 0 ? all.filter(({ actor }) => chosen.has(actor)) : all.slice(0, MOST_ACTORS);
  };
  const wants = (actor: string): boolean => {
    if (asked.length === 0 && chosen.size < MOST_ACTORS) chosen.add(actor);
    return chosen.has(actor);
  };
  const replay = (): void => {
    const selected = select();
    for (const { actor } of selected) chosen.add(actor);
    session.replay(selected);
  };
  return { session, wants, replay };
}

/** Owners before what they own, else by id. */
const inOrder = (records: readonly InspectedRecord[]): readonly InspectedRecord[] =>
  records.toSorted((a, b) => depth(a) - depth(b) || (a.actor < b.actor ? -1 : 1));
const depth = ({ actor }: InspectedRecord): number => (actor.includes('/ip/') ? 1 : 0);

function push(socket: WebSocket, message: string): void {
  if (socket.readyState !== socket.OPEN) return;
  if (socket.bufferedAmount > MOST_BUFFERED) socket.terminate();
  else socket.send(message);
}

/** A page of another site cannot read answers, but it could open a WebSocket: only our own page and the viewer may. */
function isForeign({ headers: { origin, host } }: FastifyRequest, viewerUrl: string): boolean {
  if (origin === undefined) return false;
  return origin !== `http://${host}` && origin !== `https://${host}` && origin !== new URL(viewerUrl).origin;
}

function serveFiles(app: FastifyInstance, { pageFolder, viewerUrl, hide }: InspectorOptions): void {
  for (const [path, file] of Object.entries(FILES)) {
    app.get(path, async (_, reply): Promise<FastifyReply> => {
      const text = await readFile(new URL(file, pageFolder), 'utf8');
      const type = TYPES[file.split('.').pop() ?? ''] ?? 'text/plain';
      return reply
        .headers(headers(viewerUrl))
        .type(`${type}; charset=utf-8`)
        .send(hide(text.replaceAll('%VIEWER%', escaped(viewerUrl))));
    });
  }
}

const escaped = (text: string): string => text.replace(/[&"<>]/g, (sign) => `&#${sign.charCodeAt(0)};`);

const headers = (viewerUrl: string): Readonly<Record<string, string>> => ({
  'Content-Security-Policy': `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-src ${new URL(viewerUrl).origin}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
});

async function listen(app: FastifyInstance, { host, port }: InspectorOptions['bind']): Promise<string> {
  try {
    return await app.listen({ host: host ?? '::', port });
  } catch (cause) {
    throw new Error(`inspector: cannot listen on ${host ?? ''}:${port}: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
}
