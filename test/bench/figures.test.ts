import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { distribution, isReached, quantile } from '../../bench/figures.ts';
import { table } from '../../bench/table.ts';

describe('a quantile', () => {
  test('is a value of the sample by nearest rank, whatever its order', () => {
    const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
    expect([0, 0.5, 0.99, 1].map((share) => quantile(hundred, share))).toEqual([1, 50, 99, 100]);
    expect(quantile([7], 0.5)).toBe(7);
  });

  test('has so many values not above it', () => {
    fc.assert(
      fc.property(fc.array(fc.integer(), { minLength: 1 }), fc.double({ min: 0, max: 1, noNaN: true }), (values, share) => {
        const found = quantile(values, share);
        expect(values.filter((value) => value <= found).length).toBeGreaterThanOrEqual(share * values.length);
      }),
    );
  });

  test('of nothing does not exist', () => {
    expect(() => quantile([], 0.5)).toThrow(RangeError);
  });
});

describe('a figure', () => {
  test.each([
    [8, { atMost: 8 }, true],
    [8.1, { atMost: 8 }, false],
    [500, { exactly: 500 }, true],
    [499, { exactly: 500 }, false],
    [1, { atLeast: 1 }, true],
    [Number.NaN, { atMost: 8 }, false],
  ])('of %d reaches %j: %s', (value, target, reached) => {
    expect(isReached({ what: 'x', value, unit: '', target })).toBe(reached);
  });

  test('without a target is neither reached nor missed', () => {
    expect(isReached({ what: 'x', value: 1, unit: '' })).toBeNull();
  });
});

test('the table shows every figure with its target and the verdict', () => {
  const figures = [...distribution('way', [1, 2, 3], { p50: 2, p99: 2.5 }), { what: 'rate', value: 1234.5, unit: '/s' } as const];
  const lines = table([{ scenario: 'one', conditions: ['quiet'], figures, seconds: 3, load: [0.1, 0.2] }]);
  expect(lines.map((line) => line.replaceAll(/ +/g, ' '))).toEqual([
    '',
    'one (3 s, load 0.1 -> 0.2)',
    ' quiet',
    ' way, p50 2 ms <= 2 ms ok',
    ' way, p99 3 ms <= 2.50 ms MISSED',
    expect.stringMatching(/^ rate 123[45] \/s$/),
  ]);
});
