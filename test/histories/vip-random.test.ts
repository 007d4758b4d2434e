import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { vipsHappen } from './vip-happens.ts';
import { vipHistory } from './vip-steps.ts';

const { ROUTEDIP_HISTORIES, ROUTEDIP_SEED } = process.env;
const RUNS = Number(ROUTEDIP_HISTORIES ?? 500);
/** The same histories each time, so that a change is judged by itself; others by ROUTEDIP_SEED, more by ROUTEDIP_HISTORIES. */
const SEED = Number(ROUTEDIP_SEED ?? 13);

describe(`whatever happens to Services with addresses of IPGroups (ROUTEDIP_SEED=${SEED})`, () => {
  test(`everything is right in the end, and nothing is wrong meanwhile (${RUNS} histories)`, { timeout: 3_600_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(vipHistory, async (given) => {
        await vipsHappen(given);
      }),
      { seed: SEED, numRuns: RUNS },
    );
    expect(RUNS).toBeGreaterThan(0);
  });
});
