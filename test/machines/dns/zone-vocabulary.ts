import { stands, type ZoneContext } from '../../../machines/dns/zone.ts';
import { B, cutOff, failure, PROVIDER, SECOND, START } from '../builders.ts';
import { VERIFY_EVERY } from '../drive.ts';
import type { Telling } from '../explore.ts';
import { event } from '../pool/world.ts';
import { API, ensured, outcome, records, WEB, ZONE } from './world.ts';

export const ZONE_INPUT = { id: ZONE, provider: PROVIDER, zone: 'example.com' };

export const older = records({ claimant: API, since: START - 1 });
/** Claims of web and, on the same name, of the older api; outcomes, and the timers. */
export const ZONE_EVENTS = [
  event('RECORDS', records()),
  event('RECORDS', records({ revision: 2, addresses: [B] })),
  event('RECORDS', records({ addresses: [] })),
  event('RECORDS', older),
  event('RECORDS', { ...older, revision: 2, recordName: 'api' }),
  event('RECORDS', { ...older, addresses: [] }),
  event('RESUME'),
  event('SECRET_OBSERVED'),
  event('xstate.done.actor.ensure', { output: ensured(WEB, API) }),
  event('xstate.done.actor.ensure', { output: ensured(WEB, outcome(API, failure('Unavailable'))) }),
  event('xstate.done.actor.ensure', { output: ensured(outcome(WEB, failure('Invalid')), outcome(API, failure('Unauthorized'))) }),
  event('xstate.error.actor.ensure', { error: failure('Unavailable') }),
  event('xstate.error.actor.ensure', { error: failure('NotFound') }),
  event('xstate.error.actor.ensure', { error: cutOff() }),
  event('xstate.after.wake.zone.CoolOff', {}, START + SECOND),
  event('xstate.after.verify.zone.CoolOff', {}, START + VERIFY_EVERY),
  event('xstate.after.verify.zone.Idle', {}, START + VERIFY_EVERY),
];

/** Not the times and the counts, and of the claims only what decides. */
export const zoneTelling: Telling = ({ value, context }) => {
  const { claims, blocked, isVerifying, failure: why } = context as ZoneContext;
  return [
    value,
    Object.entries(claims)
      .map(([id, claim]) => [
        id,
        claim.recordName,
        claim.addresses,
        claim.silent,
        claim.winner,
        claim.isApplied,
        stands(claim),
        claim.isWorking,
        claim.retry !== null,
      ])
      .sort(),
    [blocked !== null, isVerifying, why?.kind],
  ];
};
