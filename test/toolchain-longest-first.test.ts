import { describe, expect, test } from 'vitest';
import { LONGEST, longestFirst, unknownIn } from '../tools/longest-first.ts';

describe('the order in which files of tests are run', () => {
  test('begins with the longest, and leaves the others as they are', () => {
    const [first = '', second = ''] = LONGEST;
    expect(longestFirst(['b.test.ts', second, 'a.test.ts', first], (name) => name)).toEqual([first, second, 'b.test.ts', 'a.test.ts']);
  });

  test('knows no file that is not there', () => {
    expect(unknownIn(import.meta.dirname)).toEqual([]);
  });
});
