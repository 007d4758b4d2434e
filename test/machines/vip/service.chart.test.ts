import { describe, expect, test } from 'vitest';
import { type MachineEvent, type Step, step } from '../../../actors/runtime/step.ts';
import type { FreeVipsInput, MarkVipInput, PublishVipInput, ReserveVipInput } from '../../../machines/jobs.ts';
import type { VipContext } from '../../../machines/vip/decisions.ts';
import { frozen, START } from '../builders.ts';
import { expectEveryState, samplesOf, testPurity, testRules } from '../chart-suite.ts';
import { chartOf } from '../drive.ts';
import { placesOf, told } from '../explore.ts';
import { brokenByVip, VIP_RULES } from './invariants.ts';
import * as words from './vocabulary.ts';

const chart = chartOf('vip-service');
const events = frozen(words.VIP_EVENTS);
const base = { chart, input: frozen(words.VIP_INPUT), comes: words.vipComes };
const explorations = [
  { ...base, events, telling: words.vipTelling },
  { ...base, events: frozen(words.CONTENDED_EVENTS), telling: words.contendedTelling },
].map((exploration) => ({ exploration, places: placesOf(exploration) }));
const places = explorations.flatMap((each) => each.places);
const live = places.filter(({ end }) => !end.done);

test('every state is reached', () => {
  expectEveryState(chart, places);
  expect(places.length).toBeGreaterThan(500);
});

testRules(
  explorations.map(({ exploration, places: all }) => ({ exploration, places: all.filter(({ end }) => !end.done) })),
  { all: VIP_RULES, brokenBy: brokenByVip, triesOver: 10_000 },
);

describe('in every state', () => {
  testPurity(chart, { samples: samplesOf(places), samplesOver: 9, events });

  /** What the job does when it does what it is asked for. */
  const outcomeOf = ({ job, input }: Step['starts'][number]): MachineEvent | null => {
    const { service, address, seen, message, letsGo } = input as unknown as ReserveVipInput & PublishVipInput & MarkVipInput;
    const freed = { freed: ((input as unknown as FreeVipsInput).ips ?? []).map(({ uid }) => uid) };
    const outcomes: Readonly<Record<string, () => MachineEvent>> = {
      reserveVip: () => words.done('reserve', words.ip(address as never, `ip-${address}-anew`, service)),
      publishVip: () => words.done('publish', { uid: service.uid, address, seen, changed: true }),
      freeVips: () => words.done((input as unknown as FreeVipsInput).clears ? 'yield' : 'free', freed),
      releaseVip: () => words.done('release', { kept: false, ...freed }),
      lookVip: () => words.missed,
      markVip: () => words.done('mark', { uid: service.uid, message, letsGo }),
    };
    return outcomes[job as string]?.() ?? null;
  };

  /** Every job does what it is asked for, and every wait ends. */
  const settled = (from: Step, turns = 12): Step => {
    // A restart tells what is being asked for, whatever was asked for before.
    let now = step(chart, from.snapshot, words.resumed);
    for (let turn = 0; turn < turns && !now.done; turn += 1) {
      const [start] = now.starts;
      const [delay] = now.delays;
      const heard = start ? outcomeOf(start) : delay ? { type: delay.sendId, at: START + 3_600_000 } : null;
      if (!heard) return now;
      now = step(chart, now.snapshot, heard);
    }
    return now;
  };

  test('one whose Service is deleted, or goes, is gone once jobs succeed', () => {
    expect(live.length).toBeGreaterThan(400);
    for (const { end, path } of live) {
      for (const ending of [words.deleted, words.deletedBare, words.away, words.orphaned, words.gone]) {
        const after = settled(step(chart, end.snapshot, ending));
        if (!after.done) expect.fail(`${JSON.stringify(after.snapshot.value)} after ${told([...path, ending])}`);
      }
    }
  });

  test('one that somebody else writes over for a second time rests as contended once jobs succeed, and stays so whatever he lists', () => {
    const ousted = live.filter(({ end }) => ((end.snapshot.context as VipContext).repairs?.length ?? 0) > 0);
    expect(ousted.length).toBeGreaterThan(20);
    for (const { end, path } of ousted) {
      const bound = settled(step(chart, end.snapshot, { ...words.boundA, at: START + 20_000 }));
      const after = settled(step(chart, bound.snapshot, { ...words.overwritten, at: START + 40_000 }));
      if (after.snapshot.value !== 'Contended') expect.fail(`${JSON.stringify(after.snapshot.value)} after ${told(path)}`);
    }
  });

  test('one whose Service wants an address that there is has it once jobs succeed', () => {
    for (const { end, path } of live) {
      for (const wish of [words.wantsA, words.hasA, words.changesToB, words.backToA, words.heir]) {
        // What was written over others by then counts no more.
        const heard = { ...wish, at: START + 7_200_000 };
        const after = settled(step(chart, end.snapshot, heard));
        // What was done meanwhile is told again, as it is by now.
        const { owned, target, service } = after.snapshot.context as VipContext;
        if (JSON.stringify(after.snapshot.value) !== '{"Bound":"Settled"}')
          expect.fail(`${JSON.stringify(after.snapshot.value)} after ${told([...path, heard])}`);
        expect(owned.map(({ address }) => address)).toEqual([target?.address]);
        expect(service?.ingress).toEqual([{ ip: target?.address }]);
      }
    }
  });
});
