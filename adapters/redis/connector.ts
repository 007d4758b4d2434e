import { connect as connectTCP, Socket } from 'node:net';
import { connect as connectTLS } from 'node:tls';
import { AbstractConnector, type RedisOptions } from 'ioredis';
import { type FindMaster, nameOf } from './find-master.ts';
import { type TlsFiles, tlsTo } from './tls.ts';
import type { Endpoint } from './url.ts';

type Connector = NonNullable<RedisOptions['Connector']>;
type Stream = InstanceType<Connector> extends { connect(emit: never): Promise<infer S> } ? S : never;

/** How long a connection may take to close gracefully, ms. */
const FAREWELL_MS = 2_000;

/** Connects to the server that accepts writes at that time. With `lookAgainMs` this is rechecked at that interval, and the connection is closed
 *  when another server has taken over: a master that is partitioned together with its clients does not notice. */
export const connectorTo = (find: FindMaster, tls: TlsFiles | undefined, lookAgainMs?: number): Connector =>
  class extends AbstractConnector {
    #tell: (error: Error) => void = () => undefined;

    constructor() {
      super(FAREWELL_MS);
    }

    override async connect(emit: (type: string, error: Error) => void): Promise<Stream> {
      this.connecting = true;
      this.#tell = (error) => emit('error', error);
      try {
        const endpoint = await find();
        if (!this.connecting) throw new Error('the connection was closed');
        const stream = tls ? connectTLS({ ...endpoint, ...tlsTo(endpoint.host, tls) }) : connectTCP({ ...endpoint });
        stream.once('error', (error) => {
          this.firstError = error;
        });
        if (lookAgainMs !== undefined) lookAgain(find, stream, endpoint, lookAgainMs);
        this.stream = stream;
      } catch (error) {
        // An immediate failure must be retried like any other; without a stream ioredis would give up for good.
        this.firstError = error instanceof Error ? error : new Error(String(error));
        this.stream = new Socket().destroy();
      }
      return this.stream;
    }

    /** A former master may have returned as a replica before the Sentinels or nodes know it. */
    override check(info: { readonly role?: string }): boolean {
      const isMaster = info.role === undefined || info.role === 'master';
      if (!isMaster) this.#tell(new Error(`the server that was named is a ${info.role}`));
      return isMaster;
    }

    override disconnect(): void {
      this.connecting = false;
      // A destroyed stream emits no further end event: waiting for it would keep the process alive.
      if (this.stream && !this.stream.destroyed) super.disconnect();
    }
  };

const lookAgain = (find: FindMaster, stream: Socket, endpoint: Endpoint, everyMs: number): void => {
  const look = async (): Promise<void> => {
    // Without a reply, keep the current server.
    const now = await find(everyMs).catch(() => endpoint);
    if (nameOf(now) !== nameOf(endpoint)) stream.destroy(new Error(`${nameOf(now)} has taken the place of ${nameOf(endpoint)}`));
  };
  const timer = setInterval(() => void look(), everyMs).unref();
  stream.once('close', () => clearInterval(timer));
};
