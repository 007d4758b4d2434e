import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A way through TCP to a server on loopback that can fail for those who take it, while the server serves everybody else. */
export interface TcpProxy {
  readonly port: number;
  /** Breaks all connections by a reset, and each new one as well, until `mend`. */
  cut(): void;
  /** Connections stay and new ones are taken, but nothing passes either way until `mend`. What was sent meanwhile arrives then, as after a network that
   *  was interrupted for a while. */
  hold(): void;
  /** Connections that are there stay, and nothing passes through them ever again, as when a firewall has forgotten them. New ones work. */
  strand(): void;
  /** From now on whatever passes takes `ms` longer on its way, in both directions. */
  delay(ms: number): void;
  /** Everything passes again, without delay. */
  mend(): void;
  close(): Promise<void>;
}

interface Pair {
  readonly client: Socket;
  /** Null until it is opened: not while the way is held. */
  server: Socket | null;
}

/** Opens a way to `port`. `sent` is told each piece that goes to the server, as text of one byte a character. */
export async function startProxy(port: number, sent: (text: string) => void = () => undefined): Promise<TcpProxy> {
  const pairs = new Set<Pair>();
  const stranded = new WeakSet<Pair>();
  const state = { way: 'open' as 'open' | 'held' | 'cut', delayMs: 0 };

  const pass = (from: Socket, to: Socket, tell: (chunk: Buffer) => void): void => {
    const after = (run: () => void) => (state.delayMs === 0 ? run() : void setTimeout(run, state.delayMs));
    from.on('data', (chunk) => {
      tell(chunk);
      after(() => void to.write(chunk));
    });
    from.on('end', () => after(() => void to.end()));
    from.on('close', () => after(() => to.destroySoon()));
  };
  const open = (pair: Pair): void => {
    const server = connect(port, '127.0.0.1');
    pair.server = server;
    // A connection that breaks closes: there is nothing else to do about it.
    server.on('error', () => undefined);
    pass(pair.client, server, (chunk) => sent(chunk.toString('latin1')));
    pass(server, pair.client, () => undefined);
  };
  const listener = createServer((client) => {
    if (state.way === 'cut') {
      client.resetAndDestroy();
      return;
    }
    const pair: Pair = { client, server: null };
    pairs.add(pair);
    client.on('error', () => undefined).on('close', () => pairs.delete(pair));
    if (state.way === 'open') open(pair);
    else client.pause();
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');

  const breakAll = (): void => {
    for (const { client, server } of pairs) {
      client.resetAndDestroy();
      server?.resetAndDestroy();
    }
  };
  return {
    port: (listener.address() as AddressInfo).port,
    cut: () => {
      state.way = 'cut';
      breakAll();
    },
    hold: () => {
      state.way = 'held';
      for (const { client, server } of pairs) {
        client.pause();
        server?.pause();
      }
    },
    strand: () => {
      for (const pair of pairs) {
        stranded.add(pair);
        pair.client.pause();
        pair.server?.pause();
      }
    },
    delay: (ms) => {
      state.delayMs = ms;
    },
    mend: () => {
      state.way = 'open';
      state.delayMs = 0;
      for (const pair of pairs) {
        if (stranded.has(pair)) continue;
        if (!pair.server) open(pair);
        pair.client.resume();
        pair.server?.resume();
      }
    },
    close: async () => {
      state.way = 'cut';
      breakAll();
      listener.close();
      await once(listener, 'close');
    },
  };
}
