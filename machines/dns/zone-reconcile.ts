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

/** Unheard for so many verifications after a load, a claimant is gone. Before the last of them it was asked. */
const SILENT_VERIFICATIONS = 2;

/** So many sets that do not stand one job carries: whoever claims meanwhile waits for no more of others. */
const WRITTEN_AT_ONCE = 50;

/** A job starts: it carries what is due, of each namespace the same number while there is more than one job may carry. What a job cut short carried it carries again. */
export function begin(context: ZoneContext): Next {
  const due = inOrder(context).filter(([, claim]) => isDue(claim, context.isVerifying));
  const [standing, others] = [due.filter(([, claim]) => stands(claim)), due.filter(([, claim]) => !stands(claim))];
  const carried = new Set([...standing, ...byTurns(others).slice(0, WRITTEN_AT_ONCE)].map(([claimant]) => claimant));
  return next({ ...context, claims: mapClaims(context, (claim, id) => (carried.has(id) ? { ...claim, isWorking: true } : claim)) });
}

/** The first one of each namespace, then the second one of each, and so on. */
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

/** The zone was listed, and each set has an outcome of its own. Whoever claimed anew meanwhile is not meant. */
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

/** The zone could not be listed, so nothing was done. Whoever waits is told. A set that stands already hears only what a person has to mend: its records
 *  are none the worse for a provider that was away for a moment. */
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

/** After the clock was set back a time that lies further ahead than its whole wait begins anew, once: each entry would put it off else. */
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

/** The wait is over: what waited for it may be tried. By the plan, not by the clock, which may have been set back. */
export function wakeUp(context: ZoneContext): Next {
  const until = context.wake?.until ?? Number.NEGATIVE_INFINITY;
  const over = (wait: Wait | null): Wait | null => (wait && wait.until <= until ? null : wait);
  const claims = mapClaims(context, (claim) => ({ ...claim, retry: over(claim.retry) }));
  return next({ ...context, claims, blocked: over(context.blocked), wake: null });
}

/** Whoever ran the job may have sent a call before it ended. */
export const noteUnheard =
  ({ callDeadlineMs }: ZoneSettings) =>
  (context: ZoneContext, at: number): Next =>
    next(expectUnheard(context, at + callDeadlineMs));

/** All sets are due again. Claimants that were not heard since a load are asked, and forgotten when that did not help. */
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

/** After a load a claimant may be gone, and there may be other credentials. */
export function resume(context: ZoneContext): Next {
  const claims = mapClaims(context, (claim) => ({ ...claim, silent: Math.max(1, claim.silent) }));
  return retryRefused({ ...context, claims });
}

/** There may be other credentials: what failed for want of them is tried at once. */
export function retryRefused(context: ZoneContext): Next {
  const claims = mapClaims(context, (claim) => ({
    ...claim,
    retry: claim.told?.failure?.kind === 'Unauthorized' ? null : claim.retry,
  }));
  return next({ ...context, claims, blocked: context.failure?.kind === 'Unauthorized' ? null : context.blocked });
}
