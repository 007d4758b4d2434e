import { refusal, ServerUnreachable } from '../../../../adapters/kubernetes/client/api-error.ts';
import type { Connection, Request } from '../../../../adapters/kubernetes/client/connection.ts';
import { LoneLeadership } from '../../../../adapters/kubernetes/election/always-leader.ts';
import { LeaseElection } from '../../../../adapters/kubernetes/election/leadership.ts';
import type { Lease } from '../../../../adapters/kubernetes/election/lease.ts';
import { virtualClock } from '../../../../adapters/memory/clock.ts';
import { recordedLog } from '../support.ts';

/** One Lease on a server without time or network of its own. */
export class LeaseServer {
  lease: Lease | null = null;
  #revision = 0;
  readonly writes: Lease[] = [];

  /** A client's way to it, that can be cut. */
  path(): Connection & { cut: boolean } {
    const way = {
      cut: false,
      send: async (request: Request): Promise<unknown> => {
        if (way.cut) throw new ServerUnreachable('cut');
        return this.#answer(request);
      },
      list: () => Promise.reject(new Error('nobody lists Leases')),
      watch: () => () => undefined,
      close: async () => undefined,
    };
    return way;
  }

  /** Changes the Lease as somebody with kubectl does. */
  edit(change: (lease: Lease) => Lease): void {
    if (this.lease !== null) this.#store(change(this.lease));
  }

  #answer({ method, path, body }: Request): Lease {
    if (method === 'GET') {
      if (this.lease === null) throw refusal({ verb: 'get', path }, 404, 'not found');
      return structuredClone(this.lease);
    }
    const sent = body as Lease;
    const version = sent.metadata.resourceVersion;
    const wanted = method === 'POST' ? undefined : version;
    if (this.lease?.metadata.resourceVersion !== wanted)
      throw refusal({ verb: 'update', path }, this.lease === null ? 404 : 409, 'conflict');
    this.#store(sent);
    this.writes.push(sent);
    return structuredClone(this.lease as Lease);
  }

  #store(lease: Lease): void {
    this.#revision += 1;
    const { uid = `lease-${this.#revision}` } = lease.metadata;
    this.lease = { ...structuredClone(lease), metadata: { ...lease.metadata, uid, resourceVersion: String(this.#revision) } };
  }
}

/** Candidates for one Lease, on a virtual clock. */
export const electing = () => {
  const clock = virtualClock();
  const server = new LeaseServer();
  const told: string[] = [];
  const candidate = (name: string, unfit?: () => string | null, lone = false) => {
    const connection = server.path();
    const options = { connection, namespace: 'operator', clock, random: () => 0, log: recordedLog(), name };
    const leadership = lone ? new LoneLeadership(options) : new LeaseElection(options);
    const listener = {
      acquired: () => void told.push(`${name} acquired`),
      lost: (reason: string) => void told.push(`${name} lost: ${reason}`),
      ...(unfit && { unfit }),
    };
    return { leadership, connection, start: () => leadership.start(listener), log: options.log };
  };
  return { clock, server, told, candidate };
};
