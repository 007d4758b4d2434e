import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chartOf } from '../machines/drive.ts';
import { restingStates, restsIn } from '../machines/explore.ts';
import { extent } from '../support/extent.ts';
import { virtualIPsHappen } from './virtual-happens.ts';
import type { VirtualPlay } from './virtual-play.ts';
import { virtualHistory } from './virtual-steps.ts';

const { ROUTEDIP_HISTORIES, ROUTEDIP_SEED } = process.env;
const RUNS = Number(ROUTEDIP_HISTORIES ?? extent(200, 20));
/** The same histories each time, so that a change is judged by itself; others by ROUTEDIP_SEED, more by ROUTEDIP_HISTORIES. */
const SEED = Number(ROUTEDIP_SEED ?? 17);

const chart = chartOf('virtual-ip');
const reached = new Set<string>();
const note = ({ world }: VirtualPlay): void => {
  for (const { verb, result } of world.k8s.writes) reached.add(`${verb}: ${result === 'done' || result === 'lost' ? result : 'other'}`);
  for (const { transitions } of world.invariants.turns)
    for (const { after, chart: name } of transitions)
      for (const state of after && name === 'virtual-ip' ? restsIn(chart, after.snapshot.value) : []) reached.add(state);
};

describe(`whatever happens to VirtualIPs and the Services that they are migrated to (ROUTEDIP_SEED=${SEED})`, () => {
  test(`everything is right in the end, and nothing is wrong meanwhile (${RUNS} histories)`, { timeout: 1_800_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(virtualHistory, async (given) => note(await virtualIPsHappen(given))),
      { seed: SEED, numRuns: RUNS },
    );
    expect(RUNS).toBeGreaterThan(0);
  });

  if (RUNS >= 200)
    describe('they come to', () => {
      test('every state in which one rests', () => {
        // The record of one that is gone goes with it.
        expect(restingStates(chart).filter((state) => state !== 'Gone' && !reached.has(state))).toEqual([]);
      });

      test.each(['reassociate', 'letGo', 'convert', 'setIngress', 'settle', 'deleteClone', 'free'])('a call that is answered: %s', (verb) =>
        expect([...reached]).toContain(`${verb}: done`),
      );

      test('calls that are not', () => expect([...reached].filter((end) => end.endsWith(': lost')).length).toBeGreaterThan(5));
    });
});
