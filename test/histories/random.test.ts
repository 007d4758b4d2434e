import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Play } from './play.ts';
import { type History, history } from './steps.ts';

const RUNS = Number(process.env.ROUTEDIP_HISTORIES ?? 150);
/** The same histories each time, so that a change is judged by itself; others by ROUTEDIP_SEED, more by ROUTEDIP_HISTORIES. */
const SEED = Number(process.env.ROUTEDIP_SEED ?? 8);

/** What says nothing about the past: the time of the last assignment is taken from a status that lags behind. */
const UNSPACED: ReadonlySet<string> = new Set(['goBack', 'wipe', 'wipeAtRest']);

const happens = async (given: History): Promise<void> => {
  const history = new Play(given);
  const { world } = history;
  await history.run();
  world.invariants.checkCalls();
  const spaces = !given.steps.some(({ what }) => UNSPACED.has(what.kind));
  expect(world.invariants.violations.filter(({ rule }) => spaces || rule !== 'spaced').slice(0, 3)).toEqual([]);
  expect(world.faults().slice(0, 3)).toEqual([]);
};

describe('whatever happens', () => {
  test(`everything is right in the end, and nothing is wrong meanwhile (${RUNS} histories, ROUTEDIP_SEED=${SEED})`, async () => {
    await fc.assert(fc.asyncProperty(history, happens), { seed: SEED, numRuns: RUNS });
    expect(RUNS).toBeGreaterThan(0);
  }, 600_000);
});
