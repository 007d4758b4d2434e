import type { Decision, Effect, RecordsClaimed, RecordsFailure, Resume, SecretObserved } from '../events.ts';
import type { EnsuredRecords } from '../jobs.ts';
import { isZone, zoneActor, zoneOf } from '../model/actor-id.ts';
import { type BackoffTables, restMs } from '../model/backoff.ts';
import { canonicalZone, type Records, type RecordTarget, relativeName } from '../model/dns.ts';
import type { ActorId, JobFailure } from '../model/types.ts';

/** State of a provider's zone: the claims on its records, and which of them are applied. */
export interface ZoneContext {
  readonly id: ActorId;
  readonly provider: string;
  /** The claimants' name for it. */
  readonly zone: string;
  /** The provider's name for it; null until it was listed. Differs from `zone` where that is an id. */
  readonly zoneName: string | null;
  readonly claims: Readonly<Record<ActorId, ZoneClaim>>;
  /** Every set has to be checked again. */
  readonly isVerifying: boolean;
  /** When the next check is due, ms since the epoch; null before the first claim. */
  readonly verifyAt: number | null;
  /** Until then a call whose answer was lost may still take effect, ms since the epoch: every set has to be checked after that. Null or absent when none can. */
  readonly unheardUntil?: number | null;
  /** Upper limit of that time, ms, where it is longer than a call deadline: as long as others may still send the call. */
  readonly unheardMs?: number;
  /** Why the zone could not be listed, and how often in a row; null once it could. */
  readonly failure: JobFailure | null;
  readonly attempts: number;
  /** Nothing is tried before; null when the zone as a whole is not blocked. */
  readonly blocked: Wait | null;
  /** The wait behind the current timer. */
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
  /** Verifications since a load in which the claimant was silent. */
  readonly silent: number;
  /** The other claimant that has the name; null when this one has it. */
  readonly winner: ActorId | null;
  /** The provider has had it since it was claimed: a later claimant does not get its name. Later failures are in `told`. */
  readonly isApplied: boolean;
  /** The job under way carries it in its current form. */
  readonly isWorking: boolean;
  /** The last answer for this claim; null for none. */
  readonly told: { readonly failure: RecordsFailure | null } | null;
  readonly attempts: number;
  /** Not tried before; null when it may be tried at once. */
  readonly retry: Wait | null;
}

export interface ZoneInput {
  readonly id: ActorId;
  readonly provider: string;
  readonly zone: string;
  readonly unheardUntil?: number;
}

export interface ZoneSettings {
  readonly backoff: BackoffTables;
  /** Interval between verifications of all sets, ms. */
  readonly verifyEveryMs: number;
  /** How long a call may still take effect after it was sent, ms. */
  readonly callDeadlineMs: number;
}

export type AnyZoneEvent =
  | RecordsClaimed
  | Resume
  | SecretObserved
  | { readonly type: 'xstate.done.actor.ensure'; readonly output: EnsuredRecords; readonly at: number }
  | { readonly type: 'xstate.error.actor.ensure'; readonly error: JobFailure; readonly at: number };

/** Key under which names of record sets are compared, including the zone. No address looks like it. */
export const nameKey = ({ provider, zone, recordName }: Omit<RecordTarget, 'ttlSeconds'>): string =>
  `${zoneActor(provider, zone)} ${relativeName(recordName, zone) ?? canonicalZone(recordName)}`;

export const isNameKey = (key: string): boolean => isZone(key);

export const nameTaken = (name: string, owner: string): string => `${name} belongs to ${owner}, which keeps it`;

/** The initial input of the actor with that id. */
export function zoneInput(id: ActorId): ZoneInput {
  return { id, ...zoneOf(id) };
}

export const zoneContext = ({ id, provider, zone, unheardUntil }: ZoneInput): ZoneContext => ({
  id,
  provider,
  zone,
  ...(unheardUntil !== undefined && { unheardUntil }),
  zoneName: null,
  claims: {},
  isVerifying: false,
  verifyAt: null,
  failure: null,
  attempts: 0,
  blocked: null,
  wake: null,
});

export type Next = Decision<ZoneContext>;
export const next = (context: ZoneContext, effects: readonly Effect[] = []): Next => ({ context, effects });

// ---------------------------------------------------------------- claims about the zone

export const isUnclaimed = ({ claims }: ZoneContext): boolean => Object.keys(claims).length === 0;

/** There is something that a job could do now. */
export const hasWork = (context: ZoneContext): boolean =>
  context.blocked === null && Object.values(context.claims).some((claim) => isDue(claim, context.isVerifying));

/** Something waits for its time. */
export const mustWait = (context: ZoneContext): boolean => nextWake(context) !== null;

export const wakesOtherwise = (context: ZoneContext): boolean => nextWake(context)?.until !== context.wake?.until;

/** Not while its claimant may be gone: its claim may be out of date. */
export const mayBeVerified = (claim: ZoneClaim): boolean => hasName(claim) && claim.retry === null && claim.silent === 0;

/** The provider has its current form, as far as is known. */
export const stands = ({ isApplied, told }: ZoneClaim): boolean => isApplied && told?.failure === null;

const hasName = ({ winner }: ZoneClaim): boolean => winner === null;

export const isDue = (claim: ZoneClaim, isVerifying: boolean): boolean =>
  (hasName(claim) && claim.retry === null && !stands(claim)) || (isVerifying && mayBeVerified(claim));

export function nextWake({ claims, blocked }: ZoneContext): Wait | null {
  const held = Object.values(claims).filter(hasName);
  if (held.length === 0) return null;
  if (blocked) return blocked;
  const waits = held.flatMap(({ retry }) => (retry ? [retry] : []));
  return waits.reduce<Wait | null>((first, wait) => (first === null || wait.until < first.until ? wait : first), null);
}

/** Time until all sets are checked next, ms. */
export const verifyLeft =
  ({ verifyEveryMs }: ZoneSettings) =>
  ({ verifyAt, unheardUntil }: ZoneContext, at: number): number =>
    verifyAt === null ? verifyEveryMs : restMs(Math.min(verifyAt, unheardUntil ?? verifyAt), at, verifyEveryMs);

/** The latest of several times counts: a check before it does not cover what happens after it. */
export function expectUnheard(context: ZoneContext, until: number, wholeMs?: number): ZoneContext {
  const { unheardMs: _, ...others } = context;
  const isLast = until >= (context.unheardUntil ?? until);
  return isLast ? { ...others, unheardUntil: until, ...(wholeMs && { unheardMs: wholeMs }) } : context;
}

/** Rest of the current timer's wait, ms. */
export const wakeLeft = ({ wake }: ZoneContext, at: number): number => (wake ? restMs(wake.until, at, wake.wholeMs) : 0);
