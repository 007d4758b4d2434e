import { describe, expect, test } from 'vitest';
import { step } from '../../../actors/runtime/step.ts';
import type { ZoneContext } from '../../../machines/dns/zone.ts';
import { frozen, SECOND, START } from '../builders.ts';
import { expectEveryState, samplesOf, testPurity, testRules } from '../chart-suite.ts';
import { chartOf } from '../drive.ts';
import { placesOf, told } from '../explore.ts';
import { API, ensured, records, WEB } from './world.ts';
import { brokenByZone, claimsIn, ZONE_RULES } from './zone-invariants.ts';
import { ZONE_EVENTS, ZONE_INPUT, zoneTelling } from './zone-vocabulary.ts';

const chart = chartOf('dns-zone');
const events = frozen(ZONE_EVENTS);

const exploration = { chart, input: frozen(ZONE_INPUT), events, telling: zoneTelling };
const places = placesOf(exploration);
const living = places.filter(({ end }) => !end.done);
test('every state is reached', () => {
  expectEveryState(chart, places);
  expect(places.length).toBeGreaterThan(100);
});

test('an event that nobody knows changes nothing: no state has a way on that was not taken', () => {
  for (const { end, path } of living) {
    const nudged = step(chart, end.snapshot, { type: 'NOBODY', at: path.at(-1)?.at ?? START });
    expect([nudged.effects.length, nudged.starts.length, nudged.delays.length, nudged.snapshot]).toEqual([0, 0, 0, end.snapshot]);
  }
});

testRules([{ exploration, places: living }], { all: ZONE_RULES, brokenBy: brokenByZone, triesOver: 1000 });

describe('in every state', () => {
  const samples = samplesOf(living, ({ end }) => [end.snapshot.value, claimsIn(end).length]);

  testPurity(chart, { samples, samplesOver: 5, events });

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
