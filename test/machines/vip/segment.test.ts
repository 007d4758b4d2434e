import { describe, expect, test } from 'vitest';
import { parseAddress } from '../../../machines/model/address.ts';
import type { Address } from '../../../machines/model/types.ts';
import {
  addressOf,
  gives,
  type InvalidGroup,
  isSameGroup,
  located,
  numberOf,
  overlap,
  type ParsedGroup,
  parseGroup,
  usable,
} from '../../../machines/vip/ip-group.ts';

const parsed = (segment: unknown, excludedIPs: unknown = [], name = 'group'): ParsedGroup => {
  const group = parseGroup(name, { segment, excludedIPs });
  if (group.kind === 'Invalid') throw new Error(group.message);
  return group;
};
const refused = (spec: unknown, name = 'group'): InvalidGroup => {
  const group = parseGroup(name, spec);
  if (group.kind === 'Valid') throw new Error(`${group.segment} was accepted`);
  return group;
};
/** As `1.1.1.1-1.1.1.4 1.1.1.6`. */
const rangesOf = (group: ParsedGroup): string =>
  usable(group)
    .map(({ first, last }) => [...new Set([first, last])].map((number) => addressOf(number, group.family)).join('-'))
    .join(' ');

describe('the segment of an IPGroup', () => {
  test('has its host bits masked: 1.1.1.5/29 is 1.1.1.0/29', () => {
    expect(parsed('1.1.1.5/29')).toEqual(parsed('1.1.1.0/29'));
    expect(parsed('1.1.1.5/29')).toMatchObject({ segment: '1.1.1.0/29', family: 4, capacity: 8n });
    expect(parsed('2001:DB8:0::5/64').segment).toBe('2001:db8::/64');
  });

  test.each([
    ['1.1.1.1/32', '1.1.1.1', 1n],
    ['1.1.1.1/31', '1.1.1.0-1.1.1.1', 2n],
    ['2001:db8::1/128', '2001:db8::1', 1n],
    ['2001:db8::1/127', '2001:db8::-2001:db8::1', 2n],
  ])('%s has all its addresses usable', (segment, ranges, capacity) => {
    expect(rangesOf(parsed(segment))).toBe(ranges);
    expect(parsed(segment).capacity).toBe(capacity);
  });

  test('has its first and its last address usable when nothing is excluded', () => {
    expect(rangesOf(parsed('1.1.1.0/29'))).toBe('1.1.1.0-1.1.1.7');
  });

  test('ends at 255.255.255.255 and does not wrap around', () => {
    expect(rangesOf(parsed('255.255.255.0/24'))).toBe('255.255.255.0-255.255.255.255');
    expect(rangesOf(parsed('255.255.255.0/24', ['255.255.255.255']))).toBe('255.255.255.0-255.255.255.254');
    expect(rangesOf(parsed('ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127'))).toBe(
      'ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
    );
  });

  test.each([
    'banana',
    '',
    '1.1.1.0',
    '1.1.1.0/33',
    '1.1.1.0/',
    '1.1.1.0/-1',
    '1.1.1.0/+8',
    '1.1.1.0/08',
    '1.1.1.0/8.0',
    '1.1.1.0/24/24',
    ' 1.1.1.0/24',
    '1.1.1.0/24 ',
    '1.1.1.0/24\n',
    '1.1.01.0/24',
    '1.1.1/24',
    '/24',
    '2001:db8::/129',
    '2001:db8::%eth0/64',
    '2001:db8/32',
  ])('"%s" makes the group Invalid, with the text that scripts know', (segment) => {
    expect(refused({ segment, excludedIPs: [] })).toEqual({
      kind: 'Invalid',
      name: 'group',
      reason: 'InvalidSegment',
      message: `invalid CIDR address: ${segment}`,
    });
  });

  test.each(['0.0.0.0/0', '10.0.0.0/0', '::/0'])('%s is refused', (segment) => {
    expect(refused({ segment, excludedIPs: [] })).toMatchObject({ reason: 'InvalidSegment', message: expect.stringContaining(segment) });
  });

  test.each([
    ['10.0.0.0/8', 2n ** 24n],
    ['0.0.0.0/1', 2n ** 31n],
    ['2001:db8::/64', 2n ** 64n],
    ['8000::/1', 2n ** 127n],
  ])('%s costs as little memory as a single address', (segment, capacity) => {
    const group = parsed(segment);
    expect(group.capacity).toBe(capacity);
    expect(usable(group)).toHaveLength(1);
    expect(Object.values(group).filter((value) => typeof value === 'object')).toEqual([[]]);
  });
});

describe('an IPGroup', () => {
  test.each([
    ['no spec', undefined],
    ['a spec that is null', null],
    ['a spec that is a text', '1.1.1.0/24'],
    ['a spec that is a list', ['1.1.1.0/24']],
    ['an empty spec', {}],
    ['a segment that is a number', { segment: 11, excludedIPs: [] }],
  ])('with %s is Invalid', (_, spec) => {
    expect(refused(spec)).toMatchObject({ kind: 'Invalid', reason: 'InvalidSegment', message: expect.stringContaining('192.0.2.0/24') });
  });

  test.each([
    ['no', undefined],
    ['null for', null],
    ['a text for', '1.1.1.1'],
  ])('with %s excludedIPs is Invalid: an address that must not be given might be given', (_, excludedIPs) => {
    expect(refused({ segment: '1.1.1.0/29', excludedIPs })).toMatchObject({ reason: 'InvalidExcludedIPs' });
  });

  test('with a name of more than 63 characters is Invalid, since no label can hold it', () => {
    expect(parsed('1.1.1.0/29', [], 'x'.repeat(63)).name).toHaveLength(63);
    expect(refused({ segment: '1.1.1.0/29', excludedIPs: [] }, 'x'.repeat(64))).toMatchObject({
      reason: 'InvalidName',
      message: expect.stringContaining('63'),
    });
  });

  test('is the same as another when both have the same addresses to give', () => {
    expect(isSameGroup(parsed('1.1.1.1/29', ['1.1.1.0', '1.1.1.1']), parsed('1.1.1.0/29', ['1.1.1.0/31']))).toBe(true);
    expect(isSameGroup(parsed('1.1.1.0/29'), parsed('1.1.1.0/28'))).toBe(false);
    expect(isSameGroup(parsed('1.1.1.0/29', ['1.1.1.0']), parsed('1.1.1.0/29', ['1.1.1.1']))).toBe(false);
    expect(isSameGroup(parsed('1.1.1.0/29', ['1.1.1.0-1.1.1.2']), parsed('1.1.1.0/29', ['1.1.1.0-1.1.1.3']))).toBe(false);
    expect(isSameGroup(parsed('1.1.1.0/29'), parsed('1.1.1.0/29', [], 'other'))).toBe(false);
    expect(isSameGroup(refused({}), refused({}))).toBe(true);
    expect(isSameGroup(refused({}), parsed('1.1.1.0/29'))).toBe(false);
    expect(isSameGroup(refused({}), refused(undefined))).toBe(false);
  });

  test.each([
    ['10.0.0.0/8', '10.1.0.0/16', true],
    ['10.1.0.0/16', '10.0.0.0/8', true],
    ['1.1.1.0/29', '1.1.1.0/29', true],
    ['1.1.1.0/29', '1.1.1.8/29', false],
    ['1.1.1.7/32', '1.1.1.0/29', true],
    ['0.0.0.0/1', '::/1', false],
  ])('with %s and one with %s overlap: %s', (a, b, expected) => expect(overlap(parsed(a), parsed(b))).toBe(expected));
});

describe('excludedIPs', () => {
  test.each([
    ['addresses', ['1.1.1.0', '1.1.1.2', '1.1.1.7'], '1.1.1.1 1.1.1.3-1.1.1.6'],
    ['CIDRs, host bits masked', ['1.1.1.1/31', '1.1.1.4/30'], '1.1.1.2-1.1.1.3'],
    ['ranges', ['1.1.1.2-1.1.1.5'], '1.1.1.0-1.1.1.1 1.1.1.6-1.1.1.7'],
    ['a range of one', ['1.1.1.2-1.1.1.2'], '1.1.1.0-1.1.1.1 1.1.1.3-1.1.1.7'],
    ['all three', ['1.1.1.0', '1.1.1.1-1.1.1.2', '1.1.1.6/31'], '1.1.1.3-1.1.1.5'],
    ['entries in any order', ['1.1.1.6/31', '1.1.1.0', '1.1.1.1-1.1.1.2'], '1.1.1.3-1.1.1.5'],
  ])('takes %s', (_, excluded, ranges) => expect(rangesOf(parsed('1.1.1.0/29', excluded))).toBe(ranges));

  test.each([
    ['outside of the segment', ['1.1.0.255', '1.1.1.8', '9.9.9.0/24', '2001:db8::1', '::/0']],
    ['said twice', []],
  ])('ignores entries %s', (_, more) => {
    const excluded = ['1.1.1.0', '1.1.1.0', '1.1.1.0/32', ...more];
    expect(parsed('1.1.1.0/29', excluded)).toEqual(parsed('1.1.1.0/29', ['1.1.1.0']));
    expect(parsed('1.1.1.0/29', excluded).capacity).toBe(7n);
  });

  test('takes what reaches over the ends of the segment as far as it is within', () => {
    expect(rangesOf(parsed('1.1.1.8/29', ['1.1.1.0-1.1.1.9', '1.1.1.15-1.1.1.200']))).toBe('1.1.1.10-1.1.1.14');
  });

  test('merges what overlaps or touches, a shorter range within a longer one too', () => {
    const group = parsed('1.1.1.0/28', ['1.1.1.1-1.1.1.9', '1.1.1.3-1.1.1.4', '1.1.1.10', '1.1.1.12']);
    expect(group.excluded).toHaveLength(2);
    expect(rangesOf(group)).toBe('1.1.1.0 1.1.1.11 1.1.1.13-1.1.1.15');
  });

  test.each([['1.1.1.0/29'], ['1.1.1.0-1.1.1.7'], ['0.0.0.0/0']])('of everything (%s) leave a group of capacity 0', (entry) => {
    const group = parsed('1.1.1.0/29', [entry]);
    expect(group.capacity).toBe(0n);
    expect(usable(group)).toEqual([]);
  });

  test.each([
    '1.1.1.01',
    ' 1.1.1.1',
    '1.1.1.1 ',
    '',
    '-',
    '1.1.1.1-',
    '-1.1.1.1',
    '1.1.1.1 - 1.1.1.2',
    '1.1.1.2-1.1.1.1',
    '1.1.1.1-1.1.1.2-1.1.1.3',
    '1.1.1.1-::1',
    '1.1.1.1-5',
    '1.1.1.0/33',
    '1.1.1.0/30-1.1.1.7',
    'banana',
    7,
    null,
  ])('with the entry %j make the group Invalid, and it is told which entry and what is allowed', (entry) => {
    const group = refused({ segment: '1.1.1.0/29', excludedIPs: ['1.1.1.0', entry] });
    expect(group.reason).toBe('InvalidExcludedIPs');
    expect(group.message).toContain(`spec.excludedIPs[1] is ${JSON.stringify(entry)}`);
    expect(group.message).toMatch(/an address, a CIDR or a range/);
  });

  test('make no large segment costly, and are found among many', () => {
    const excluded = Array.from({ length: 500 }, (_, index) => `10.0.${index % 250}.${index < 250 ? 1 : 3}`);
    const group = parsed('10.0.0.0/8', excluded);
    expect(group.capacity).toBe(2n ** 24n - 500n);
    for (const entry of excluded) expect(gives(group, located(entry as Address))).toBe(false);
    for (const free of ['10.0.0.0', '10.0.0.2', '10.0.249.2', '10.255.255.255']) expect(gives(group, located(free as Address))).toBe(true);
    for (const outside of ['9.255.255.255', '11.0.0.0', '::a00:0']) expect(gives(group, located(outside as Address))).toBe(false);
  });
});

test.each([
  '0.0.0.0',
  '1.2.3.4',
  '255.255.255.255',
  '::',
  '::1',
  '2001:db8::1',
  '::ffff:102:304',
  'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
])('%s is the same address after it was a number', (text) => {
  const address = parseAddress(text);
  if (address === null) throw new Error('it is no address');
  expect(addressOf(numberOf(address), located(address).family)).toBe(address);
});
