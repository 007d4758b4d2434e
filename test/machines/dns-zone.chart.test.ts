import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { type Step, step } from '../../actors/step.ts';
import type { EnsureRecordsInput } from '../../machines/jobs.ts';
import { hasWork, type ZoneContext } from '../../machines/zone.ts';
import { B, failure, frozen, PROVIDER, SECOND, START } from './builders.ts';
import { API, ensured, outcome, records, WEB, ZONE } from './dns-world.ts';
import { chartOf, VERIFY_EVERY } from './drive.ts';
import { comers, type Edge, placesOf, restingStates, restsIn, type Telling, told } from './explore.ts';
import { event } from './pool-world.ts';

const chart = chartOf('dns-zone');
const input = frozen({ id: ZONE, provider: PROVIDER, zone: 'example.com' });

const older = records({ claimant: API, since: START - 1 });
const EVENTS = frozen([
  event('RECORDS', records()),
  event('RECORDS', records({ revision: 2, addresses: [B] })),
  event('RECORDS', records({ addresses: [] })),
  event('RECORDS', older),
  event('RECORDS', { ...older, revision: 2, recordName: 'api' }),
  event('RECORDS', { ...older, addresses: [] }),
  event('RESUME'),
  event('xstate.done.actor.ensure', { output: ensured(WEB, API) }),
  event('xstate.done.actor.ensure', { output: ensured(WEB, outcome(API, failure('Unavailable'))) }),
  event('xstate.done.actor.ensure', { output: ensured(outcome(WEB, failure('Invalid')), outcome(API, failure('Unauthorized'))) }),
  event('xstate.error.actor.ensure', { error: failure('Unavailable') }),
  event('xstate.error.actor.ensure', { error: failure('NotFound') }),
  event('xstate.after.wake.zone.CoolOff', {}, START + SECOND),
  event('xstate.after.verify.zone.CoolOff', {}, START + VERIFY_EVERY),
  event('xstate.after.verify.zone.Idle', {}, START + VERIFY_EVERY),
]);

/** Not the times and the counts, and of the claims only what decides. */
const telling: Telling = ({ value, context }) => {
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
        claim.isWorking,
        claim.retry !== null,
      ])
      .sort(),
    [blocked !== null, isVerifying, why?.kind],
  ];
};

const exploration = { chart, input, events: EVENTS, telling };
const places = placesOf(exploration);
const living = places.filter(({ end }) => !end.done);
const contextOf = ({ snapshot }: Step): ZoneContext => snapshot.context as ZoneContext;
const setsOf = (after: Step) => after.starts.flatMap(({ input: given }) => (given as EnsureRecordsInput).sets);
const claimsIn = (after: Step) => Object.entries(contextOf(after).claims);
const toldTo = ({ effects }: Step) =>
  effects.flatMap((effect) =>
    effect.type === 'tell'
      ? [{ to: effect.params.to, ...(effect.params.event as { type: string; revision?: number; failure?: unknown }) }]
      : [],
  );

const RULES: Readonly<Record<string, (edge: Edge) => boolean>> = {
  'one job at once: only after its outcome, or on a restart, is another one issued': ({ before, event: heard, after }) =>
    after.starts.length <= 1 &&
    (after.starts.length === 0 || !before.invoking.has('ensure') || heard.type === 'RESUME' || heard.type.includes('.actor.')),

  'nothing but its outcome ends a job': ({ before, event: heard, after }) =>
    !before.invoking.has('ensure') || after.invoking.has('ensure') || heard.type.endsWith('.actor.ensure'),

  'a job carries something, but after a restart, when all of it may have been given back': ({ event: heard, after }) =>
    after.starts.length === 0 || setsOf(after).length > 0 || heard.type === 'RESUME',

  'no set is carried without addresses, and none of a claimant whose name is another’s': ({ after }) =>
    setsOf(after).every(({ claimant, addresses }) => addresses.length > 0 && contextOf(after).claims[claimant]?.winner === null),

  'of the claimants of one name exactly one has it, the older': ({ after }) => {
    const names = new Set(claimsIn(after).map(([, { recordName }]) => recordName));
    return [...names].every((name) => {
      const all = claimsIn(after).filter(([, { recordName }]) => recordName === name);
      const first = all.toSorted(([, a], [, b]) => a.since - b.since)[0]?.[0];
      return all.every(([id, { winner }]) => winner === (id === first ? null : first));
    });
  },

  'whoever has not got its name knows it': ({ after }) =>
    claimsIn(after).every(([, { winner, told: said }]) => winner === null || said?.failure?.kind === 'Conflict'),

  'whoever has its records knows it, and nobody else thinks so': ({ after }) =>
    claimsIn(after).every(([, { isApplied, told: said }]) => isApplied === (said !== null && said.failure === null)),

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

  'a set in back-off is tried before its time only when something else is wanted, or there may be new credentials': ({
    before,
    event: heard,
    after,
  }) =>
    setsOf(after).every(({ claimant, addresses, recordName }) => {
      const was = contextOf(before).claims[claimant];
      if (!was?.retry || was.recordName !== recordName || !isDeepStrictEqual(was.addresses, addresses)) return true;
      return heard.type.includes('.wake.') || heard.type === 'RESUME';
    }),

  'while the zone cannot be listed nothing is tried before its time': ({ before, event: heard, after }) =>
    after.starts.length === 0 || contextOf(before).blocked === null || heard.type.includes('.wake.') || heard.type === 'RESUME',

  'it ends only when nobody claims anything': ({ after }) => !after.done || claimsIn(after).length === 0,
};

test('every state is reached', () => {
  const reached = new Set(places.flatMap(({ end }) => restsIn(chart, end.snapshot.value)));
  expect([...reached].sort()).toEqual(restingStates(chart));
  expect(places.length).toBeGreaterThan(100);
});

test('an event that nobody knows changes nothing: no state has a way on that was not taken', () => {
  for (const { end, path } of living) {
    const nudged = step(chart, end.snapshot, { type: 'NOBODY', at: path.at(-1)?.at ?? START });
    expect([nudged.effects.length, nudged.starts.length, nudged.delays.length, nudged.snapshot]).toEqual([0, 0, 0, end.snapshot]);
  }
});

describe('in every state, whatever comes next,', () => {
  const breaks = new Map<string, string>();
  let tried = 0;
  for (const place of living) {
    for (const heard of comers(exploration, place)) {
      const edge = { before: place.end, event: heard, after: step(chart, place.end.snapshot, heard) };
      tried += 1;
      for (const [rule, holds] of Object.entries(RULES)) {
        if (!holds(edge) && !breaks.has(rule)) breaks.set(rule, `\n  ${told([...place.path, heard])}\n`);
      }
    }
  }

  test('enough comes', () => expect(tried).toBeGreaterThan(1000));

  test.each(Object.keys(RULES))('%s', (rule) => expect(breaks.get(rule) ?? 'holds').toBe('holds'));
});

describe('in every state', () => {
  const samples = [
    ...new Map(living.map((place) => [JSON.stringify([place.end.snapshot.value, claimsIn(place.end).length]), place])).values(),
  ];

  test('any event, waited for or not, is heard or passed over, and changes nothing that it was given', () => {
    expect(samples.length).toBeGreaterThan(5);
    for (const { end } of samples) {
      for (const heard of EVENTS) {
        const snapshot = frozen(structuredClone(end.snapshot));
        const after = step(chart, snapshot, heard);
        expect(step(chart, snapshot, heard)).toEqual(after);
        expect(JSON.parse(JSON.stringify(after.snapshot))).toStrictEqual(after.snapshot);
      }
    }
  });

  test('a restart goes on there, unless new credentials may help: its job and its timers are issued again', () => {
    for (const { end } of samples) {
      const resumed = step(chart, end.snapshot, { type: 'RESUME', at: START });
      const hopes = [contextOf(end).failure, ...claimsIn(end).map(([, { told: said }]) => said?.failure)].some(
        (why) => why?.kind === 'Unauthorized',
      );
      if (!hopes) expect(resumed.snapshot.value).toBe(end.snapshot.value);
      expect([...resumed.invoking]).toEqual(resumed.starts.map(({ invokeId }) => invokeId));
      expect(resumed.delays.length > 0 || resumed.starts.length > 0).toBe(true);
    }
  });

  test('it ends at last when all claims are given back', () => {
    for (const place of living) {
      let now = place.end;
      const hear = (type: string, fields: Readonly<Record<string, unknown>> = {}) => {
        now = step(chart, now.snapshot, { type, at: START + SECOND, ...fields });
      };
      for (const claimant of [WEB, API]) hear('RECORDS', records({ claimant, addresses: [] }));
      if (now.invoking.has('ensure')) hear('xstate.done.actor.ensure', { output: ensured(WEB) });
      hear('xstate.after.verify.zone.Idle');
      if (!now.done) expect.fail(told(place.path));
    }
  });
});
