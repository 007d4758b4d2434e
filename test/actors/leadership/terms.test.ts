import { expect, test } from 'vitest';
import type { Leader } from '../../../actors/leadership/leader.ts';
import { Terms, type TermsPorts } from '../../../actors/leadership/terms.ts';
import { virtualClock } from '../../../adapters/memory/clock.ts';

type Found = { readonly term: number | null; readonly runId: string };

/** A process that is about to lead, on a store that was empty, and whose answers come when the test says so. */
function contender({ onLease = 0, isNew = true, shown = [] as readonly number[] } = {}) {
  const clock = virtualClock();
  const opened: number[] = [];
  const asked: ((found: Found) => void)[] = [];
  const said: string[] = [];
  const say = (message: string): void => void said.push(message);
  const leaderOf = (term: number): Leader => {
    opened.push(term);
    return {
      term,
      cells: new Map(),
      open: async () => undefined,
      close: async () => undefined,
      halt: () => undefined,
    } as unknown as Leader;
  };
  const terms = new Terms({
    clock,
    log: { info: say, warn: say },
    settings: { storePatienceMs: 15_000, callDeadlineMs: 15_000 },
    store: {
      check: async () => undefined,
      state: () => new Promise<Found>((answer) => void asked.push(answer)),
      openTerm: async () => true,
    },
    leadership: {
      holder: () => 'me',
      seenTerm: () => onLease,
      seenServer: () => null,
      seenLease: () => null,
      isNew: () => isNew,
      writeTerm: async () => undefined,
    },
    shownTerms: async () => shown,
    leaderOf,
    reset: () => undefined,
    opened: () => undefined,
  } as unknown as TermsPorts);
  /** The question asked longest ago is answered; the rest goes on until it waits again. */
  const answer = async (found: Found): Promise<void> => {
    asked.shift()?.(found);
    await settled();
  };
  return { terms, clock, opened, asked, said, answer };
}

const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
const EMPTY: Found = { term: null, runId: 'a' };

test('what was asked of the store before a term was opened in it says nothing of that term', async () => {
  const { terms, opened, asked, said, answer } = contender();
  const early = terms.checkStore();
  terms.acquired();
  await settled();
  const [before] = asked.splice(0, 1);
  await answer(EMPTY);
  expect(opened).toEqual([1]);
  before?.(EMPTY);
  await early;
  await settled();
  expect(said).toEqual(['leads']);
});

test('what is asked after that tells that the store was emptied', async () => {
  const { terms, opened, said, answer } = contender();
  terms.acquired();
  await settled();
  await answer(EMPTY);
  void terms.checkStore();
  await answer(EMPTY);
  expect(said).toEqual(['leads', 'the store was emptied']);
  await answer(EMPTY);
  expect(opened).toEqual([1, 2]);
});

test('after the highest number that can be a term nobody leads, and it says why', async () => {
  const { terms, opened, answer } = contender({ onLease: 999_999_999_999 });
  terms.acquired();
  await settled();
  await answer(EMPTY);
  expect(opened).toEqual([]);
  expect(terms.hindrance).toBe('no term comes after 999999999999: somebody else has written that on the Lease, in Redis or in a status');
  terms.stop();
});

test('where only statuses tell of a former leader, what that may have sent takes effect first', async () => {
  const { terms, clock, opened, answer } = contender({ shown: [3] });
  terms.acquired();
  await settled();
  await answer(EMPTY);
  expect([opened, terms.hindrance]).toEqual([[], 'what may have been sent before takes effect first, for 15 s']);
  await clock.advance(14_999);
  expect(opened).toEqual([]);
  await clock.advance(1);
  await settled();
  expect(opened).toEqual([4]);
});

test.each([
  { when: 'nobody has ever led', given: {}, found: EMPTY },
  { when: 'the Lease of the former leader was waited for', given: { onLease: 3, isNew: false, shown: [3] }, found: EMPTY },
  { when: 'the store has its records', given: { shown: [3] }, found: { ...EMPTY, term: 3 } },
])('nothing is waited for where $when', async ({ given, found }) => {
  const { terms, opened, answer } = contender(given);
  terms.acquired();
  await settled();
  await answer(found);
  expect(opened).toHaveLength(1);
});
