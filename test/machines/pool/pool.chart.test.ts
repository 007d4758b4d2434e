import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { type Step, step } from '../../../actors/runtime/step.ts';
import type { Address } from '../../../machines/model/types.ts';
import type { PoolContext } from '../../../machines/pool/context.ts';
import { C, frozen, SECOND, START } from '../builders.ts';
import { expectEveryState, samplesOf, testPurity, testRules } from '../chart-suite.ts';
import { chartOf, stateName } from '../drive.ts';
import { type Place, placesOf, told } from '../explore.ts';
import { brokenByPool, POOL_RULES } from './invariants.ts';
import {
  CONTENDING,
  CREATING,
  DRAINING,
  GRANTING,
  HOLDING,
  MOVING,
  NAMING,
  PAUSING,
  poolComes,
  poolTelling,
  RECOVERING,
} from './vocabulary.ts';
import { event, poolInput } from './world.ts';

const chart = chartOf('pool');
const input = frozen(poolInput());
const VOCABULARIES = [GRANTING, CREATING, NAMING, RECOVERING, DRAINING, CONTENDING, HOLDING, PAUSING, MOVING];
const explorations = VOCABULARIES.map((events) => ({
  chart,
  input,
  events: frozen(events),
  telling: poolTelling,
  comes: poolComes,
}));
const explored = explorations.map((exploration) => ({ exploration, places: placesOf(exploration) }));
const places = explored.flatMap((each) => each.places);
const alive = (reached: readonly Place[]): readonly Place[] => reached.filter(({ end }) => !end.done);
const living = alive(places);

/** One for each state. */
const samples = samplesOf(living);
/** How a deleted pool's search for an address that it may have made can end. */
const ENDS = [
  event('xstate.after.coolOff.pool.Stopping.CoolOff'),
  event('xstate.done.actor.reconcile', { output: { found: 'one', address: C } }),
  event('xstate.done.actor.announce', { output: {} }),
];
const contextOf = ({ snapshot }: Step): PoolContext => snapshot.context as PoolContext;

test('every state is reached, and none that is left at once is ever rested in', () => {
  // A pool that is deleted rests there only when its status remembered a creation: creation.test.ts.
  // Only a RoutedIP can have another address than the one that was made for it: routedip.test.ts.
  expectEveryState(chart, places, ['Stopping.Concluding', 'Serving.acquiring.Announcing']);
  for (const each of explored) expect(each.places.length).toBeGreaterThan(300);
});

test('an event that nobody knows changes nothing: no state has a way on that was not taken', () => {
  for (const { end, path } of living) {
    const nudged = step(chart, end.snapshot, { type: 'NOBODY', at: path.at(-1)?.at ?? START });
    expect([nudged.effects.length, nudged.starts.length, nudged.delays.length, isDeepStrictEqual(nudged.snapshot, end.snapshot)]).toEqual([
      0,
      0,
      0,
      true,
    ]);
  }
});

testRules(
  explored.map((each) => ({ ...each, places: alive(each.places) })),
  { all: POOL_RULES, brokenBy: brokenByPool, triesOver: 20_000 },
);

describe('in every state', () => {
  testPurity(chart, { samples, samplesOver: 10, events: VOCABULARIES.flat() });

  test('the record survives JSON', () => {
    for (const { end } of places) expect(isDeepStrictEqual(JSON.parse(JSON.stringify(end.snapshot)), end.snapshot)).toBe(true);
  });

  test('a restart goes on there: its jobs and timers are issued again, but a creation is looked up', () => {
    for (const { end } of samples) {
      const resumed = step(chart, end.snapshot, { type: 'RESUME', at: START });
      const name = stateName(end.snapshot.value);
      expect([name, stateName(resumed.snapshot.value)]).toEqual([name, name.replace('Creating', 'Reconciling')]);
      const jobs = [...end.invoking].map((job) => (job === 'create' ? 'reconcile' : job));
      expect([name, resumed.starts.map(({ invokeId }) => invokeId)]).toEqual([name, jobs]);
      const timers = ['Spacing', 'CoolOff', 'Settling', 'recovering.Waiting'].filter((state) => name.includes(state));
      expect([name, resumed.delays.length]).toEqual([name, timers.length]);
      expect(resumed.effects).toEqual([]);
    }
  });
});

describe('a pool that is deleted', () => {
  /** Each address goes when it is told to, in any order. */
  const gone = (place: Place): Step => {
    let now = step(chart, place.end.snapshot, { type: 'DELETED', at: START + SECOND });
    for (const address of Object.keys(contextOf(now).members).reverse()) {
      now = step(chart, now.snapshot, { type: 'GONE', address: address as Address, at: START + SECOND });
    }
    for (const heard of ENDS) {
      const comes = heard.type.startsWith('xstate.after.') || now.invoking.has(heard.type.split('.').at(-1) ?? '');
      if (comes) now = step(chart, now.snapshot, { ...heard, at: START + SECOND });
    }
    return step(chart, now.snapshot, { type: 'CLEARED', at: START + SECOND });
  };

  test('is gone once its addresses are, and what it was creating is known and told, from every state', () => {
    for (const place of living) {
      const last = gone(place);
      if (last.snapshot.value !== 'Gone' || !last.done) expect.fail(told(place.path));
    }
  });
});
