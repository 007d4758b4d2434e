import { describe, expect, test } from 'vitest';
import {
  freeAddresses,
  groupContaining,
  ipGroupsOf,
  keepalivedGroupOf,
  requestedAddress,
} from '../../../machines/migration/group-segment-mapping.ts';
import type { Address } from '../../../machines/model/types.ts';

const mapping = (name: string, segment: string, excludedIPs?: readonly string[]) => ({
  name,
  spec: { keepalivedGroup: `group of ${name}`, segment, ...(excludedIPs && { excludedIPs }) },
});
const MAPPINGS = [mapping('b', '1.1.2.0/29', ['1.1.2.0', '1.1.2.7']), mapping('a', '1.1.1.0/30', []), mapping('bad', 'banana', [])];
const taken = (...addresses: readonly string[]): ReadonlySet<Address> => new Set(addresses as readonly Address[]);

describe('IPGroups for GroupSegmentMappings', () => {
  test('bear name, segment and exclusions, in the order of their names, whatever the order of the mappings', () => {
    const groups = [
      { apiVersion: 'paas.org/v1', kind: 'IPGroup', metadata: { name: 'a' }, spec: { segment: '1.1.1.0/30', excludedIPs: [] } },
      {
        apiVersion: 'paas.org/v1',
        kind: 'IPGroup',
        metadata: { name: 'b' },
        spec: { segment: '1.1.2.0/29', excludedIPs: ['1.1.2.0', '1.1.2.7'] },
      },
    ];
    const expected = { groups, problems: ['bad is left out: invalid CIDR address: banana'] };
    expect(ipGroupsOf(MAPPINGS)).toEqual(expected);
    expect(ipGroupsOf(MAPPINGS.toReversed())).toEqual(expected);
  });

  test('have an empty list of exclusions where the oldest mappings have none', () => {
    expect(ipGroupsOf([mapping('old', '1.1.1.0/30')])).toMatchObject({ groups: [{ spec: { excludedIPs: [] } }], problems: [] });
  });

  test.each([
    ['a'.repeat(64), { segment: '1.1.1.0/30', excludedIPs: [] }, 'the name has 64 characters'],
    ['x', undefined, 'no spec'],
    ['x', { segment: '1.1.1.0/30', excludedIPs: ['nonsense'] }, 'excludedIPs[0]'],
    ['x', { segment: '0.0.0.0/0', excludedIPs: [] }, 'every address there is'],
  ])('are not made of %s with %j', (name, spec, why) => {
    const { groups, problems } = ipGroupsOf([{ name, spec }]);
    expect([groups, problems.length]).toEqual([[], 1]);
    expect(problems[0]).toContain(why);
  });
});

describe('the group of an address', () => {
  const groups = [mapping('second', '1.1.0.0/16'), mapping('first', '1.1.2.0/24', ['1.1.2.9'])];
  test('is the first by name whose segment has it, excluded or not', () => {
    expect(groupContaining(groups, '1.1.2.9' as Address)).toBe('first');
    expect(groupContaining(groups.toReversed(), '1.1.2.9' as Address)).toBe('first');
    expect(groupContaining(groups, '1.1.3.9' as Address)).toBe('second');
  });

  test('is none where no valid one has it', () => expect(groupContaining([mapping('bad', '1.1.1.0')], '1.1.1.0' as Address)).toBeNull());
});

describe('an address for a VirtualIP', () => {
  test('is the lowest that is free, mappings by name', () => {
    const free = [...freeAddresses(MAPPINGS, taken('1.1.1.0', '1.1.1.2', '1.1.2.3'))].map(({ gsm, address }) => `${gsm} ${address}`);
    expect(free).toEqual(['a 1.1.1.1', 'a 1.1.1.3', 'b 1.1.2.1', 'b 1.1.2.2', 'b 1.1.2.4', 'b 1.1.2.5', 'b 1.1.2.6']);
  });

  test('is found at once in a segment without end', () => {
    const [first] = freeAddresses([mapping('large', '2001:db8::/32', [])], taken('2001:db8::'));
    expect(first).toEqual({ address: '2001:db8::1', gsm: 'large' });
  });

  test.each([
    ['1.1.2.4', { address: '1.1.2.4', gsm: 'b' }],
    ['1.1.2.3', { refused: 'failed to allocate specific ip: the requested ip is not available' }],
    ['1.1.2.7', { refused: 'failed to allocate specific ip: the requested ip is not available' }],
    ['1.1.9.9', { refused: 'failed to allocate specific ip: GroupSegmentMapping not found for the requested ip' }],
    ['1.1.2', { refused: 'failed to allocate specific ip: the requested ip could not be parsed' }],
  ])('that asks for %s is answered %j', (requested, answer) => {
    expect(requestedAddress(MAPPINGS, taken('1.1.2.3'), requested)).toEqual(answer);
  });

  test('says which KeepalivedGroup has it', () => {
    expect([keepalivedGroupOf(MAPPINGS, 'a'), keepalivedGroupOf(MAPPINGS, 'gone')]).toEqual(['group of a', '']);
  });
});
