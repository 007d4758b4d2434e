import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { happens } from './happens.ts';
import { history } from './steps.ts';

const RUNS = Number(process.env.ROUTEDIP_HISTORIES ?? 500);
/** The same histories each time, so that a change is judged by itself; others by ROUTEDIP_SEED, more by ROUTEDIP_HISTORIES. */
const SEED = Number(process.env.ROUTEDIP_SEED ?? 8);

describe('whatever happens', () => {
  test(`everything is right in the end, and nothing is wrong meanwhile (${RUNS} histories, ROUTEDIP_SEED=${SEED})`, async () => {
    await fc.assert(fc.asyncProperty(history, happens), { seed: SEED, numRuns: RUNS });
    expect(RUNS).toBeGreaterThan(0);
  }, 600_000);
});
