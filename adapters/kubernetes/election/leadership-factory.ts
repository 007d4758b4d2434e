import { hostname } from 'node:os';
import type { Leadership } from '../../../actors/ports/leadership.ts';
import type { Log } from '../../../actors/ports/observers.ts';
import type { Clock } from '../../../actors/ports/records.ts';
import type { Random } from '../client/backoff.ts';
import type { Connection } from '../client/connection.ts';
import { LoneLeadership } from './always-leader.ts';
import { LEASE_TIMINGS, LeaseElection } from './leadership.ts';

export interface LeadershipSettings {
  readonly connection: Connection;
  readonly clock: Clock;
  readonly log: Log;
  /** Namespace of the Lease: the operator's own. */
  readonly namespace: string;
  /** False for a process that runs alone. */
  readonly elect: boolean;
  /** Each defaults to FLIPOP's: 15 s, 10 s, 2 s. */
  readonly leaseDurationMs?: number | undefined;
  readonly renewDeadlineMs?: number | undefined;
  readonly retryPeriodMs?: number | undefined;
  readonly random?: Random;
  /** Human-readable name of the process. Default: the hostname, which in a cluster is the Pod's name. */
  readonly name?: string;
}

/** @throws Error when a leader would stop only after another one may start */
export const kubernetesLeadership = (settings: LeadershipSettings): Leadership => {
  const { connection, clock, log, namespace, elect, random = Math.random, name = hostname() } = settings;
  const timings = {
    durationMs: settings.leaseDurationMs ?? LEASE_TIMINGS.durationMs,
    renewDeadlineMs: settings.renewDeadlineMs ?? LEASE_TIMINGS.renewDeadlineMs,
    retryMs: settings.retryPeriodMs ?? LEASE_TIMINGS.retryMs,
  };
  // The same rules as in client-go: retries must fit into the renew deadline, and the deadline into the lease duration.
  if (timings.durationMs <= timings.renewDeadlineMs) throw new Error('the lease duration must be longer than the renew deadline');
  if (timings.renewDeadlineMs <= timings.retryMs * 1.2) throw new Error('the renew deadline must be longer than 1.2 retry periods');
  const options = { connection, namespace, clock, random, log, name, timings };
  return elect ? new LeaseElection(options) : new LoneLeadership(options);
};
