import { describe, expect, test } from 'vitest';
import { type Contended, contendedAfter, type Listing, settled, withRepair } from '../../../machines/vip/contention.ts';
import { frozen } from '../builders.ts';

const HOUR = 3_600_000;
const NOW = 10 * HOUR;

/** What somebody else lists in place of an address that is reserved. */
const over = (change: Partial<Listing> = {}): Listing =>
  frozen({ text: '203.0.113.80', isChanged: true, isMarked: false, isReserved: true, isForeign: false, asks: '', by: 'cloud', ...change });
const nothing = (change: Partial<Listing> = {}): Listing => over({ text: '', by: null, ...change });
/** The same where we have never served. */
const found = (change: Partial<Listing> = {}): Listing => over({ isChanged: false, isReserved: false, isForeign: true, ...change });
const then = (before: Contended, seen: Listing, at = NOW): Contended => contendedAfter(frozen(before), seen, at);
const isLeft = (before: Contended, seen: Listing, at = NOW): boolean => then(before, seen, at).contention != null;
const left = (change: Partial<Contended> = {}): Contended => ({
  ousted: true,
  contention: { message: 'as it began', asks: '' },
  repairs: [NOW - 1_000],
  ...change,
});

describe('a Service that has an address of ours, over which somebody else writes,', () => {
  test('is put right the first time', () => expect(then({}, over())).toEqual({ ousted: true }));

  test.each<[string, number, boolean]>([
    ['within the hour', NOW - HOUR + 1, true],
    ['an hour later', NOW - HOUR, false],
    ['by a clock that was set back', NOW + 1, false],
  ])('is left the next time %s', (_, repair, expected) => {
    expect(isLeft({ repairs: [repair] }, over())).toBe(expected);
  });

  test('is left as long as that stands, and says the same, whatever is listed by then', () => {
    expect(then(left(), over({ text: 'b', by: 'another', isChanged: false }), NOW + 9 * HOUR).contention?.message).toBe('as it began');
  });

  test('is put right once that is gone', () => expect(then(left(), nothing()).contention).toBeNull());

  test('is put right three times an hour where somebody takes everything out', () => {
    const times = [NOW - 3_000, NOW - 2_000, NOW - 1_000];
    expect([1, 2, 3].map((count) => isLeft({ repairs: times.slice(0, count) }, nothing()))).toEqual([false, false, true]);
    expect(isLeft(left({ repairs: times }), nothing(), NOW + HOUR)).toBe(false);
  });

  test('is put right by whoever knows nothing of before, unless the Service says that it was left', () => {
    expect([isLeft({}, over()), isLeft({}, over({ isMarked: true }))]).toEqual([false, true]);
  });

  test('asks anew: what was done before counts no more, and it is served', () => {
    const { contention, repairs, ousted } = then(left(), over({ asks: '1.1.1.1', isChanged: false }));
    expect([contention, repairs, ousted]).toEqual([null, [], true]);
    const asking = left({ contention: { message: 'm', asks: '1.1.1.1' } });
    expect(isLeft(asking, over({ asks: '1.1.1.1', isChanged: false }))).toBe(true);
    // It took the wish back, which is none, and has it again.
    const without = then(asking, over({ asks: '', isChanged: false }));
    expect([without.contention?.asks, isLeft(without, over({ asks: '1.1.1.1', isChanged: false }))]).toEqual(['', false]);
  });

  test('is not written over where we had not come to publish before somebody else was there', () => {
    expect(then({}, found({ isReserved: true }))).toMatchObject({ contention: { asks: '' } });
  });
});

describe('a Service that never had one of ours', () => {
  test('is left while somebody else’s stands there', () => {
    expect(then({}, found()).contention?.message).toBe(
      'the ingress is written by somebody else (cloud), to whom the Service is left: take that one out, or ask for an address of an IPGroup, and it is served',
    );
    expect(then({}, found({ by: null })).contention?.message).toMatch(/^the ingress is written by somebody else, to whom/);
  });

  test('is served when it asks, and when it lists nothing', () => {
    expect([isLeft({}, found({ isForeign: false, asks: 'g' })), isLeft({}, found({ isForeign: false, text: '' }))]).toEqual([false, false]);
  });
});

test('what was written over others is remembered, the last three of an hour', () => {
  const all = [1, 2, 3, 4].reduce<Contended>((before, minute) => ({ repairs: withRepair(before, NOW + minute * 60_000) }), {
    repairs: [NOW - HOUR],
  });
  expect(all.repairs).toEqual([2, 3, 4].map((minute) => NOW + minute * 60_000));
});

test('nothing is stored of a Service that nobody contends', () => {
  expect(Object.keys(settled({}))).toEqual([]);
  expect(Object.keys(then({ repairs: [1] }, nothing({ isChanged: false })))).toEqual([]);
});
