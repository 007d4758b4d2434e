import type { Effect, RecordsApplied, RecordsAsked, RecordsClaimed, RecordsFailure } from '../events.ts';
import type { SetFailure } from '../jobs.ts';
import { objectOf } from '../model/actor-id.ts';
import { fullName, type Records, relativeName } from '../model/dns.ts';
import { byPrecedence, type Claim } from '../model/precedence.ts';
import type { ActorId } from '../model/types.ts';
import { type Next, nameTaken, next, type ZoneClaim, type ZoneContext, type ZoneSettings } from './zone.ts';

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

const nameIn = ({ zone, zoneName }: ZoneContext, { recordName }: Records): string =>
  relativeName(recordName, zoneName ?? zone) ?? recordName;

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

/** Lets of several claimants of one name the one have it whose records stood already, else the oldest; of two of the same age the one whose id sorts first. Tells
 *  the others. Who has which name is decided before for all of them; here only names meet of which that was not known, such as those in a zone that goes by its id. */
export function settle({ context, effects }: Next): Next {
  const owners = new Map<string, ActorId>();
  const names = new Map<ActorId, string>();
  for (const [claimant, claim] of inOrder(context)) {
    const name = nameIn(context, claim);
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

/** Those first that come first where two want one name. */
export const inOrder = ({ claims }: ZoneContext): readonly [ActorId, ZoneClaim][] =>
  Object.entries(claims).sort(([a, x], [b, y]) => byPrecedence(claimOf(a, x), claimOf(b, y)));

const claimOf = (tie: ActorId, { since, winner, isApplied }: ZoneClaim): Claim => ({
  standing: winner === null && isApplied ? 'Holds' : 'Asks',
  since,
  tie,
});

function withWinner({ zone, zoneName }: ZoneContext, claim: ZoneClaim, winner: ActorId | null): ZoneClaim {
  if (winner === claim.winner) return claim;
  const fresh: ZoneClaim = { ...claim, winner, isApplied: false, isWorking: false, attempts: 0, retry: null, told: null };
  if (winner === null) return fresh;
  const title = fullName({ recordName: claim.recordName, zone: zoneName ?? zone });
  return {
    ...fresh,
    told: { failure: { kind: 'Conflict', message: nameTaken(title, objectOf(winner)) } },
  };
}
