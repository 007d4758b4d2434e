import { describe, expect, test } from 'vitest';
import { type MachineEvent, step } from '../../actors/step.ts';
import type { RecordSetContext } from '../../machines/record-set.ts';
import { frozen, START } from './builders.ts';
import { POOL_SET } from './dns-world.ts';
import { chartOf } from './drive.ts';
import { comers, type Place, placesOf, restingStates, restsIn, told } from './explore.ts';
import { brokenByRecordSet, claimedZone, RECORD_SET_RULES, sent } from './record-set-invariants.ts';
import { OF_A_POOL, OF_NODES, RECORD_SET_INPUT, recordSetComes, recordSetTelling } from './record-set-vocabulary.ts';

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
const living = places.filter(({ end }) => !end.done);

test('every state is reached', () => {
  const reached = new Set(places.flatMap(({ end }) => restsIn(chart, end.snapshot.value)));
  expect([...reached].sort()).toEqual(restingStates(chart));
  for (const each of explored) expect(each.places.length).toBeGreaterThan(50);
});

test('an event that nobody knows changes nothing: no state has a way on that was not taken', () => {
  for (const { end, path } of living) {
    const nudged = step(chart, end.snapshot, { type: 'NOBODY', at: path.at(-1)?.at ?? START });
    expect([nudged.effects.length, nudged.delays.length, nudged.snapshot]).toEqual([0, 0, end.snapshot]);
  }
});

describe('in every state, whatever comes next,', () => {
  const breaks = new Map<string, string>();
  let tried = 0;
  const tryOut = ({ end, path }: Place, heard: MachineEvent) => {
    const edge = { before: end, event: heard, after: step(chart, end.snapshot, heard) };
    tried += 1;
    for (const rule of brokenByRecordSet(edge)) if (!breaks.has(rule)) breaks.set(rule, `\n  ${told([...path, heard])}\n`);
  };
  for (const { exploration, places: reached } of explored) {
    for (const place of reached.filter(({ end }) => !end.done)) {
      for (const heard of comers(exploration, place)) tryOut(place, heard);
    }
  }

  test('enough comes', () => expect(tried).toBeGreaterThan(1000));

  test.each(Object.keys(RECORD_SET_RULES))('%s', (rule) => expect(breaks.get(rule) ?? 'holds').toBe('holds'));
});

describe('in every state', () => {
  const samples = [
    ...new Map(
      living.map((place) => [JSON.stringify([place.end.snapshot.value, (place.end.snapshot.context as RecordSetContext).ref]), place]),
    ).values(),
  ];

  test('any event is heard or passed over, and changes nothing that it was given', () => {
    expect(samples.length).toBeGreaterThan(8);
    for (const { end } of samples) {
      for (const heard of [...OF_NODES, ...OF_A_POOL]) {
        const snapshot = frozen(structuredClone(end.snapshot));
        const after = step(chart, snapshot, heard);
        expect(step(chart, snapshot, heard)).toEqual(after);
        expect(JSON.parse(JSON.stringify(after.snapshot))).toStrictEqual(after.snapshot);
      }
    }
  });

  test('DELETED ends it, and leaves no claim', () => {
    for (const { end, path } of living) {
      const gone = step(chart, end.snapshot, { type: 'DELETED', at: START });
      const zone = claimedZone(end.snapshot.context as RecordSetContext);
      if (!gone.done || sent(gone).filter(({ to, addresses }) => to === zone && addresses.length === 0).length !== (zone === null ? 0 : 1))
        expect.fail(told(path));
    }
  });
});
