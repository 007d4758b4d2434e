import { type BackoffTables, backoffMs, restMs, tempoOf } from './backoff.ts';
import { fullName, type Records, relativeName } from './dns.ts';
import type { Decision, Effect, RecordsApplied, RecordsAsked, RecordsClaimed, RecordsFailure, Resume } from './events.ts';
import type { EnsuredRecords, EnsureRecordsInput, SetOutcome } from './jobs.ts';
import type { ActorId, JobFailure } from './types.ts';

/** What a zone of a provider remembers: who claims which records of it, and which of them stand. */
export interface ZoneContext {
  readonly id: ActorId;
  readonly provider: string;
  /** As the claimants call it. */
  readonly zone: string;
  /** As the provider calls it; null until it was listed. Another one than `zone` where that is an id. */
  readonly zoneName: string | null;
  readonly claims: Readonly<Record<ActorId, ZoneClaim>>;
  /** Every set is to be looked at again. */
  readonly isVerifying: boolean;
  /** When that is due the next time, ms since the epoch; null before the first claim. */
  readonly verifyAt: number | null;
  /** Why the zone could not be listed, and how often in a row; null once it could. */
  readonly failure: JobFailure | null;
  readonly attempts: number;
  /** Nothing is tried before; null when that is no matter of the zone as a whole. */
  readonly blocked: Wait | null;
  /** The wait that a timer is set for. */
  readonly wake: Wait | null;
}

/** A time in ms since the epoch, and how long the wait for it was when it began. */
export interface Wait {
  readonly until: number;
  readonly wholeMs: number;
}

export interface ZoneClaim extends Records {
  readonly revision: number;
  readonly since: number;
  /** Verifications since a load in which the claimant was not heard. */
  readonly silent: number;
  /** Who has the name instead; null when the claimant has it. */
  readonly winner: ActorId | null;
  /** The provider has it, as far as is known. */
  readonly isApplied: boolean;
  /** The job under way carries it, as it is now. */
  readonly isWorking: boolean;
  /** What the claimant was told last of this claim; null for nothing. */
  readonly told: { readonly failure: RecordsFailure | null } | null;
  readonly attempts: number;
  /** Not tried before; null when it may be tried at once. */
  readonly retry: Wait | null;
}

export interface ZoneInput {
  readonly id: ActorId;
  readonly provider: string;
  readonly zone: string;
}

export interface ZoneSettings {
  readonly backoff: BackoffTables;
  /** From one verification of all sets to the next, ms. */
  readonly verifyEveryMs: number;
}

export type AnyZoneEvent =
  | RecordsClaimed
  | Resume
  | { readonly type: 'xstate.done.actor.ensure'; readonly output: EnsuredRecords; readonly at: number }
  | { readonly type: 'xstate.error.actor.ensure'; readonly error: JobFailure; readonly at: number };

/** Unheard for so many verifications after a load, a claimant is gone. Before the last of them it was asked. */
const SILENT_VERIFICATIONS = 2;

/** The actor of a zone; `zone` in canonical form. */
export const zoneActor = (provider: string, zone: string): ActorId => `zone/${provider}/${zone}`;

/** What the actor of that id begins with. */
export function zoneInput(id: ActorId): ZoneInput {
  const [, provider = '', ...zone] = id.split('/');
  return { id, provider, zone: zone.join('/') };
}

/** A claimant as people know it. */
export function claimantName(id: ActorId): string {
  const [part, namespace, name] = id.split('/');
  return `${part === 'pool' ? 'FloatingIPPool' : 'NodeDNSRecordSet'} ${namespace}/${name}`;
}

export const zoneContext = ({ id, provider, zone }: ZoneInput): ZoneContext => ({
  id,
  provider,
  zone,
  zoneName: null,
  claims: {},
  isVerifying: false,
  verifyAt: null,
  failure: null,
  attempts: 0,
  blocked: null,
  wake: null,
});

type Next = Decision<ZoneContext>;
const next = (context: ZoneContext, effects: readonly Effect[] = []): Next => ({ context, effects });

// ---------------------------------------------------------------- claims about the zone

export const isUnclaimed = ({ claims }: ZoneContext): boolean => Object.keys(claims).length === 0;

/** There is something that a job could do now. */
export const hasWork = (context: ZoneContext): boolean =>
  context.blocked === null && Object.values(context.claims).some((claim) => isDue(claim, context.isVerifying));

/** Something has to wait for its time. */
export const mustWait = (context: ZoneContext): boolean => nextWake(context) !== null;

export const wakesOtherwise = (context: ZoneContext): boolean => nextWake(context)?.until !== context.wake?.until;

/** Not while its claimant may be gone: what it wanted may be out of date. */
const mayBeVerified = (claim: ZoneClaim): boolean => hasName(claim) && claim.retry === null && claim.silent === 0;

const hasName = ({ winner }: ZoneClaim): boolean => winner === null;

const isDue = (claim: ZoneClaim, isVerifying: boolean): boolean =>
  (hasName(claim) && claim.retry === null && !claim.isApplied) || (isVerifying && mayBeVerified(claim));

function nextWake({ claims, blocked }: ZoneContext): Wait | null {
  const held = Object.values(claims).filter(hasName);
  if (held.length === 0) return null;
  if (blocked) return blocked;
  const waits = held.flatMap(({ retry }) => (retry ? [retry] : []));
  return waits.reduce<Wait | null>((first, wait) => (first === null || wait.until < first.until ? wait : first), null);
}

/** Rest of the time until the next verification, ms. */
export const verifyLeft =
  ({ verifyEveryMs }: ZoneSettings) =>
  ({ verifyAt }: ZoneContext, at: number): number =>
    verifyAt === null ? verifyEveryMs : restMs(verifyAt, at, verifyEveryMs);

/** Rest of the wait that a timer is set for, ms. */
export const wakeLeft = ({ wake }: ZoneContext, at: number): number => (wake ? restMs(wake.until, at, wake.wholeMs) : 0);

// ---------------------------------------------------------------- claims on the zone

/** Takes a claim over, whole; one without addresses is given back. One that says nothing new is answered by what is known of it. */
export const noteRecords =
  ({ verifyEveryMs }: ZoneSettings) =>
  (context: ZoneContext, event: RecordsClaimed): Next => {
    const { claimant, revision, since, recordName, ttlSeconds, addresses, at } = event;
    const { [claimant]: before, ...others } = context.claims;
    if (addresses.length === 0) return settle(next({ ...context, claims: others }));
    const verifyAt = context.verifyAt ?? at + verifyEveryMs;
    if (before && wanted(before) === wanted(event)) {
      const claim = { ...before, revision, silent: 0 };
      return next({ ...context, verifyAt, claims: { ...others, [claimant]: claim } }, answer(claimant, claim));
    }
    const claim: ZoneClaim = {
      revision,
      since,
      recordName,
      ttlSeconds,
      addresses,
      silent: 0,
      winner: null,
      isApplied: false,
      isWorking: false,
      // A zone that cannot be listed is bad news for whoever comes.
      told: context.failure && context.blocked && context.blocked.until > at ? { failure: textOf(context.failure) } : null,
      attempts: 0,
      retry: null,
    };
    return settle(next({ ...context, verifyAt, claims: { ...others, [claimant]: claim } }, answer(claimant, claim)));
  };

const wanted = ({ since, recordName, ttlSeconds, addresses }: Records & { readonly since: number }): string =>
  JSON.stringify([since, recordName, ttlSeconds, addresses]);

const textOf = ({ kind, message }: JobFailure): RecordsFailure => ({ kind, message });

const tell = (to: ActorId, event: Omit<RecordsApplied, 'at'> | Omit<RecordsAsked, 'at'>): Effect => ({
  type: 'tell',
  params: { to, event },
});

/** What is known of a claim, for its claimant. */
const answer = (claimant: ActorId, { revision, told }: ZoneClaim): readonly Effect[] =>
  told ? [tell(claimant, { type: 'RECORDS_APPLIED', revision, failure: told.failure })] : [];

/** Lets of several claimants of one name the oldest have it, of two of the same age the one whose id sorts first. Tells the others. */
function settle({ context, effects }: Next): Next {
  const owners = new Map<string, ActorId>();
  const names = new Map<ActorId, string>();
  for (const [claimant, { recordName }] of byPrecedence(context)) {
    const name = relativeName(recordName, context.zoneName ?? context.zone) ?? recordName;
    names.set(claimant, name);
    if (!owners.has(name)) owners.set(name, claimant);
  }
  const told: Effect[] = [];
  const claims = Object.fromEntries(
    Object.entries(context.claims).map(([claimant, claim]) => {
      const owner = owners.get(names.get(claimant) ?? '') ?? claimant;
      const settled = withWinner(context, claim, owner === claimant ? null : owner);
      if (settled !== claim) told.push(...answer(claimant, settled));
      return [claimant, settled];
    }),
  );
  return next({ ...context, claims }, [...effects, ...told]);
}

const byPrecedence = ({ claims }: ZoneContext): readonly [ActorId, ZoneClaim][] =>
  Object.entries(claims).sort(([a, { since: x }], [b, { since: y }]) => x - y || (a < b ? -1 : 1));

function withWinner({ zone, zoneName }: ZoneContext, claim: ZoneClaim, winner: ActorId | null): ZoneClaim {
  if (winner === claim.winner) return claim;
  const fresh: ZoneClaim = { ...claim, winner, isApplied: false, attempts: 0, retry: null, told: null };
  if (winner === null) return fresh;
  const title = fullName({ recordName: claim.recordName, zone: zoneName ?? zone });
  return {
    ...fresh,
    told: { failure: { kind: 'Conflict', message: `${title} belongs to ${claimantName(winner)}, the older of the two` } },
  };
}

// ---------------------------------------------------------------- the job

/** A job starts: it carries all that is due. What a job cut short carried it carries again. */
export function begin(context: ZoneContext): Next {
  const claims = mapClaims(context, (claim) => (isDue(claim, context.isVerifying) ? { ...claim, isWorking: true } : claim));
  return next({ ...context, claims, wake: null });
}

export const ensureInput = (context: ZoneContext): EnsureRecordsInput => ({
  provider: context.provider,
  zone: context.zone,
  sets: byPrecedence(context).flatMap(([claimant, { isWorking, recordName, ttlSeconds, addresses }]) =>
    isWorking ? [{ claimant, recordName, ttlSeconds, addresses }] : [],
  ),
});

/** The zone was listed, and each set has an outcome of its own. Whoever claimed anew meanwhile is not meant. */
export const noteOutcomes =
  (settings: ZoneSettings) =>
  (context: ZoneContext, { zoneName, outcomes }: EnsuredRecords, at: number): Next => {
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
  return { ...claim, isWorking: false, isApplied: false, attempts, retry, told: { failure: textOf(failure) } };
}

const isNews = (before: ZoneClaim, after: ZoneClaim): boolean => JSON.stringify(before.told) !== JSON.stringify(after.told);

function waitAfter(backoff: BackoffTables, failure: JobFailure, attempts: number, at: number): Wait {
  const wholeMs = backoffMs(backoff, failure, attempts);
  return { until: at + wholeMs, wholeMs };
}

/** The zone could not be listed, so nothing was done. Whoever waits is told. A set that stands already hears only what a person has to mend: its records
 *  are none the worse for a provider that was away for a moment. */
export const noteFailure =
  ({ backoff }: ZoneSettings) =>
  (context: ZoneContext, failure: JobFailure, at: number): Next => {
    const attempts = context.attempts + 1;
    const effects: Effect[] = [];
    const claims = mapClaims(context, (claim, claimant) => {
      const idle = { ...claim, isWorking: false };
      if (claim.winner !== null || (claim.isApplied && tempoOf(failure.kind) === 'fast')) return idle;
      const after: ZoneClaim = { ...idle, isApplied: false, retry: null, told: { failure: textOf(failure) } };
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

export const planWake = (context: ZoneContext): Next => next({ ...context, wake: nextWake(context) });

/** The wait is over: what waited for it may be tried. By the plan, not by the clock, which may have been set back. */
export function wakeUp(context: ZoneContext): Next {
  const until = context.wake?.until ?? Number.NEGATIVE_INFINITY;
  const over = (wait: Wait | null): Wait | null => (wait && wait.until <= until ? null : wait);
  const claims = mapClaims(context, (claim) => ({ ...claim, retry: over(claim.retry) }));
  return next({ ...context, claims, blocked: over(context.blocked), wake: null });
}

/** All sets are due again. Claimants that were not heard since a load are asked, and forgotten when that did not help. */
export const callVerification =
  ({ verifyEveryMs }: ZoneSettings) =>
  (context: ZoneContext, at: number): Next => {
    const { id } = context;
    const heard = Object.entries(context.claims).filter(([, { silent }]) => silent < SILENT_VERIFICATIONS);
    const asked = heard.flatMap(([claimant, { silent }]) => (silent > 0 ? [tell(claimant, { type: 'RECORDS_ASKED', zone: id })] : []));
    const claims = Object.fromEntries(
      heard.map(([claimant, claim]) => [claimant, claim.silent > 0 ? { ...claim, silent: claim.silent + 1 } : claim]),
    );
    const isVerifying = Object.values(claims).some(mayBeVerified);
    return settle(next({ ...context, claims, isVerifying, verifyAt: at + verifyEveryMs }, asked));
  };

/** After a load a claimant may be gone, and new credentials may be there: what failed for want of them is tried at once. */
export function resume(context: ZoneContext): Next {
  const claims = mapClaims(context, (claim) => ({
    ...claim,
    silent: Math.max(1, claim.silent),
    retry: claim.told?.failure?.kind === 'Unauthorized' ? null : claim.retry,
  }));
  return next({ ...context, claims, blocked: context.failure?.kind === 'Unauthorized' ? null : context.blocked });
}
