import { describe, expect, test } from 'vitest';
import { LONGEST, longestFirst, unknownIn, woven } from '../tools/longest-first.ts';

describe('the order in which files of tests are run', () => {
  test('begins with the longest, and leaves the others as they are', () => {
    const [first = '', second = ''] = LONGEST;
    expect(longestFirst(['b.test.ts', second, 'a.test.ts', first], (name) => name)).toEqual([first, second, 'b.test.ts', 'a.test.ts']);
  });

  test('has what waits beside what computes from the first to the last', () => {
    expect(woven(['W', 'X'], ['a', 'b', 'c', 'd']).join('')).toBe('aWbcXd');
    expect(woven([], ['a', 'b'])).toEqual(['a', 'b']);
  });

  test('knows no file that is not there', () => {
    expect(unknownIn(import.meta.dirname)).toEqual([]);
  });
});
