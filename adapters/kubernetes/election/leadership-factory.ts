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
  /** Where the Lease is: the operator's own namespace. */
  readonly namespace: string;
  /** False for a process that runs alone. */
  readonly elect: boolean;
  /** Each defaults to FLIPOP's: 15 s, 10 s, 2 s. */
  readonly leaseDurationMs?: number | undefined;
  readonly renewDeadlineMs?: number | undefined;
  readonly retryPeriodMs?: number | undefined;
  readonly random?: Random;
  /** Names the process to people. Default: the host, which in a cluster is the Pod. */
  readonly name?: string;
}

/** @throws Error when a leader would stop later than others start */
export const kubernetesLeadership = (settings: LeadershipSettings): Leadership => {
  const { connection, clock, log, namespace, elect, random = Math.random, name = hostname() } = settings;
  const timings = {
    durationMs: settings.leaseDurationMs ?? LEASE_TIMINGS.durationMs,
    renewDeadlineMs: settings.renewDeadlineMs ?? LEASE_TIMINGS.renewDeadlineMs,
    retryMs: settings.retryPeriodMs ?? LEASE_TIMINGS.retryMs,
  };
  // client-go's rules for the three, for the same reasons: tries must fit into the deadline, and the deadline into the lease.
  if (timings.durationMs <= timings.renewDeadlineMs) throw new Error('the lease duration must be longer than the renew deadline');
  if (timings.renewDeadlineMs <= timings.retryMs * 1.2) throw new Error('the renew deadline must be longer than 1.2 retry periods');
  const options = { connection, namespace, clock, random, log, name, timings };
  return elect ? new LeaseElection(options) : new LoneLeadership(options);
};
