import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { extent, SHOWS_ALL } from '../support/extent.ts';
import { Reached } from './reached.ts';
import { routedHappens } from './routed-happens.ts';
import { markedRoutedHistory } from './routed-marked.ts';
import { MARKED_TO_REACH } from './routed-reached.ts';

const { ROUTEDIP_HISTORIES, ROUTEDIP_SEED } = process.env;
const RUNS = Number(ROUTEDIP_HISTORIES ?? extent(60, 10));
/** The same histories each time, so that a change is judged by itself; others by ROUTEDIP_SEED, more by ROUTEDIP_HISTORIES. */
const SEED = Number(ROUTEDIP_SEED ?? 5);

const reached = new Reached();

describe(`whatever happens (ROUTEDIP_SEED=${SEED})`, () => {
  test(`to RoutedIPs and nodes that people mark: everything is right in the end, and nothing is wrong meanwhile (${RUNS} histories)`, async () => {
    await fc.assert(
      fc.asyncProperty(markedRoutedHistory, (given) => routedHappens(given, reached)),
      { seed: SEED, numRuns: RUNS },
    );
    expect(RUNS).toBeGreaterThan(0);
  }, 1_800_000);
});

if (SHOWS_ALL && ROUTEDIP_SEED === undefined && ROUTEDIP_HISTORIES === undefined)
  describe('taken together, histories of marked RoutedIPs', () => {
    test.each(Object.entries(MARKED_TO_REACH))('come to %s', (_, wanted) => {
      expect(wanted.length).toBeGreaterThan(0);
      expect(reached.missing(wanted)).toEqual([]);
    });
  });
