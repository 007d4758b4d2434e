import { describe, expect, test } from 'vitest';
import { begin, type MachineEvent, type Step, step } from '../../../actors/runtime/step.ts';
import type { VirtualIPContext } from '../../../machines/migration/decisions.ts';
import { frozen } from '../builders.ts';
import { expectEveryState, samplesOf, testPurity, testRules } from '../chart-suite.ts';
import { placesOf, told } from '../explore.ts';
import { brokenByVirtualIP, VIRTUAL_IP_RULES } from './invariants.ts';
import * as words from './vocabulary.ts';

const { chart } = words;
const events = frozen(words.EVENTS);
const exploration = { chart, input: frozen(words.INPUT), events, telling: words.telling };
const places = placesOf(exploration);

test('every state is reached', () => {
  expectEveryState(chart, places);
  expect(places.length).toBeGreaterThan(200);
});

testRules([{ exploration, places }], { all: VIRTUAL_IP_RULES, brokenBy: brokenByVirtualIP, triesOver: 2000 });

describe('in every state', () => {
  testPurity(chart, { samples: samplesOf(places), samplesOver: 14, events });

  const OUTCOMES: Readonly<Record<string, MachineEvent>> = {
    reserve: words.reserved,
    expose: words.exposed,
    claim: words.claimed,
    reassociate: words.reassociated,
    handOver: words.handedOver,
    convert: words.converted,
    assign: words.assigned,
    remove: words.removed,
    release: words.released,
  };
  /** Every job does what it is asked for, and every wait ends. */
  const settled = (from: Step, turns = 16): Step => {
    let now = from;
    for (let turn = 0; turn < turns && !now.done; turn += 1) {
      const [job] = [...now.invoking];
      const waits: Readonly<Record<string, MachineEvent>> = { CoolOff: words.rested, Blocked: words.rechecked };
      const heard = job === undefined ? waits[String(now.snapshot.value)] : OUTCOMES[job];
      if (heard) now = step(chart, now.snapshot, heard);
    }
    return now;
  };

  test('one that is asked to be migrated ends up so once jobs succeed', () => {
    for (const { end, path } of places.filter(({ end }) => !end.done)) {
      const { deleting, ref } = end.snapshot.context as VirtualIPContext;
      if (deleting || end.invoking.has('release') || ref?.uid !== words.vip().ref.uid) continue;
      const { snapshot } = settled(step(chart, settled(end).snapshot, words.asked));
      if (snapshot.value !== 'Migrated') expect.fail(`${String(snapshot.value)} after ${told(path)}`);
    }
  });

  test('one that is deleted is gone once jobs succeed', () => {
    for (const { end, path } of places.filter(({ end }) => !end.done)) {
      if ((end.snapshot.context as VirtualIPContext).ref === null) continue;
      const after = settled(step(chart, end.snapshot, words.deleted));
      if (!after.done) expect.fail(`${String(after.snapshot.value)} after ${told(path)}`);
    }
  });
});

test('a VirtualIP that is gone before it was seen leaves nothing to be done', () => {
  const after = step(chart, begin(chart, words.INPUT).snapshot, words.gone);
  expect(after.done).toBe(true);
  expect(after.starts).toEqual([]);
});
