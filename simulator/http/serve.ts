import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Handle = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

export interface Served {
  readonly url: string;
  readonly port: number;
  /** Connections are refused from now on, until `listenAgain`; what is simulated stays as it is. */
  readonly stopListening: () => Promise<void>;
  readonly listenAgain: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Serves an API, and below /_control its control routes, on loopback unless another address of this machine is given. Port 0 takes a free one. */
export async function serve(api: Handle, control: Handle, wantedPort: number, host = '127.0.0.1'): Promise<Served> {
  // Longer than clients keep them: a connection that is ended in the moment in which it is used again would be a fault that nobody has asked for.
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const handle = request.url?.startsWith('/_control/') ? control : api;
    handle(request, response).catch(() => response.destroy());
  });
  const port = await listen(server, wantedPort, host);
  return {
    url: `http://${host}:${port}`,
    port,
    stopListening: () => stop(server),
    listenAgain: async () => {
      await listen(server, port, host);
    },
    close: () => stop(server),
  };
}

function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

function stop(server: Server): Promise<void> {
  if (!server.listening) return Promise.resolve();
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
