import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Family } from '../../../machines/model/types.ts';
import { addressOf, gives, numberOf, parseGroup, usable } from '../../../machines/vip/ip-group.ts';

const BASE: Record<Family, bigint> = { 4: numberOf('198.51.100.0' as never), 6: numberOf('2001:db8::fff0' as never) };
const family = fc.constantFrom<Family>(4, 6);
const offset = fc.integer({ min: -8, max: 40 });

/** An entry, and the offsets from the base that it excludes. */
const entry = fc.oneof(
  offset.map((at) => ({ kind: 'address', from: at, to: at })),
  fc.tuple(offset, fc.nat(9)).map(([at, more]) => ({ kind: 'range', from: at, to: at + more })),
  fc.tuple(offset, fc.nat(4)).map(([at, bits]) => ({ kind: 'cidr', from: at, to: bits })),
);

test('a group gives exactly the addresses of its segment that no entry names', () => {
  fc.assert(
    fc.property(family, fc.nat(5), fc.nat(31), fc.array(entry, { maxLength: 8 }), (version, hostBits, shift, entries) => {
      const bits = version === 4 ? 32 : 128;
      const at = (number: bigint): string => addressOf(number, version);
      const excluded = new Set<bigint>();
      const excludedIPs = entries.map(({ kind, from, to }) => {
        const first = BASE[version] + BigInt(from);
        if (kind !== 'cidr') {
          for (let number = first; number <= BASE[version] + BigInt(to); number++) excluded.add(number);
          return kind === 'address' ? at(first) : `${at(first)}-${at(BASE[version] + BigInt(to))}`;
        }
        const size = 2n ** BigInt(to);
        for (let number = first - (first % size); number < first - (first % size) + size; number++) excluded.add(number);
        return `${at(first)}/${bits - to}`;
      });
      const inside = BASE[version] + BigInt(shift);
      const group = parseGroup('g', { segment: `${at(inside)}/${bits - hostBits}`, excludedIPs });
      if (group.kind === 'Invalid') throw new Error(group.message);
      const size = 2n ** BigInt(hostBits);
      const all = Array.from({ length: Number(size) }, (_, index) => inside - (inside % size) + BigInt(index));
      const free = all.filter((number) => !excluded.has(number));
      const listed = usable(group).flatMap(({ first, last }) =>
        Array.from({ length: Number(last - first) + 1 }, (_, index) => first + BigInt(index)),
      );
      expect(listed).toEqual(free);
      expect(group.capacity).toBe(BigInt(free.length));
      for (let number = BASE[version] - 40n; number < BASE[version] + 80n; number++)
        expect(gives(group, { family: version, number })).toBe(free.includes(number));
    }),
    { numRuns: 300 },
  );
});
