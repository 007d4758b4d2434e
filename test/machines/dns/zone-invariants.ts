import { isDeepStrictEqual } from 'node:util';
import type { Step } from '../../../actors/runtime/step.ts';
import { hasWork, stands, type ZoneClaim, type ZoneContext } from '../../../machines/dns/zone.ts';
import type { EnsureRecordsInput } from '../../../machines/jobs.ts';
import { ownerOf } from '../../support/owners.ts';
import type { Edge } from '../explore.ts';

const contextOf = ({ snapshot }: Step): ZoneContext => snapshot.context as ZoneContext;
const setsOf = (after: Step) => after.starts.flatMap(({ input: given }) => (given as EnsureRecordsInput).sets);
export const claimsIn = (after: Step) => Object.entries(contextOf(after).claims);
const toldTo = ({ effects }: Step) =>
  effects.flatMap((effect) =>
    effect.type === 'tell'
      ? [{ to: effect.params.to, ...(effect.params.event as { type: string; revision?: number; failure?: unknown }) }]
      : [],
  );

/** The claimant claims something else with this event. */
const changes = (id: string, { before, event: heard, after }: Edge): boolean => {
  const wanted = (of: Step) => {
    const { since, recordName, ttlSeconds, addresses } = contextOf(of).claims[id] ?? {};
    return [since, recordName, ttlSeconds, addresses];
  };
  return heard.type === 'RECORDS' && !isDeepStrictEqual(wanted(before), wanted(after));
};

/** Each holds for every event in every state of a zone. */
export const ZONE_RULES: Readonly<Record<string, (edge: Edge) => boolean>> = {
  'one job at once: only after its outcome, or on a restart, is another one issued': ({ before, event: heard, after }) =>
    after.starts.length <= 1 &&
    (after.starts.length === 0 || !before.invoking.has('ensure') || heard.type === 'RESUME' || heard.type.includes('.actor.')),

  'nothing but its outcome ends a job': ({ before, event: heard, after }) =>
    !before.invoking.has('ensure') || after.invoking.has('ensure') || heard.type.endsWith('.actor.ensure'),

  'a job carries something, but after a restart, when all of it may have been given back': ({ event: heard, after }) =>
    after.starts.length === 0 || setsOf(after).length > 0 || heard.type === 'RESUME',

  'no set is carried without addresses, and none of a claimant whose name is another’s': ({ after }) =>
    setsOf(after).every(({ claimant, addresses }) => addresses.length > 0 && contextOf(after).claims[claimant]?.winner === null),

  'of the claimants of one name exactly one has it: whose records stood already, else the older': ({ before, event: heard, after }) => {
    const names = new Set(claimsIn(after).map(([, { recordName }]) => recordName));
    return [...names].every((name) => {
      const all = claimsIn(after).filter(([, { recordName }]) => recordName === name);
      const has = (id: string): boolean => {
        const claim = contextOf(before).claims[id];
        return claim?.recordName === name && claim.winner === null && claim.isApplied && !changes(id, { before, event: heard, after });
      };
      const first = ownerOf(all.map(([id, { since }]) => ({ id, createdAt: since, has: has(id) })));
      return all.every(([id, { winner }]) => winner === (id === first ? null : first));
    });
  },

  'whose records stood has stood for whatever is heard, until it claims something else': ({ before, event: heard, after }) =>
    claimsIn(after).every(
      ([id, { isApplied }]) => !contextOf(before).claims[id]?.isApplied || isApplied || changes(id, { before, event: heard, after }),
    ),

  'whoever has not got its name knows it': ({ after }) =>
    claimsIn(after).every(([, { winner, told: said }]) => winner === null || said?.failure?.kind === 'Conflict'),

  'whoever has its records knows it, and nobody else thinks so': ({ before, event: heard, after }) =>
    claimsIn(after).every(([id, claim]) => {
      const isGood = (each: ZoneClaim | undefined): boolean => each?.told?.failure === null;
      const former = contextOf(before).claims[id];
      const isSame = former?.recordName === claim.recordName && isDeepStrictEqual(former.addresses, claim.addresses);
      const isNews = heard.type === 'xstate.done.actor.ensure';
      return (!isGood(claim) || (claim.isApplied && (isNews || (isSame && isGood(former))))) && (isGood(claim) || !stands(claim));
    }),

  'what changes for a claimant it is told, with the revision that it knows': ({ before, after }) =>
    claimsIn(after).every(([id, { told: said, revision }]) => {
      const former = contextOf(before).claims[id]?.told;
      if (said === null || isDeepStrictEqual(said, former)) return true;
      return toldTo(after).some((each) => each.to === id && each.revision === revision && isDeepStrictEqual(each.failure, said.failure));
    }),

  'nobody is told of a revision that it did not claim last': ({ after }) =>
    toldTo(after).every(({ to, type, revision }) => type !== 'RECORDS_APPLIED' || contextOf(after).claims[to]?.revision === revision),

  'nothing is left lying that could be done now': ({ after }) => after.done || after.invoking.has('ensure') || !hasWork(contextOf(after)),

  'a wait has an end, and a timer for it': ({ before, event: heard, after }) => {
    if (after.snapshot.value !== 'CoolOff') return contextOf(after).wake === null || after.done;
    const isSet = after.delays.filter(({ sendId }) => sendId.includes('.wake.')).length === 1;
    const isNew =
      before.snapshot.value !== 'CoolOff' || contextOf(before).wake?.until !== contextOf(after).wake?.until || heard.type === 'RESUME';
    return contextOf(after).wake !== null && (!isNew || isSet);
  },

  'a verification is always to come': ({ before, event: heard, after }) => {
    if (after.done || after.invoking.has('ensure')) return true;
    const isNew = before.snapshot.value !== after.snapshot.value || heard.type === 'RESUME' || heard.type.includes('.verify.');
    return !isNew || after.delays.filter(({ sendId }) => sendId.includes('.verify.')).length === 1;
  },

  'of what may have been sent unheard a look tells once it can have no effect any more': ({ before, event: heard, after }) => {
    const isCutShort = heard.type === 'RESUME' && before.invoking.has('ensure');
    const until = contextOf(after).unheardUntil ?? Number.POSITIVE_INFINITY;
    const looks = after.delays.filter(({ sendId }) => sendId.includes('.verify.'));
    return (!isCutShort || until < Number.POSITIVE_INFINITY) && looks.every(({ delayMs }) => delayMs <= Math.max(0, until - heard.at));
  },

  'a set in back-off is tried before its time only when something else is wanted, or there may be new credentials': ({
    before,
    event: heard,
    after,
  }) =>
    setsOf(after).every(({ claimant, addresses, recordName }) => {
      const was = contextOf(before).claims[claimant];
      if (!was?.retry || was.recordName !== recordName || !isDeepStrictEqual(was.addresses, addresses)) return true;
      return heard.type.includes('.wake.') || ['RESUME', 'SECRET_OBSERVED'].includes(heard.type);
    }),

  'while the zone cannot be listed nothing is tried before its time': ({ after }) =>
    after.starts.length === 0 || contextOf(after).blocked === null,

  'it ends only when nobody claims anything': ({ after }) => !after.done || claimsIn(after).length === 0,
};

/** The rules that an edge breaks. */
export const brokenByZone = (edge: Edge): readonly string[] =>
  Object.entries(ZONE_RULES).flatMap(([rule, holds]) => (holds(edge) ? [] : [rule]));
