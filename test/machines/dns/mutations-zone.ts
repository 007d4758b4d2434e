import type { MachineEvent } from '../../../actors/runtime/step.ts';
import type { ZoneClaim, ZoneContext } from '../../../machines/dns/zone.ts';
import * as zone from '../../../machines/dns/zone.ts';
import * as claims from '../../../machines/dns/zone-claims.ts';
import * as work from '../../../machines/dns/zone-reconcile.ts';
import type { RecordsClaimed } from '../../../machines/events.ts';
import type { EnsuredRecords } from '../../../machines/jobs.ts';
import { FLIPOP_BACKOFF } from '../../../machines/model/backoff.ts';
import type { JobFailure } from '../../../machines/model/types.ts';
import { B, failure, SECOND, START } from '../builders.ts';
import { CALL_DEADLINE, VERIFY_EVERY } from '../drive.ts';
import { action, type ChartMutation, guard, state } from '../mutations-spoil.ts';
import { event } from '../pool/world.ts';
import { API, ensured, outcome, records, WEB } from './world.ts';
import { older } from './zone-vocabulary.ts';

const SETTINGS = { backoff: FLIPOP_BACKOFF, verifyEveryMs: VERIFY_EVERY, callDeadlineMs: CALL_DEADLINE };

const claimed = event('RECORDS', records());
const anew = event('RECORDS', records({ revision: 2, addresses: [B] }));
const givenBack = event('RECORDS', records({ addresses: [] }));
const olderClaimed = event('RECORDS', older);
const done = event('xstate.done.actor.ensure', { output: ensured(WEB, API) });
const failed = event('xstate.done.actor.ensure', { output: ensured(outcome(WEB, failure('Invalid'))) });
const away = event('xstate.error.actor.ensure', { error: failure('Unavailable') });
const verify = event('xstate.after.verify.zone.Idle', {}, START + VERIFY_EVERY);
const woken = event('xstate.after.wake.zone.CoolOff', {}, START + 60 * SECOND);

const each = (context: ZoneContext, change: (claim: ZoneClaim) => ZoneClaim): ZoneContext => ({
  ...context,
  claims: Object.fromEntries(Object.entries(context.claims).map(([id, claim]) => [id, change(claim)])),
});

/** For each rule of a zone a defect that it must catch. */
export const ZONE_MUTATIONS: Readonly<Record<string, ChartMutation>> = {
  'one job at once: only after its outcome, or on a restart, is another one issued': {
    mutation: 'a claim that comes while a job runs has another one issued',
    spoil: state('Applying', (config) => ({
      ...config,
      on: { ...config.on, RECORDS: { target: 'Applying', reenter: true, actions: 'noteRecords' } },
    })),
    events: [claimed, anew],
  },
  'nothing but its outcome ends a job': {
    mutation: 'a claim that comes while a job runs has the zone rest',
    spoil: state('Applying', (config) => ({ ...config, on: { ...config.on, RECORDS: { target: 'CoolOff', actions: 'noteRecords' } } })),
    events: [claimed, givenBack],
  },
  'a job carries something, but after a restart, when all of it may have been given back': {
    mutation: 'a job is issued for claims that are the names of others',
    spoil: guard<ZoneContext>(
      'hasWork',
      ({ claims: all, blocked }) => blocked === null && Object.values(all).some(({ isApplied }) => !isApplied),
    ),
    events: [olderClaimed, done, claimed],
  },
  'no set is carried without addresses, and none of a claimant whose name is another’s': {
    mutation: 'a job carries whatever does not stand, its own name or not',
    spoil: action<ZoneContext>('begin', (context) => ({ context: each(context, (claim) => ({ ...claim, isWorking: true })), effects: [] })),
    events: [olderClaimed, claimed, done, anew, event('RECORDS', { ...older, revision: 3, addresses: [B] })],
  },
  'of the claimants of one name exactly one has it: whose records stood already, else the older': {
    mutation: 'whoever comes last has the name',
    spoil: action<ZoneContext, RecordsClaimed>('noteRecords', (context, heard) => {
      const { since, at } = heard;
      const last = each(context, (claim) => ({ ...claim, since: at }));
      const decided = claims.noteRecords(SETTINGS)(last, { ...heard, since: -at });
      const before = (id: string): number => context.claims[id]?.since ?? since;
      const all = Object.entries(decided.context.claims).map(([id, claim]) => [id, { ...claim, since: before(id) }]);
      return { ...decided, context: { ...decided.context, claims: Object.fromEntries(all) } };
    }),
    events: [olderClaimed, claimed],
  },
  'whose records stood has stood for whatever is heard, until it claims something else': {
    mutation: 'a zone that could not be listed forgets whose records stood',
    spoil: action<ZoneContext, { readonly type: string; readonly error: JobFailure; readonly at: number }>(
      'noteFailure',
      (context, { error, at }) => {
        const noted = work.noteFailure(SETTINGS)(context, error, at);
        return { ...noted, context: each(noted.context, (claim) => ({ ...claim, isApplied: false })) };
      },
    ),
    events: [claimed, done, verify, away],
  },
  'whoever has not got its name knows it': {
    mutation: 'who has the name is settled, and nobody told',
    spoil: action<ZoneContext, RecordsClaimed>('noteRecords', (context, heard) => {
      const decided = claims.noteRecords(SETTINGS)(context, heard);
      return { ...decided, context: each(decided.context, (claim) => (claim.winner ? { ...claim, told: null } : claim)) };
    }),
    events: [olderClaimed, claimed],
  },
  'whoever has its records knows it, and nobody else thinks so': {
    mutation: 'a claim that changes counts as brought about, as the former one was',
    spoil: action<ZoneContext, RecordsClaimed>('noteRecords', (context, heard) => {
      const decided = claims.noteRecords(SETTINGS)(context, heard);
      const told = context.claims[WEB]?.told ?? null;
      return { ...decided, context: each(decided.context, (claim) => ({ ...claim, told: claim.told ?? told })) };
    }),
    events: [claimed, done, anew],
  },
  'what changes for a claimant it is told, with the revision that it knows': {
    mutation: 'outcomes are kept and not told',
    spoil: action<ZoneContext, MachineEvent>('noteOutcomes', (context, { output, at }) => ({
      ...work.noteOutcomes(SETTINGS)(context, output as EnsuredRecords, at),
      effects: [],
    })),
    events: [claimed, done],
  },
  'nobody is told of a revision that it did not claim last': {
    mutation: 'the outcome of a job counts for claims that came while it ran',
    spoil: action<ZoneContext, MachineEvent>('noteOutcomes', (context, { output, at }) => {
      const decided = work.noteOutcomes(SETTINGS)(
        each(context, (claim) => ({ ...claim, isWorking: true, revision: 1 })),
        output as EnsuredRecords,
        at,
      );
      return { ...decided, context: each(decided.context, (claim) => ({ ...claim, revision: 2 })) };
    }),
    events: [claimed, anew, done],
  },
  'nothing is left lying that could be done now': {
    mutation: 'claims are served at the next verification only',
    spoil: state('Idle', (config) => ({ ...config, always: { guard: 'mustWait', target: 'CoolOff' } })),
    events: [claimed],
  },
  'a wait has an end, and a timer for it': {
    mutation: 'the wait after an error has no timer',
    spoil: state('CoolOff', ({ after, ...config }) => ({ ...config, after: { verify: after?.verify } })),
    events: [claimed, failed],
  },
  'a verification is always to come': {
    mutation: 'while one set waits the others are not verified',
    spoil: state('CoolOff', ({ after, ...config }) => ({ ...config, after: { wake: after?.wake } })),
    events: [claimed, failed],
  },
  'of what may have been sent unheard a look tells once it can have no effect any more': {
    mutation: 'what a job was at when its process ended is forgotten with it',
    spoil: action<ZoneContext>('noteUnheard', (context) => ({ context, effects: [] })),
    events: [claimed, event('RESUME')],
  },
  'a set in back-off is tried before its time only when something else is wanted, or there may be new credentials': {
    mutation: 'a job carries everything that failed, due or not',
    spoil: action<ZoneContext>('begin', (context) => work.begin({ ...each(context, (claim) => ({ ...claim, retry: null })) })),
    events: [claimed, failed, event('RECORDS', { ...older, recordName: 'api' })],
  },
  'while the zone cannot be listed nothing is tried before its time': {
    mutation: 'a new claim is tried although the zone cannot be listed',
    spoil: guard<ZoneContext>('hasWork', (context) => zone.hasWork({ ...context, blocked: null })),
    events: [claimed, away, anew],
  },
  'it ends only when nobody claims anything': {
    mutation: 'a zone ends at its first verification',
    spoil: guard<ZoneContext>('isUnclaimed', () => true),
    events: [claimed, done, verify, woken],
  },
};
