import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chartOf } from '../machines/drive.ts';
import { restingStates, restsIn } from '../machines/explore.ts';
import { extent } from '../support/extent.ts';
import { vipsHappen } from './vip-happens.ts';
import type { VipPlay } from './vip-play.ts';
import { vipHistory } from './vip-steps.ts';

const { ROUTEDIP_HISTORIES, ROUTEDIP_SEED } = process.env;
const RUNS = Number(ROUTEDIP_HISTORIES ?? extent(500, 20));
/** The same histories each time, so that a change is judged by itself; others by ROUTEDIP_SEED, more by ROUTEDIP_HISTORIES. */
const SEED = Number(ROUTEDIP_SEED ?? 13);

const chart = chartOf('vip-service');
const reached = new Set<string>();
/** How a call ends that no error answers. */
const ENDS: readonly string[] = ['done', 'unchanged', 'fenced', 'lost'];
const note = ({ world }: VipPlay): void => {
  for (const { verb, result } of world.k8s.writes) reached.add(`${verb}: ${ENDS.includes(result) ? result : 'error'}`);
  for (const { transitions } of world.invariants.turns)
    for (const { after } of transitions) for (const state of after ? restsIn(chart, after.snapshot.value) : []) reached.add(state);
};

describe(`whatever happens to Services with addresses of IPGroups (ROUTEDIP_SEED=${SEED})`, () => {
  test(`everything is right in the end, and nothing is wrong meanwhile (${RUNS} histories)`, { timeout: 3_600_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(vipHistory, async (given) => note(await vipsHappen(given))),
      { seed: SEED, numRuns: RUNS },
    );
    expect(RUNS).toBeGreaterThan(0);
  });

  if (RUNS >= 500)
    describe('they come to', () => {
      test('every state in which one rests', () => {
        // The record of one that is gone goes with it.
        expect(restingStates(chart).filter((state) => state !== 'Gone' && !reached.has(state))).toEqual([]);
      });

      test.each(['guard', 'reserve', 'publish', 'free', 'unguard'])('every end of a call that changes something: %s', (verb) => {
        expect(['done', 'lost', 'error'].filter((result) => !reached.has(`${verb}: ${result}`))).toEqual([]);
      });
    });
});
