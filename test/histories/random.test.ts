import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { happens } from './happens.ts';
import { history } from './steps.ts';
import { wideHistory } from './steps-wide.ts';

const { ROUTEDIP_HISTORIES, ROUTEDIP_SEED } = process.env;
const RUNS = Number(ROUTEDIP_HISTORIES ?? 200);
/** The same histories each time, so that a change is judged by itself; others by ROUTEDIP_SEED, more by ROUTEDIP_HISTORIES. */
const SEEDS = ROUTEDIP_SEED === undefined ? [8, 21] : [Number(ROUTEDIP_SEED)];

describe.each(SEEDS)('whatever happens (ROUTEDIP_SEED=%i)', (seed) => {
  test.each([
    ['to pools of addresses that are there', history],
    ['to pools that make addresses, and to their names', wideHistory],
  ])(
    `%s: everything is right in the end, and nothing is wrong meanwhile (${RUNS} histories)`,
    async (_, histories) => {
      await fc.assert(fc.asyncProperty(histories, happens), { seed, numRuns: RUNS });
      expect(RUNS).toBeGreaterThan(0);
    },
    600_000,
  );
});
