import { isConflict, isNotFound, ServerUnreachable } from '../client/api-error.ts';
import type { Connection } from '../client/connection.ts';
import { holderOf, LEASE_NAME, type Lease, leaseIn, newLease } from './lease.ts';

/** A Lease on the server. Each write carries the resourceVersion it is based on. */
export interface LeaseClient {
  /** Null when there is none. @throws ServerUnreachable | ApiError */
  read(): Promise<Lease | null>;
  /** The Lease as stored, or null on a conflict or when it was deleted. A `lease` without a resourceVersion is created.
   *  @throws ServerUnreachable | ApiError */
  write(lease: Lease): Promise<Lease | null>;
  /** A Lease that does not exist yet. */
  fresh(): Lease;
}

/** The Lease of that name; defaults to the operator's own. */
export const leaseClient = (connection: Connection, namespace: string, deadlineMs: number, name: string = LEASE_NAME): LeaseClient => {
  const collection = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases`;
  const path = `${collection}/${encodeURIComponent(name)}`;
  return {
    fresh: () => newLease(namespace, name),
    read: async () => {
      try {
        return leaseIn(await connection.send({ method: 'GET', path, deadlineMs, isUrgent: true }));
      } catch (error) {
        if (isNotFound(error)) return null;
        throw error;
      }
    },
    write: async (lease) => {
      const exists = lease.metadata.resourceVersion !== undefined;
      const place = exists ? ({ method: 'PUT', path } as const) : ({ method: 'POST', path: collection } as const);
      try {
        const written = leaseIn(await connection.send({ ...place, body: lease, deadlineMs, isUrgent: true }));
        if (holderOf(written) !== holderOf(lease)) throw new ServerUnreachable(`update ${path}: the answer is not what was written`);
        return written;
      } catch (error) {
        // 409 on create: another client created it. 404 on update: it was deleted; on create: the namespace does not exist.
        if (isConflict(error) || (exists && isNotFound(error))) return null;
        throw error;
      }
    },
  };
};
