import { describe, expect, test } from 'vitest';
import { step } from '../../../actors/runtime/step.ts';
import type { RecordSetContext } from '../../../machines/dns/record-set.ts';
import { frozen, START } from '../builders.ts';
import { expectEveryState, samplesOf, testPurity, testRules } from '../chart-suite.ts';
import { chartOf } from '../drive.ts';
import { type Place, placesOf, told } from '../explore.ts';
import { brokenByRecordSet, claimedZone, RECORD_SET_RULES, sent } from './record-set-invariants.ts';
import { OF_A_POOL, OF_NODES, RECORD_SET_INPUT, recordSetComes, recordSetTelling } from './record-set-vocabulary.ts';
import { POOL_SET } from './world.ts';

const chart = chartOf('dns-record-set');
const explored = [
  { chart, input: frozen(RECORD_SET_INPUT), events: frozen(OF_NODES), telling: recordSetTelling, comes: recordSetComes },
  {
    chart,
    input: frozen({ id: POOL_SET, ref: null, since: START }),
    events: frozen(OF_A_POOL),
    telling: recordSetTelling,
    comes: recordSetComes,
  },
].map((exploration) => ({ exploration, places: placesOf(exploration) }));
const places = explored.flatMap((each) => each.places);
const alive = (reached: readonly Place[]): readonly Place[] => reached.filter(({ end }) => !end.done);
const living = alive(places);

test('every state is reached', () => {
  expectEveryState(chart, places);
  for (const each of explored) expect(each.places.length).toBeGreaterThan(50);
});

test('an event that nobody knows changes nothing: no state has a way on that was not taken', () => {
  for (const { end, path } of living) {
    const nudged = step(chart, end.snapshot, { type: 'NOBODY', at: path.at(-1)?.at ?? START });
    expect([nudged.effects.length, nudged.delays.length, nudged.snapshot]).toEqual([0, 0, end.snapshot]);
  }
});

testRules(
  explored.map((each) => ({ ...each, places: alive(each.places) })),
  { all: RECORD_SET_RULES, brokenBy: brokenByRecordSet, triesOver: 1000 },
);

describe('in every state', () => {
  const samples = samplesOf(living, ({ end }) => [end.snapshot.value, (end.snapshot.context as RecordSetContext).ref]);

  testPurity(chart, { samples, samplesOver: 8, events: [...OF_NODES, ...OF_A_POOL] });

  test('DELETED ends it, and leaves no claim', () => {
    for (const { end, path } of living) {
      const gone = step(chart, end.snapshot, { type: 'DELETED', at: START });
      const zone = claimedZone(end.snapshot.context as RecordSetContext);
      if (!gone.done || sent(gone).filter(({ to, addresses }) => to === zone && addresses.length === 0).length !== (zone === null ? 0 : 1))
        expect.fail(told(path));
    }
  });
});
