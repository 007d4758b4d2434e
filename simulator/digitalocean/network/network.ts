import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { Cloud } from '../cloud.ts';
import { createListeners, type Listeners } from './listeners.ts';
import { type Endpoint, reach, type Verdict } from './reach.ts';

const loopback = '127.0.0.1';

/** Somebody on the Internet: an address of a documentation range (RFC 5737, RFC 3849) that the simulator gives to nothing of its own. */
const somebody = (address: string): string => (address.includes(':') ? '2001:db8:ffff::1' : '198.51.100.1');

/** What the account's traffic does: loopback ports stand for ports of reserved IPs, and lead to what listens on the droplet that holds the address. */
export interface Network {
  readonly listeners: Listeners;
  /** The loopback port that stands for a port of an address, for connections from `from`: an outsider when it is not said. Asked again it is the same. */
  readonly endpoint: (wish: { address: string; port: number; from?: string | undefined }) => Promise<OpenEndpoint>;
  readonly endpoints: () => readonly OpenEndpoint[];
  /** What would become of a connection that is opened now; it does not say whether anybody listens. */
  readonly reach: (endpoint: Endpoint) => Verdict;
  readonly close: () => Promise<void>;
}

export interface OpenEndpoint extends Endpoint {
  readonly host: string;
  readonly loopbackPort: number;
}

export function createNetwork(cloud: Cloud): Network {
  const listeners = createListeners();
  const opened = new Map<string, Promise<OpenEndpoint>>();
  const known = new Map<string, OpenEndpoint>();
  const servers: Server[] = [];
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.once('close', () => sockets.delete(socket));
  };

  const open = async (key: string, endpoint: Endpoint): Promise<OpenEndpoint> => {
    const server = createServer({ allowHalfOpen: true }, (client) => {
      const verdict = reach(cloud, endpoint);
      const target = 'to' in verdict ? listeners.find(verdict.to, endpoint.port) : null;
      forward(keep(client), target === null ? null : keep(connect({ port: target, host: loopback, allowHalfOpen: true })));
    });
    servers.push(server);
    const found = { ...endpoint, host: loopback, loopbackPort: await listen(server) };
    known.set(key, found);
    return found;
  };

  return {
    listeners,
    endpoint: ({ address, port, from = somebody(address) }) => {
      const key = `${address} ${port} ${from}`;
      const ready = opened.get(key) ?? open(key, { address, port, from });
      opened.set(key, ready);
      return ready;
    },
    endpoints: () => [...known.values()],
    reach: (endpoint) => reach(cloud, endpoint),
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
    },
  };
}

/** Joins the two ends, or turns the client away at once: a real firewall would let it wait, but a test wants to know. What is joined stays so, wherever the
 *  address goes. */
function forward(client: Socket, target: Socket | null): void {
  client.once('error', () => target?.destroy());
  if (target === null) {
    client.resetAndDestroy();
    return;
  }
  target.once('error', () => client.resetAndDestroy());
  client.pipe(target).pipe(client);
  client.once('close', () => target.destroy());
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, loopback, () => resolve((server.address() as AddressInfo).port));
  });
}
