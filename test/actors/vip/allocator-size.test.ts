import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Allocator } from '../../../actors/vip/allocator.ts';
import { FreeRanges } from '../../../actors/vip/free-ranges.ts';
import { byNumber, SortedMap } from '../../../actors/vip/sorted-map.ts';
import type { VipRequest } from '../../../actors/vip/wait-queue.ts';
import type { Address } from '../../../machines/model/types.ts';
import { group } from './allocator-facts.ts';

describe('a sorted map', () => {
  const keys = fc.array(fc.tuple(fc.nat(30), fc.boolean()), { maxLength: 80, size: 'max' });

  test('holds what a map and a sort would hold, after any additions and removals', () => {
    fc.assert(
      fc.property(keys, fc.nat(30), fc.nat(30), (steps, from, to) => {
        const sorted = new SortedMap<bigint, number>(byNumber);
        const plain = new Map<number, number>();
        for (const [index, [key, isAdded]] of steps.entries()) {
          if (isAdded) sorted.set(BigInt(key), index);
          else sorted.delete(BigInt(key));
          if (isAdded) plain.set(key, index);
          else plain.delete(key);
        }
        const all = [...plain].sort(([a], [b]) => a - b).map(([key, value]) => [BigInt(key), value] as const);
        expect(sorted.keys()).toEqual(all.map(([key]) => key));
        expect(sorted.size).toBe(all.length);
        expect(sorted.first()).toEqual(all[0] ?? null);
        expect(sorted.floor(BigInt(from))).toEqual(all.findLast(([key]) => key <= from) ?? null);
        expect(sorted.between(BigInt(from), BigInt(to))).toEqual(all.filter(([key]) => from <= key && key <= to));
        expect(sorted.get(BigInt(to))).toBe(plain.get(to));
      }),
    );
  });

  test.each([
    ['ascending', (index: number) => index],
    ['descending', (index: number) => -index],
    ['in any order', (index: number) => (index * 7919) % 10_007],
  ])('takes few comparisons for each of 10,000 keys that come %s', (_, keyOf) => {
    let comparisons = 0;
    const sorted = new SortedMap<number, null>((a, b) => {
      comparisons++;
      return a - b;
    });
    for (let index = 0; index < 10_000; index++) sorted.set(keyOf(index), null);
    expect(sorted.size).toBe(10_000);
    expect(comparisons / 10_000).toBeLessThan(80);
    comparisons = 0;
    for (let index = 0; index < 10_000; index++) sorted.delete(keyOf(index));
    expect(sorted.size).toBe(0);
    expect(comparisons / 10_000).toBeLessThan(80);
  });
});

test('free ranges know the lowest of what is free, and how many are, after any takes and gives', () => {
  const range = (first: number, last: number) => ({ first: BigInt(first), last: BigInt(last) });
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(20), fc.boolean()), { maxLength: 60, size: 'max' }), (steps) => {
      const free = new FreeRanges([range(0, 4), range(8, 8), range(12, 20)]);
      const plain = new Set([0, 1, 2, 3, 4, 8, 12, 13, 14, 15, 16, 17, 18, 19, 20]);
      for (const [number, isGiven] of steps) {
        if (isGiven) free.give(BigInt(number));
        else free.take(BigInt(number));
        if (isGiven) plain.add(number);
        else plain.delete(number);
        expect(free.lowest()).toBe(plain.size > 0 ? BigInt(Math.min(...plain)) : null);
        expect(free.count).toBe(BigInt(plain.size));
      }
      for (let lowest = free.lowest(); lowest !== null; lowest = free.lowest()) {
        expect(plain.delete(Number(lowest))).toBe(true);
        free.take(lowest);
      }
      expect(plain.size).toBe(0);
    }),
  );
});

test.each([
  ['upwards', (index: number) => index],
  ['downwards', (index: number) => 99 - index],
  ['in any order', (index: number) => (index * 37) % 100],
])('free ranges are one range again when all that was taken is given back, %s', (_, order) => {
  const free = new FreeRanges([{ first: 0n, last: 1_000n }]);
  for (let index = 0; index < 100; index++) free.take(BigInt(index * 2 + 1));
  expect(free.pieces).toBe(101);
  for (let index = 0; index < 100; index++) free.give(BigInt(order(index) * 2 + 1));
  expect(free.pieces).toBe(1);
  expect(free.count).toBe(1_001n);
});

describe('with 10,000 Services that wait', () => {
  const COUNT = 10_000;
  /** How often anything looked at the age of a request: a scan of all would do so for each. */
  let looks = 0;
  const waiting = (index: number, deviations: Partial<VipRequest> = {}): VipRequest => ({
    key: `k${index}`,
    address: null,
    group: null,
    family: null,
    preferred: [],
    ...deviations,
    get since() {
      looks++;
      return index;
    },
  });
  const crowd = (deviations: (index: number) => Partial<VipRequest>): Allocator => {
    const allocator = new Allocator();
    allocator.putGroup(group('g', '10.0.0.0/8', ['10.0.0.0/8']));
    for (let index = 0; index < COUNT; index++) allocator.ask(waiting(index, deviations(index)));
    expect(allocator.changed()).toHaveLength(COUNT);
    looks = 0;
    return allocator;
  };
  const addressAt = (index: number): Address => `10.1.${index >> 8}.${index & 255}` as Address;

  test.each([
    ['any address', () => ({})],
    ['any of a group', () => ({ group: 'g' })],
    ['any of a family', () => ({ family: 4 as const })],
    ['one address each', (index: number) => ({ address: addressAt(index) })],
    ['all the same address', () => ({ address: addressAt(0) })],
    ['any address, each with one that it had', (index: number) => ({ preferred: [addressAt(index)] })],
  ])('for %s, none is looked at but those concerned when something happens', (_, deviations) => {
    const allocator = crowd(deviations);
    for (let step = 0; step < 10; step++) {
      allocator.take(addressAt(step), 'other');
      expect(allocator.changed()).toEqual([]);
      allocator.give(addressAt(step));
      expect(allocator.changed()).toEqual([]);
      allocator.ask(waiting(COUNT + step, deviations(step)));
      expect(allocator.changed()).toEqual([`k${COUNT + step}`]);
      allocator.withdraw(`k${COUNT + step}`);
      expect(allocator.changed()).toEqual([]);
    }
    expect(looks).toBeLessThan(40 * 150);
  });

  test('a group that comes serves as many as it has addresses, and looks at no others', () => {
    const allocator = crowd(() => ({}));
    allocator.putGroup(group('small', '192.0.2.0/28'));
    expect(allocator.changed()).toEqual(Array.from({ length: 16 }, (_, index) => `k${index}`));
    expect(looks).toBeLessThan(17 * 300);
  });

  test.each(['10.0.0.0/16', '10.0.0.0/8', '2001:db8::/64'])('each gets the next address of %s, and gives it back', (segment) => {
    const allocator = crowd(() => ({}));
    allocator.removeGroup('g');
    allocator.putGroup(group('a', segment));
    expect(allocator.changed()).toHaveLength(COUNT);
    const six = segment.includes(':');
    const last = allocator.verdict(`k${COUNT - 1}`);
    expect(last).toMatchObject({ kind: 'offered', address: six ? '2001:db8::270f' : '10.0.39.15' });
    const before = allocator.figures('a');
    for (let index = 0; index < COUNT; index++) allocator.withdraw(`k${index}`);
    expect(allocator.figures('a')?.available).toBe((before?.available ?? 0n) + BigInt(COUNT));
    expect(allocator.figures('a')?.available).toBe(before?.capacity);
  });
});
