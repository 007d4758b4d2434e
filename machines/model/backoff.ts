import type { ErrorKind, JobFailure } from './types.ts';

/** Waits between tries, ms; the last value repeats. The values are FLIPOP's. */
export interface BackoffTables {
  readonly fast: readonly number[];
  readonly slow: readonly number[];
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** 1, 1, 5, 5, 10, 10, 10 s, 60 s five times, 300 s; and 1, 5, 10 min. */
export const FLIPOP_BACKOFF: BackoffTables = {
  fast: [1, 1, 5, 5, 10, 10, 10, 60, 60, 60, 60, 60, 300].map((seconds) => seconds * SECOND),
  slow: [MINUTE, 5 * MINUTE, 10 * MINUTE],
};

/** The back-off table for a failure: fast for what resolves itself (a pending event, a limit, an outage, an occupied node), slow for what a user has to fix. */
export function tempoOf(kind: ErrorKind): keyof BackoffTables {
  switch (kind) {
    case 'InProgress':
    case 'NodeInUse':
    case 'RateLimited':
    case 'Unavailable':
      return 'fast';
    case 'NotFound':
    case 'Conflict':
    case 'Unauthorized':
    case 'Invalid':
    case 'Unsupported':
      return 'slow';
  }
}

/** A Job of a class reported that its request can never succeed: only another spec, another template or other credentials end the wait. */
export const isUntilChanged = (failure: { readonly kind: ErrorKind; readonly reason?: JobFailure['reason'] } | null): boolean =>
  failure?.kind === 'Invalid' && (failure.reason === 'RoutedIPJobFailed' || failure.reason === 'FirewallJobFailed');

export const UNTIL_CHANGED = 'tried again once the RoutedIP, its class or its credentials are changed, and each hour';

/** A permission has to be granted, which takes effect without notice: a retry costs one request to the own cluster. */
const FORBIDDEN_MS = 10 * SECOND;

/** A user has to create the firewall: a retry costs one call. */
const NO_FIREWALL_MS = 30 * SECOND;

/** The platform behind a Job may change without notice: a retry costs one Job. */
const UNTIL_CHANGED_MS = 60 * MINUTE;

/** How long to wait before try `attempt` + 1, ms. `attempt` counts the failures so far, from 1. At least as long as the provider asked for. */
export function backoffMs(
  tables: BackoffTables,
  failure: Pick<JobFailure, 'kind' | 'retryAfterMs'> & { readonly reason?: JobFailure['reason'] },
  attempt: number,
): number {
  if (isUntilChanged(failure)) return UNTIL_CHANGED_MS;
  if (failure.reason === 'Forbidden') return FORBIDDEN_MS;
  if (failure.reason === 'FirewallNotFound') return Math.max(NO_FIREWALL_MS, failure.retryAfterMs ?? 0);
  return Math.max(waitIn(tables[tempoOf(failure.kind)], attempt), failure.retryAfterMs ?? 0);
}

/** The wait before try `attempt` + 1, ms. */
export const waitIn = (table: readonly number[], attempt: number): number => table[Math.min(attempt, table.length) - 1] ?? 0;

/** The rest of a wait that ends at `until`, ms: never more than `wholeMs`, even after the clock was set back. */
export const restMs = (until: number | null, at: number, wholeMs: number): number => Math.min(Math.max(0, (until ?? 0) - at), wholeMs);
