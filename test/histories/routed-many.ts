import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { extent, SHOWS_ALL } from '../support/extent.ts';
import { Reached } from './reached.ts';
import { routedHappens } from './routed-happens.ts';
import { NOT_REACHED, TO_REACH } from './routed-reached.ts';
import { routedHistory } from './routed-steps.ts';

const { ROUTEDIP_HISTORIES, ROUTEDIP_SEED } = process.env;
const RUNS = Number(ROUTEDIP_HISTORIES ?? extent(500, 10));

/** Histories of RoutedIPs: the same each time, so that a change is judged by itself. With ROUTEDIP_SEED others, in the `first` of all files only; more by
 *  ROUTEDIP_HISTORIES. Each seed is a file of its own, so that they are spread over processors. */
export function describeHistories(usual: number, isFirst: boolean): void {
  const seed = ROUTEDIP_SEED === undefined ? usual : Number(ROUTEDIP_SEED);
  const reached = new Reached();

  describe.runIf(isFirst || ROUTEDIP_SEED === undefined)(`whatever happens (ROUTEDIP_SEED=${seed})`, () => {
    test(`to RoutedIPs, their classes, Services, nodes and firewalls: everything is right in the end, and nothing is wrong meanwhile (${RUNS} histories)`, async () => {
      await fc.assert(
        fc.asyncProperty(routedHistory, (given) => routedHappens(given, reached)),
        { seed, numRuns: RUNS },
      );
      expect(RUNS).toBeGreaterThan(0);
    }, 1_800_000);
  });

  if (SHOWS_ALL && ROUTEDIP_SEED === undefined && ROUTEDIP_HISTORIES === undefined)
    describe('taken together, histories of RoutedIPs', () => {
      test.each(Object.entries(TO_REACH))('come to %s', (_, wanted) => {
        expect(wanted.length).toBeGreaterThan(0);
        expect(reached.missing(wanted)).toEqual([]);
      });

      test('come to none of the states that are said to be passed through', () =>
        expect(Object.keys(NOT_REACHED).filter((words) => reached.words.has(words))).toEqual([]));
    });
}
