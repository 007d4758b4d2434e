import type { Effect } from '../events.ts';
import type { EnsuredRecords, EnsureRecordsInput, SetOutcome } from '../jobs.ts';
import { type BackoffTables, backoffMs, tempoOf } from '../model/backoff.ts';
import { namespaceOf } from '../model/namespaces.ts';
import type { ActorId, JobFailure } from '../model/types.ts';
import {
  expectUnheard,
  isDue,
  mayBeVerified,
  type Next,
  next,
  nextWake,
  stands,
  type Wait,
  type ZoneClaim,
  type ZoneContext,
  type ZoneSettings,
} from './zone.ts';
import { answer, inOrder, settle, tell, textOf } from './zone-claims.ts';

/** A claimant silent for this many verifications after a load is gone. It was asked before the last of them. */
const SILENT_VERIFICATIONS = 2;

/** How many pending sets one job carries: this bounds how long a new claimant waits for others. */
const WRITTEN_AT_ONCE = 50;

/** A job starts with everything due; if that is more than one job may carry, each namespace gets an equal share. It includes what an interrupted job carried. */
export function begin(context: ZoneContext): Next {
  const due = inOrder(context).filter(([, claim]) => isDue(claim, context.isVerifying));
  const [standing, others] = [due.filter(([, claim]) => stands(claim)), due.filter(([, claim]) => !stands(claim))];
  const carried = new Set([...standing, ...byTurns(others).slice(0, WRITTEN_AT_ONCE)].map(([claimant]) => claimant));
  return next({ ...context, claims: mapClaims(context, (claim, id) => (carried.has(id) ? { ...claim, isWorking: true } : claim)) });
}

/** The first of each namespace, then the second of each, and so on. */
function byTurns(claims: readonly [ActorId, ZoneClaim][]): readonly [ActorId, ZoneClaim][] {
  const inNamespace = Map.groupBy(claims, ([claimant]) => namespaceOf(claimant));
  const turns = [...inNamespace.values()].flatMap((each) => each.map((claim, turn) => ({ claim, turn })));
  return turns.sort((a, b) => a.turn - b.turn).map(({ claim }) => claim);
}

export const ensureInput = (context: ZoneContext): EnsureRecordsInput => ({
  provider: context.provider,
  zone: context.zone,
  sets: inOrder(context).flatMap(([claimant, { isWorking, recordName, ttlSeconds, addresses }]) =>
    isWorking ? [{ claimant, recordName, ttlSeconds, addresses }] : [],
  ),
});

/** The zone was listed, and each set has its own outcome. Claims renewed meanwhile are not affected. */
export const noteOutcomes =
  (settings: ZoneSettings) =>
  (before: ZoneContext, { zoneName, outcomes, rerun }: EnsuredRecords, at: number): Next => {
    const isUnheard = rerun || outcomes.some(({ failure }) => failure?.unknownOutcome);
    const context = isUnheard ? expectUnheard(before, at + settings.callDeadlineMs) : before;
    const byClaimant = new Map(outcomes.map((outcome) => [outcome.claimant, outcome]));
    const effects: Effect[] = [];
    const claims = mapClaims(context, (claim, claimant) => {
      const outcome = byClaimant.get(claimant);
      if (!claim.isWorking || !outcome || claim.winner !== null) return { ...claim, isWorking: false };
      const after = withOutcome(settings, claim, outcome, at);
      if (isNews(claim, after)) effects.push(...answer(claimant, after));
      return after;
    });
    return settle(next({ ...context, zoneName, claims, isVerifying: false, failure: null, attempts: 0, blocked: null }, effects));
  };

function withOutcome({ backoff }: ZoneSettings, claim: ZoneClaim, { failure }: SetOutcome, at: number): ZoneClaim {
  if (!failure) return { ...claim, isWorking: false, isApplied: true, attempts: 0, retry: null, told: { failure: null } };
  const attempts = claim.attempts + 1;
  const retry = waitAfter(backoff, failure, attempts, at);
  return { ...claim, isWorking: false, attempts, retry, told: { failure: textOf(failure) } };
}

const isNews = (before: ZoneClaim, after: ZoneClaim): boolean => JSON.stringify(before.told) !== JSON.stringify(after.told);

function waitAfter(backoff: BackoffTables, failure: JobFailure, attempts: number, at: number): Wait {
  const wholeMs = backoffMs(backoff, failure, attempts);
  return { until: at + wholeMs, wholeMs };
}

/** The zone could not be listed, so nothing was done. Waiting claimants are answered. A claimant whose set is published is notified only of failures that a user has to fix: a
 *  short outage of the provider does not affect its records. */
export const noteFailure =
  ({ backoff, callDeadlineMs }: ZoneSettings) =>
  (before: ZoneContext, failure: JobFailure, at: number): Next => {
    const context = failure.unknownOutcome ? expectUnheard(before, at + callDeadlineMs) : before;
    const attempts = context.attempts + 1;
    const effects: Effect[] = [];
    const claims = mapClaims(context, (claim, claimant) => {
      const idle = { ...claim, isWorking: false };
      if (claim.winner !== null || (stands(claim) && tempoOf(failure.kind) === 'fast')) return idle;
      const after: ZoneClaim = { ...idle, retry: null, told: { failure: textOf(failure) } };
      if (isNews(claim, after)) effects.push(...answer(claimant, after));
      return after;
    });
    return next({ ...context, claims, failure, attempts, blocked: waitAfter(backoff, failure, attempts, at) }, effects);
  };

const mapClaims = (
  { claims }: ZoneContext,
  change: (claim: ZoneClaim, claimant: ActorId) => ZoneClaim,
): Readonly<Record<ActorId, ZoneClaim>> =>
  Object.fromEntries(Object.entries(claims).map(([claimant, claim]) => [claimant, change(claim, claimant)]));

// ---------------------------------------------------------------- time

/** After the clock was set back, a time further ahead than its full wait starts again, once: otherwise each entry would postpone it. */
export const bringNear =
  ({ verifyEveryMs, callDeadlineMs }: ZoneSettings) =>
  (context: ZoneContext, at: number): Next => {
    const near = (wait: Wait | null): Wait | null => wait && { ...wait, until: Math.min(wait.until, at + wait.wholeMs) };
    const claims = mapClaims(context, (claim) => ({ ...claim, retry: near(claim.retry) }));
    const { verifyAt, unheardUntil, unheardMs = callDeadlineMs } = context;
    // Nothing waits before the first claim.
    if (verifyAt === null) return next(context);
    const unheard = typeof unheardUntil === 'number' && { unheardUntil: Math.min(unheardUntil, at + unheardMs) };
    return next({ ...context, claims, blocked: near(context.blocked), verifyAt: Math.min(verifyAt, at + verifyEveryMs), ...unheard });
  };

export const planWake = (context: ZoneContext): Next => next({ ...context, wake: nextWake(context) });

export const forgetWake = (context: ZoneContext): Next => next({ ...context, wake: null });

/** The wait is over: what waited for it may be tried. Based on the planned time, not on the clock, which may have been set back. */
export function wakeUp(context: ZoneContext): Next {
  const until = context.wake?.until ?? Number.NEGATIVE_INFINITY;
  const over = (wait: Wait | null): Wait | null => (wait && wait.until <= until ? null : wait);
  const claims = mapClaims(context, (claim) => ({ ...claim, retry: over(claim.retry) }));
  return next({ ...context, claims, blocked: over(context.blocked), wake: null });
}

/** The worker of the job may have sent a call before it ended. */
export const noteUnheard =
  ({ callDeadlineMs }: ZoneSettings) =>
  (context: ZoneContext, at: number): Next =>
    next(expectUnheard(context, at + callDeadlineMs));

/** All sets are due again. Claimants that have been silent since a load are asked, and dropped if they stay silent. */
export const callVerification =
  ({ verifyEveryMs }: ZoneSettings) =>
  (context: ZoneContext, at: number): Next => {
    const { id, verifyAt, unheardUntil } = context;
    const isSettled = typeof unheardUntil === 'number' && unheardUntil <= Math.max(verifyAt ?? 0, at);
    const heard = Object.entries(context.claims).filter(([, { silent }]) => silent < SILENT_VERIFICATIONS);
    const asked = heard.flatMap(([claimant, { silent }]) => (silent > 0 ? [tell(claimant, { type: 'RECORDS_ASKED', zone: id })] : []));
    const claims = Object.fromEntries(
      heard.map(([claimant, claim]) => [claimant, claim.silent > 0 ? { ...claim, silent: claim.silent + 1 } : claim]),
    );
    const isVerifying = Object.values(claims).some(mayBeVerified);
    return settle(next({ ...context, ...(isSettled && { unheardUntil: null }), claims, isVerifying, verifyAt: at + verifyEveryMs }, asked));
  };

/** After a load a claimant may be gone, and the credentials may have changed. */
export function resume(context: ZoneContext): Next {
  const claims = mapClaims(context, (claim) => ({ ...claim, silent: Math.max(1, claim.silent) }));
  return retryRefused({ ...context, claims });
}

/** The credentials may have changed: sets that failed as unauthorized are retried at once. */
export function retryRefused(context: ZoneContext): Next {
  const claims = mapClaims(context, (claim) => ({
    ...claim,
    retry: claim.told?.failure?.kind === 'Unauthorized' ? null : claim.retry,
  }));
  return next({ ...context, claims, blocked: context.failure?.kind === 'Unauthorized' ? null : context.blocked });
}
