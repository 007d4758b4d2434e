import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { aimOf, intervalOf, ratioOf, spreadOf, type Verdict, verdictOf } from '../../bench/spread.ts';
import { seededRandom } from '../../simulator/digitalocean/random.ts';

const verdict = (former: readonly number[], current: readonly number[], aim: Parameters<typeof verdictOf>[2] = 'less') =>
  verdictOf(spreadOf(former), spreadOf(current), aim);

const SIX = [100, 102, 98, 101, 99, 103];
const plus = (by: number, samples = SIX) => samples.map((value) => value + by);

describe('the interval of a median', () => {
  // By hand from the binomial coefficients: 1 - 2 * (sum of the first `from` of them) / 2 ** n.
  test.each([
    [1, 1, 0],
    [2, 1, 0.5],
    [5, 1, 0.9375],
    [6, 1, 0.96875],
    [8, 1, 0.9921875],
    [9, 2, 1 - (2 * 10) / 512],
    [10, 2, 1 - (2 * 11) / 1024],
    [12, 3, 1 - (2 * (1 + 12 + 66)) / 4096],
    [20, 6, 1 - (2 * (1 + 20 + 190 + 1140 + 4845 + 15504)) / 2 ** 20],
  ])('of %d samples goes from the %d. smallest to the same largest and holds it with a probability of %d', (rounds, from, coverage) => {
    const interval = intervalOf(rounds);
    expect(interval.from).toBe(from);
    expect(interval.coverage).toBeCloseTo(coverage, 10);
  });

  test.each([6, 9, 12])('of %d samples of a skewed distribution holds its true median as often as it says', (rounds) => {
    const random = seededRandom(rounds);
    // Of the exponential distribution the median is ln 2.
    const trials = 4_000;
    const held = Array.from({ length: trials }, () => spreadOf(Array.from({ length: rounds }, () => -Math.log(1 - random()))));
    const share = held.filter(({ low, high }) => low <= Math.LN2 && Math.LN2 <= high).length / trials;
    expect(Math.abs(share - intervalOf(rounds).coverage)).toBeLessThan(0.015);
  });
});

describe('a spread', () => {
  test('has the middle of the samples, of an even number that between the two in the middle', () => {
    expect(spreadOf([3, 1, 2])).toMatchObject({ median: 2, low: 1, high: 3 });
    expect(spreadOf([4, 1, 2, 10])).toMatchObject({ median: 3, low: 1, high: 10 });
    expect(spreadOf([5])).toMatchObject({ median: 5, low: 5, high: 5 });
  });

  test('of nine samples is not moved by one outlier on a side', () => {
    expect(spreadOf([1, 2, 3, 4, 5, 6, 7, 8, 1e9])).toMatchObject({ median: 5, low: 2, high: 8 });
    expect(spreadOf([-1e9, 2, 3, 4, 5, 6, 7, 8, 9])).toMatchObject({ median: 5, low: 2, high: 8 });
  });

  test('does not depend on the order of the samples, and keeps it', () => {
    fc.assert(
      fc.property(fc.array(fc.integer(), { minLength: 1, maxLength: 20 }), (samples) => {
        const { samples: kept, ...there } = spreadOf(samples);
        const { samples: _, ...back } = spreadOf(samples.toReversed());
        expect(kept).toEqual(samples);
        expect(back).toEqual(there);
        expect(there.low).toBeLessThanOrEqual(there.median);
        expect(there.high).toBeGreaterThanOrEqual(there.median);
      }),
    );
  });

  test('of nothing does not exist', () => {
    expect(() => spreadOf([])).toThrow(RangeError);
  });
});

describe('the verdict', () => {
  test.each<[string, readonly number[], readonly number[], Verdict]>([
    ['identical samples', SIX, SIX, 'same'],
    ['six times the same number', Array(6).fill(4), Array(6).fill(4), 'same'],
    ['a shift within the spread', SIX, plus(4), 'same'],
    ['intervals that touch', SIX, plus(5), 'same'],
    ['a shift beyond the spread', SIX, plus(6), 'worse'],
    ['a shift beyond the spread downwards', SIX, plus(-6), 'better'],
    ['one number and another', Array(6).fill(4), Array(6).fill(5), 'worse'],
    ['one outlier among equals', SIX, [...SIX.slice(1), 1_000], 'same'],
    ['a shift of six samples that an outlier of the former reaches over', [...SIX.slice(1), 1_000], plus(6), 'same'],
    ['a shift with an outlier that points away', [...SIX.slice(1), 1], plus(6), 'worse'],
    ['a shift of ten samples with an outlier', [...SIX, 97, 100, 101, 1_000], plus(10, [...SIX, 97, 100, 101, 99]), 'worse'],
    ['five rounds', SIX.slice(1), plus(1_000, SIX.slice(1)), 'too few'],
    ['what could not be measured once', [...SIX.slice(1), Number.NaN], plus(1_000), 'unknown'],
  ])('on %s', (_, former, current, expected) => {
    expect(verdict(former, current)).toBe(expected);
    expect(verdict(former.toReversed(), current.toSorted())).toBe(expected);
  });

  test('turns round with the builds, and with what is wanted', () => {
    const samples = fc.array(fc.integer({ min: 0, max: 30 }), { minLength: 6, maxLength: 12 });
    const opposite: Readonly<Record<Verdict, Verdict>> = {
      better: 'worse',
      worse: 'better',
      same: 'same',
      'too few': 'too few',
      unknown: 'unknown',
    };
    fc.assert(
      fc.property(samples, samples, (one, other) => {
        expect(verdict(other, one)).toBe(opposite[verdict(one, other)]);
        expect(verdict(one, other, 'more')).toBe(opposite[verdict(one, other, 'less')]);
      }),
    );
  });

  test('on a number that is to be met depends on how far from it both are, on whatever side', () => {
    const [off, met, over] = [Array(6).fill(498), Array(6).fill(500), Array(6).fill(502)];
    expect(verdict(off, met, { exactly: 500 })).toBe('better');
    expect(verdict(met, over, { exactly: 500 })).toBe('worse');
    expect(verdict(off, over, { exactly: 500 })).toBe('same');
  });

  test('on equal builds is seldom another one than same', () => {
    const random = seededRandom(3);
    const six = () => Array.from({ length: 6 }, random);
    const trials = 20_000;
    const wrong = Array.from({ length: trials }, () => verdict(six(), six())).filter((one) => one !== 'same').length;
    // 2 of 924 orders of twelve different numbers have all of one build first.
    expect(wrong / trials).toBeGreaterThan(0.001);
    expect(wrong / trials).toBeLessThan(0.0035);
  });
});

describe('what is wanted of a figure', () => {
  test.each([
    [{ unit: 'ms' }, 'less'],
    [{ unit: '/s' }, 'more'],
    [{ unit: 'ms', target: { atMost: 5 } }, 'less'],
    [{ unit: '', target: { atLeast: 1 } }, 'more'],
    [{ unit: '', target: { exactly: 500 } }, { exactly: 500 }],
    [{ unit: 'ms', target: { atLeast: 0 }, better: 'less' }, 'less'],
    [{ unit: '', better: 'more' }, 'more'],
  ] as const)('of %j is %j', (figure, aim) => {
    expect(aimOf(figure)).toEqual(aim);
  });
});

test('the ratio is that of the medians, 1 of two zeros, and none when only the former one is zero', () => {
  expect(ratioOf(spreadOf([2, 2, 2]), spreadOf([3]))).toBe(1.5);
  expect(ratioOf(spreadOf([0]), spreadOf([0]))).toBe(1);
  expect(ratioOf(spreadOf([0]), spreadOf([1]))).toBeNull();
});
