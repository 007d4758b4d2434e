import { connect as connectTCP, Socket } from 'node:net';
import { connect as connectTLS } from 'node:tls';
import { AbstractConnector, type RedisOptions } from 'ioredis';
import { type FindMaster, nameOf } from './find-master.ts';
import { type TlsFiles, tlsTo } from './tls.ts';
import type { Endpoint } from './url.ts';

type Connector = NonNullable<RedisOptions['Connector']>;
type Stream = InstanceType<Connector> extends { connect(emit: never): Promise<infer S> } ? S : never;

/** How long a connection is let end by itself, ms. */
const FAREWELL_MS = 2_000;

/** Connects to whichever server takes writes when a connection is made. With `lookAgainMs` it is looked that often whether it still does, and the connection ends
 *  when another one has taken its place: one that was cut off with its former clients does not know it. */
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
        // One that failed at once is tried again like any other; ioredis gives up for ever when there is none.
        this.firstError = error instanceof Error ? error : new Error(String(error));
        this.stream = new Socket().destroy();
      }
      return this.stream;
    }

    /** A former master may have come back as a replica, before those who were asked know it. */
    override check(info: { readonly role?: string }): boolean {
      const isMaster = info.role === undefined || info.role === 'master';
      if (!isMaster) this.#tell(new Error(`the server that was named is a ${info.role}`));
      return isMaster;
    }

    override disconnect(): void {
      this.connecting = false;
      // What has ended does not end once more: the wait for it would keep the process.
      if (this.stream && !this.stream.destroyed) super.disconnect();
    }
  };

const lookAgain = (find: FindMaster, stream: Socket, endpoint: Endpoint, everyMs: number): void => {
  const look = async (): Promise<void> => {
    // Without an answer there is nothing better than the present one.
    const now = await find(everyMs).catch(() => endpoint);
    if (nameOf(now) !== nameOf(endpoint)) stream.destroy(new Error(`${nameOf(now)} has taken the place of ${nameOf(endpoint)}`));
  };
  const timer = setInterval(() => void look(), everyMs).unref();
  stream.once('close', () => clearInterval(timer));
};
