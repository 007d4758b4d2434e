import { describe, expect, test } from 'vitest';
import { step } from '../../actors/step.ts';
import type { ZoneContext } from '../../machines/zone.ts';
import { frozen, SECOND, START } from './builders.ts';
import { API, ensured, records, WEB } from './dns-world.ts';
import { chartOf } from './drive.ts';
import { comers, placesOf, restingStates, restsIn, told } from './explore.ts';
import { brokenByZone, claimsIn, ZONE_RULES } from './zone-invariants.ts';
import { ZONE_EVENTS, ZONE_INPUT, zoneTelling } from './zone-vocabulary.ts';

const chart = chartOf('dns-zone');
const events = frozen(ZONE_EVENTS);

const exploration = { chart, input: frozen(ZONE_INPUT), events, telling: zoneTelling };
const places = placesOf(exploration);
const living = places.filter(({ end }) => !end.done);
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
      for (const rule of brokenByZone(edge)) if (!breaks.has(rule)) breaks.set(rule, `\n  ${told([...place.path, heard])}\n`);
    }
  }

  test('enough comes', () => expect(tried).toBeGreaterThan(1000));

  test.each(Object.keys(ZONE_RULES))('%s', (rule) => expect(breaks.get(rule) ?? 'holds').toBe('holds'));
});

describe('in every state', () => {
  const samples = [
    ...new Map(living.map((place) => [JSON.stringify([place.end.snapshot.value, claimsIn(place.end).length]), place])).values(),
  ];

  test('any event, waited for or not, is heard or passed over, and changes nothing that it was given', () => {
    expect(samples.length).toBeGreaterThan(5);
    for (const { end } of samples) {
      for (const heard of events) {
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
      const hopes = [(end.snapshot.context as ZoneContext).failure, ...claimsIn(end).map(([, { told: said }]) => said?.failure)].some(
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
