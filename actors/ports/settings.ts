import { type BackoffTables, FLIPOP_BACKOFF } from '../../machines/model/backoff.ts';

/** Figures of the jobs; all in ms. */
export interface JobSettings {
  /** When to look again after a call was accepted: counted from the acceptance, the last step repeats. */
  readonly pollSteps: readonly number[];
  /** The same of an assign; null for looks that come when it is likely to have ended. */
  readonly assignSteps: readonly number[] | null;
  /** How long an assign, a confirmation or a lock may take before the job gives up. */
  readonly assignTimeoutMs: number;
  readonly findTimeoutMs: number;
  /** How long a call may still take effect after it was sent. */
  readonly callDeadlineMs: number;
}

/** Every 150 ms until 1.2 s, then 500, 1000, 2000 ms …: short actions are seen at once, long ones cost few calls. */
export const POLL_STEPS: readonly number[] = [150, 150, 150, 150, 150, 150, 150, 150, 500, 1000, 2000];

/** Every figure that an operator may set; all in ms. The same on every replica. */
export interface Settings extends JobSettings {
  readonly backoff: BackoffTables;
  /** From one verification of all addresses of a token to the next. */
  readonly verifyEveryMs: number;
  /** From one look for edits by hand to the next, at least. */
  readonly editLooksAtLeastMs: number;
  /** From one look for the Service of an address that seems to have none to the next: nothing is freed on one. */
  readonly orphanDoubtMs: number;
  /** How often every fact is told again. */
  readonly resyncEveryMs: number;
  /** How often what could not be dispatched is tried again. */
  readonly sweepEveryMs: number;
  /** How often queues of accounts that are gone are looked for: they are deleted within twice that. */
  readonly leftQueuesEveryMs: number;
  /** Addresses that one namespace may keep, those included whose object is gone; null for as many as it likes. */
  readonly maxAddressesPerNamespace: number | null;
  /** Namespaces that may use the operator's credentials besides those that their labels open, `*` for all; null where nothing is said of that. */
  readonly operatorCredentials: readonly string[] | null;
  /** What FloatingIPPools take that they list and that was never their own: `unassigned` leaves it on machines outside of this cluster. */
  readonly adopt: 'any' | 'unassigned';
  /** Jobs of one provider that run at once in this process: a hanging call holds a place. */
  readonly jobsAtOnce: number;
  /** How long a leader keeps the lease while the store does not answer it: then another one may have it. */
  readonly storePatienceMs: number;
  /** How long a stop may last in all, running jobs and last writes included. Pods have to have more (terminationGracePeriodSeconds). */
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
