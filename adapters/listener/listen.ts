import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { targetOf } from './target.ts';

interface ListenOptions {
  /** Name of the server, for the error when it cannot listen. */
  readonly name: string;
  /** Without `host`: on every interface. */
  readonly bind: { readonly host?: string; readonly port: number };
  /** Handles one request. It may throw anything. */
  readonly answer: (request: IncomingMessage, response: ServerResponse, target: URL) => unknown;
  /** Sends the response when `answer` threw before it had sent headers. */
  readonly failed: (error: unknown, response: ServerResponse) => void;
  /** Handles upgrades; without it an upgrade is an ordinary request. Socket errors are handled by this server. */
  readonly upgrade?: (request: IncomingMessage, socket: Socket, head: Buffer) => void;
  /** TLS 1.2 or newer; handshakes fail until the server has a certificate. */
  readonly isSecure?: boolean;
  readonly limits?: Partial<typeof LIMITS>;
}

export interface Listener<S extends Server = Server> {
  /** With the actual port. */
  readonly url: string;
  readonly server: S;
  /** Also ends open connections. */
  close(): Promise<void>;
}

const LIMITS = {
  /** Maximum number of connections. */
  connections: 64,
  /** Maximum size of a request without its body, bytes. */
  header: 16 * 1024,
  /** Maximum time from the connection, or the first byte of a request, to its last byte, ms. */
  requestMs: 10_000,
  /** Maximum time between two requests, ms. */
  idleMs: 5_000,
};

/** How long a client may take to read a complete response, ms. */
const READ_MS = 30_000;
/** Maximum unread data on all connections together, bytes; the connection with the most is ended first. */
const MOST_UNREAD = 64 * 1024 * 1024;

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process listens there already; stop it or choose another address',
  EACCES: 'this user may not listen on that port; choose one above 1023',
  EADDRNOTAVAIL: 'this machine has no such address',
};

/** Listens on an address that any client may reach: no input causes an exception, no client can take more than its share, and over the limit the oldest
 *  connection is closed first.
 *  @throws Error that names the address when it cannot be listened on */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { name, bind, isSecure = false, upgrade } = options;
  const limits = { ...LIMITS, ...options.limits };
  const server = isSecure
    ? createTlsServer({ minVersion: 'TLSv1.2', handshakeTimeout: limits.requestMs, ...httpOptions(limits) })
    : createServer(httpOptions(limits));
  const open = new Set<Socket>();
  const busy = new WeakSet<Socket>();

  server.on('connection', (socket: Socket) => {
    ignoreErrors(socket);
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    if (open.size > limits.connections) end(eldestOfMost(open));
  });
  const end = (socket: Socket | undefined): void => {
    if (socket === undefined) return;
    open.delete(socket);
    socket.destroy();
  };

  server.on('request', (request, response) => {
    const { socket } = request;
    // Pipelined requests would all be processed concurrently.
    if (busy.has(socket)) return refuse(response, 'One request after another.');
    busy.add(socket);
    const unread = setTimeout(() => response.writableEnded && response.destroy(), READ_MS);
    response.once('close', () => {
      clearTimeout(unread);
      busy.delete(socket);
    });
    for (const waiting of tooMuchUnread(open)) end(waiting);
    void answered(options, request, response);
  });
  if (upgrade) {
    server.on('upgrade', (request, socket, head) => {
      ignoreErrors(socket as Socket);
      if (targetOf(request) === null) hangUp(socket as Socket);
      else upgrade(request, socket as Socket, head);
    });
  }
  server.on('connect', (_, socket) => hangUp(ignoreErrors(socket as Socket)));
  // Scanners, and clients that do not trust us yet: do not log each failed handshake.
  server.on('tlsClientError', () => undefined);

  await new Promise<void>((resolve, reject) => {
    // Kept after startup: a connection that cannot be accepted, e.g. for too many open files, is an error event of the server.
    server.on('error', ({ code, message }: NodeJS.ErrnoException) =>
      reject(new Error(`${name}: cannot listen on ${bind.host ?? ''}:${bind.port}: ${REASONS[code ?? ''] ?? message}`)),
    );
    server.listen(bind, resolve);
  });
  return {
    url: urlOf(server, isSecure ? 'https' : 'http'),
    server,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        // Including upgraded sockets, which the server no longer tracks.
        for (const socket of [...open]) end(socket);
      }),
  };
}

const httpOptions = ({ header, requestMs, idleMs }: typeof LIMITS): ServerOptions => ({
  maxHeaderSize: header,
  headersTimeout: requestMs,
  requestTimeout: requestMs,
  connectionsCheckingInterval: 1_000,
  keepAliveTimeout: idleMs,
});

/** Never rejects. */
async function answered({ answer, failed }: ListenOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const target = targetOf(request);
  if (target === null) return refuse(response, 'This is no path.');
  try {
    await answer(request, response, target);
  } catch (error) {
    try {
      if (response.headersSent) response.destroy();
      else failed(error, response);
    } catch {
      response.destroy();
    }
  }
}

function refuse(response: ServerResponse, message: string): void {
  response.writeHead(400, { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store', Connection: 'close' });
  response.end(`${message}\n`);
}

const hangUp = (socket: Socket): unknown => socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n', () => socket.destroy());

/** Node removes its error listeners from a socket that it hands over. */
function ignoreErrors(socket: Socket): Socket {
  return socket.on('error', () => undefined);
}

/** The oldest connection of the peer with the most connections: no peer can push out others. */
function eldestOfMost(open: ReadonlySet<Socket>): Socket | undefined {
  const byPeer = [...Map.groupBy(open, ({ remoteAddress }) => remoteAddress).values()];
  return byPeer.reduce((most, sockets) => (sockets.length > most.length ? sockets : most), [])[0];
}

function tooMuchUnread(open: ReadonlySet<Socket>): readonly Socket[] {
  let unread = open.values().reduce((sum, { writableLength }) => sum + writableLength, 0);
  if (unread <= MOST_UNREAD) return [];
  return [...open]
    .sort((a, b) => b.writableLength - a.writableLength)
    .filter(({ writableLength }) => {
      const isTooMuch = unread > MOST_UNREAD;
      unread -= writableLength;
      return isTooMuch;
    });
}

function urlOf(server: Server, scheme: string): string {
  const { address, port } = server.address() as AddressInfo;
  const host = address === '::' || address === '0.0.0.0' ? '127.0.0.1' : address;
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
