import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isSameJson } from '../../../actors/runtime/same-json.ts';

const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, each]) => [key, sorted(each)]),
  );
};
const text = (value: unknown): string | undefined => JSON.stringify(sorted(value));

test('two values are the same when their JSON is, whatever the order of keys', () => {
  const small = fc.jsonValue({ maxDepth: 2, depthSize: 'small' }).map((value) => JSON.parse(JSON.stringify(value)) as unknown);
  fc.assert(
    fc.property(small, small, (one, other) => {
      expect(isSameJson(one, other)).toBe(text(one) === text(other));
      expect(isSameJson(one, structuredClone(one))).toBe(true);
    }),
  );
});

test.each([
  [{ a: 1, b: undefined }, { a: 1 }, true],
  [{ a: undefined }, { b: undefined }, true],
  [{ a: 1 }, { b: 1 }, false],
  [{ a: 1 }, { a: 1, b: 2 }, false],
  [{ a: 1, b: 2 }, { b: 2, a: 1 }, true],
  [[1, 2], [2, 1], false],
  [[1], [1, 2], false],
  [[], {}, false],
  [{ a: null }, { a: {} }, false],
  [{ a: { b: [{ c: 1 }] } }, { a: { b: [{ c: 2 }] } }, false],
  [null, undefined, false],
  ['1', 1, false],
])('%j and %j: %s', (one, other, expected) => expect(isSameJson(one, other)).toBe(expected));
