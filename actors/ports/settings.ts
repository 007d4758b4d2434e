import { type BackoffTables, FLIPOP_BACKOFF } from '../../machines/model/backoff.ts';

/** Figures of the jobs; all in ms. */
export interface JobSettings {
  /** When to check again after a call was accepted, counted from the acceptance; the last step repeats. */
  readonly pollSteps: readonly number[];
  /** The same for an assign; null to check when it is likely to have ended. */
  readonly assignSteps: readonly number[] | null;
  /** How long an assign, a confirmation or a lock may take before the job gives up. */
  readonly assignTimeoutMs: number;
  readonly findTimeoutMs: number;
  /** How long a call may still take effect after it was sent. */
  readonly callDeadlineMs: number;
}

/** Every 150 ms until 1.2 s, then 500, 1000, 2000 ms …: short actions are noticed at once, long ones cost few calls. */
export const POLL_STEPS: readonly number[] = [150, 150, 150, 150, 150, 150, 150, 150, 500, 1000, 2000];

/** Every figure that an operator may set; all in ms. The same on every replica. */
export interface Settings extends JobSettings {
  readonly backoff: BackoffTables;
  /** From one verification of all addresses of a token to the next. */
  readonly verifyEveryMs: number;
  /** Minimum time from one check for manual edits to the next. */
  readonly editLooksAtLeastMs: number;
  /** From one check for the Service of an address that seems to have none to the next: a single check frees nothing. */
  readonly orphanDoubtMs: number;
  /** How often every fact is sent again. */
  readonly resyncEveryMs: number;
  /** How often failed dispatches are retried. */
  readonly sweepEveryMs: number;
  /** How often queues of removed accounts are searched for: they are deleted within twice that. */
  readonly leftQueuesEveryMs: number;
  /** How many addresses one namespace may keep, including those whose object is gone; null for no limit. */
  readonly maxAddressesPerNamespace: number | null;
  /** Namespaces that may use the operator's credentials besides those allowed by their labels, `*` for all; null where not configured. */
  readonly operatorCredentials: readonly string[] | null;
  /** Which listed addresses that were never their own FloatingIPPools take: `unassigned` leaves those on machines outside of this cluster. */
  readonly adopt: 'any' | 'unassigned';
  /** Limit of concurrent jobs of one provider in this process: a hanging call occupies a place. */
  readonly jobsAtOnce: number;
  /** How long a leader keeps the lease while the store does not answer; then another one may have it. */
  readonly storePatienceMs: number;
  /** How long a shutdown may take in all, running jobs and last writes included. Pods need more (terminationGracePeriodSeconds). */
  readonly shutdownGraceMs: number;
}

export const DEFAULT_SETTINGS: Settings = {
  backoff: FLIPOP_BACKOFF,
  pollSteps: POLL_STEPS,
  assignSteps: null,
  assignTimeoutMs: 120_000,
  findTimeoutMs: 60_000,
  callDeadlineMs: 15_000,
  verifyEveryMs: 300_000,
  editLooksAtLeastMs: 60_000,
  orphanDoubtMs: 60_000,
  resyncEveryMs: 60_000,
  sweepEveryMs: 5_000,
  leftQueuesEveryMs: 1_800_000,
  maxAddressesPerNamespace: null,
  operatorCredentials: null,
  adopt: 'any',
  jobsAtOnce: 200,
  storePatienceMs: 15_000,
  shutdownGraceMs: 28_000,
};
