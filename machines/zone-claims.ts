import { fullName, type Records, relativeName } from './dns.ts';
import type { Effect, RecordsApplied, RecordsAsked, RecordsClaimed, RecordsFailure } from './events.ts';
import type { SetFailure } from './jobs.ts';
import type { ActorId } from './types.ts';
import { claimantName, type Next, next, type ZoneClaim, type ZoneContext, type ZoneSettings } from './zone.ts';

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

export const textOf = ({ kind, message, outsideZone }: SetFailure): RecordsFailure => ({
  kind,
  message,
  ...(outsideZone && { outsideZone }),
});

export const tell = (to: ActorId, event: Omit<RecordsApplied, 'at'> | Omit<RecordsAsked, 'at'>): Effect => ({
  type: 'tell',
  params: { to, event },
});

/** What is known of a claim, for its claimant. */
export const answer = (claimant: ActorId, { revision, told }: ZoneClaim): readonly Effect[] =>
  told ? [tell(claimant, { type: 'RECORDS_APPLIED', revision, failure: told.failure })] : [];

/** Lets of several claimants of one name the oldest have it, of two of the same age the one whose id sorts first. Tells the others. */
export function settle({ context, effects }: Next): Next {
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

export const byPrecedence = ({ claims }: ZoneContext): readonly [ActorId, ZoneClaim][] =>
  Object.entries(claims).sort(([a, { since: x }], [b, { since: y }]) => x - y || (a < b ? -1 : 1));

function withWinner({ zone, zoneName }: ZoneContext, claim: ZoneClaim, winner: ActorId | null): ZoneClaim {
  if (winner === claim.winner) return claim;
  const fresh: ZoneClaim = { ...claim, winner, isApplied: false, isWorking: false, attempts: 0, retry: null, told: null };
  if (winner === null) return fresh;
  const title = fullName({ recordName: claim.recordName, zone: zoneName ?? zone });
  return {
    ...fresh,
    told: { failure: { kind: 'Conflict', message: `${title} belongs to ${claimantName(winner)}, the older of the two` } },
  };
}
