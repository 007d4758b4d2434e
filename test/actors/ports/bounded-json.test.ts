import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseBounded } from '../../../actors/ports/bounded-json.ts';

const MANY = 600_000;

describe('what a peer has sent as JSON', () => {
  test('is read as it is, however long, and whatever stands in its strings', () => {
    const read = (value: unknown): void => {
      const text = JSON.stringify(value);
      expect(parseBounded(text)).toEqual(JSON.parse(text));
    };
    read({ text: '[{'.repeat(MANY), end: '\\"[' });
    read({ list: Array.from({ length: 100_000 }, (_, index) => ({ index })) });
    fc.assert(fc.property(fc.jsonValue(), (value) => read({ value, long: '\\"[{'.repeat(30_000) })));
  });

  test.each([
    ['lists in lists', '['.repeat(MANY)],
    ['objects in objects', '{"":'.repeat(MANY)],
    ['empty lists', `[${'[],'.repeat(MANY)}[]]`],
    ['empty objects behind a string that escapes its quote', `["\\"",${'{},'.repeat(MANY)}{}]`],
  ])('is refused when it has too many %s', (_, text) => {
    expect(() => parseBounded(text)).toThrow('more than 500000 lists and objects');
  });

  test('is refused when it is no JSON, also where a string never ends', () => {
    expect(() => parseBounded(`${'['.repeat(10)}"${'\\"'.repeat(100_000)}`)).toThrow(SyntaxError);
  });
});
