import type { IncomingMessage, ServerResponse } from 'node:http';
import { createSecureServer, type ServerHttp2Session } from 'node:http2';
import { createServer } from 'node:https';
import type { Server, Socket } from 'node:net';
import { kubeconfigText } from './kubeconfig.ts';

/** In PEM. */
export interface Tls {
  key: string;
  cert: string;
  ca: string;
  /** False for a server, or a proxy in front of it, that speaks HTTP/1.1 alone. */
  http2?: boolean;
}

/** The API over TLS. */
export interface Secured {
  url: string;
  kubeconfig(token?: string): string;
  /** Open connections. */
  connections(): number;
  /** How many there were at most at a time. */
  most(): number;
  /** Tells the clients of HTTP/2 to go elsewhere, as a server does before it ends. What is under way goes on. */
  goAway(): void;
  close(): Promise<void>;
}

/** Serves over HTTP/2 and HTTP/1.1, as the client prefers. */
export const secured = async (
  { key, cert, ca, http2 = true }: Tls,
  listener: (request: IncomingMessage, response: ServerResponse) => void,
  listen: (server: Server) => Promise<number>,
): Promise<Secured> => {
  // The forms of HTTP/2 that Node.js offers for those of HTTP/1.1 do what is needed of them here.
  const server: Server = http2
    ? createSecureServer({ key, cert, allowHTTP1: true }, listener as never)
    : createServer({ key, cert }, listener);
  const sockets = new Set<Socket>();
  const sessions = new Set<ServerHttp2Session>();
  let most = 0;
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    most = Math.max(most, sockets.size);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
  });
  server.on('session', (session: ServerHttp2Session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session));
    session.on('error', () => undefined);
  });
  const url = `https://127.0.0.1:${await listen(server)}`;
  return {
    url,
    kubeconfig: (token) => kubeconfigText(url, token, ca),
    connections: () => sockets.size,
    most: () => most,
    goAway: () => {
      for (const session of sessions) session.goaway();
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
};
