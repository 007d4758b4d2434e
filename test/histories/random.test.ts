import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { extent, SHOWS_ALL } from '../support/extent.ts';
import { happens } from './happens.ts';
import { CHARTS, NOT_REACHED, Reached, statesOf, TO_REACH } from './reached.ts';
import { history } from './steps.ts';
import { markedHistory } from './steps-marked.ts';
import { wideHistory } from './steps-wide.ts';

const { ROUTEDIP_HISTORIES, ROUTEDIP_SEED } = process.env;
const RUNS = Number(ROUTEDIP_HISTORIES ?? extent(200, 20));
/** The same histories each time, so that a change is judged by itself; others by ROUTEDIP_SEED, more by ROUTEDIP_HISTORIES. */
const SEEDS = ROUTEDIP_SEED === undefined ? extent([8, 21], [8]) : [Number(ROUTEDIP_SEED)];

const reached = new Reached();

describe.each(SEEDS)('whatever happens (ROUTEDIP_SEED=%i)', (seed) => {
  test.each([
    ['to pools of addresses that are there', RUNS, history],
    ['to pools that make addresses, and to their names', RUNS, wideHistory],
    ['to pools and nodes that people mark', Math.ceil(RUNS / 2), markedHistory],
  ])(
    '%s: everything is right in the end, and nothing is wrong meanwhile (%i histories)',
    async (_, numRuns, histories) => {
      await fc.assert(
        fc.asyncProperty(histories, (given) => happens(given, reached)),
        { seed, numRuns },
      );
      expect(RUNS).toBeGreaterThan(0);
    },
    600_000,
  );
});

if (SHOWS_ALL && ROUTEDIP_SEED === undefined && ROUTEDIP_HISTORIES === undefined)
  describe('taken together, histories', () => {
    test.each(Object.entries(TO_REACH))('come to %s', (_, wanted) => {
      expect(wanted.length).toBeGreaterThan(0);
      expect(reached.missing(wanted)).toEqual([]);
    });

    test('come to none of the states that are said to be passed through or not to be theirs', () => {
      const known = CHARTS.flatMap(statesOf);
      const passed = Object.keys(NOT_REACHED);
      expect(passed.filter((words) => !known.includes(words))).toEqual([]);
      expect(passed.filter((words) => reached.words.has(words))).toEqual([]);
    });
  });
