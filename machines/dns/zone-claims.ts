import type { Effect, RecordsApplied, RecordsAsked, RecordsClaimed, RecordsFailure } from '../events.ts';
import type { SetFailure } from '../jobs.ts';
import { objectOf } from '../model/actor-id.ts';
import { fullName, type Records, relativeName } from '../model/dns.ts';
import { byPrecedence, type Claim } from '../model/precedence.ts';
import type { ActorId } from '../model/types.ts';
import { type Next, nameTaken, next, type ZoneClaim, type ZoneContext, type ZoneSettings } from './zone.ts';

/** Replaces the claimant's claim; one without addresses is given back. An unchanged claim is answered with its current state. */
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
      // While a zone cannot be listed, new claimants get that failure at once.
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

/** The current state of a claim, as an answer to its claimant. */
export const answer = (claimant: ActorId, { revision, told }: ZoneClaim): readonly Effect[] =>
  told ? [tell(claimant, { type: 'RECORDS_APPLIED', revision, failure: told.failure })] : [];

/** If several claimants want one name, the one whose records are already applied gets it, otherwise the oldest; for equal age, the id that sorts first. Answers the others.
 *  Ownership of names is decided earlier for all of them; only conflicts that could not be known then are left, such as in a zone named by its id. */
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

/** Claims in the order of precedence for a shared name. */
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
