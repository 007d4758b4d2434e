import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { familyOf, parseAddress } from '../../../machines/model/address.ts';

describe('an address', () => {
  test.each([
    ['203.0.113.7', '203.0.113.7'],
    ['0.0.0.0', '0.0.0.0'],
    ['255.255.255.255', '255.255.255.255'],
    ['2001:db8::1', '2001:db8::1'],
    ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
    ['2001:0db8::0001', '2001:db8::1'],
    ['::', '::'],
    ['::1', '::1'],
    ['1:0:0:2:0:0:0:3', '1:0:0:2::3'],
  ])('%s is read as %s', (text, address) => expect(parseAddress(text)).toBe(address));

  test.each([
    '',
    ' ',
    '999.1.1.1',
    '256.1.1.1',
    '1.2.3',
    '1.2.3.4.5',
    'x1.2.3.4',
    '1.2.3.4 ',
    ' 1.2.3.4',
    '1.2.3.4/32',
    '1.2.3.4:80',
    '1.2.3.-4',
    '0x1.2.3.4',
    '010.1.1.1',
    '1.2.3.04',
    '16909060',
    '1',
    '2001:db8::1%eth0',
    '2001:db8::1/64',
    '[2001:db8::1]',
    '2001:db8::1::2',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '12345::',
    'localhost',
    '१.2.3.4',
  ])('%j is none', (text) => expect(parseAddress(text)).toBeNull());

  test('has a family', () => {
    const families = ['203.0.113.7', '2001:db8::1'].map((text) => {
      const address = parseAddress(text);
      return address && familyOf(address);
    });
    expect(families).toEqual([4, 6]);
  });

  test('reads the same when it is read again, in any spelling of IPv6', () => {
    const group = fc.integer({ min: 0, max: 0xffff });
    fc.assert(
      fc.property(fc.array(group, { minLength: 8, maxLength: 8 }), fc.boolean(), (groups, long) => {
        const text = groups.map((each) => each.toString(16).padStart(long ? 4 : 1, '0')).join(':');
        const address = parseAddress(text);
        expect(address).not.toBeNull();
        expect(parseAddress(String(address))).toBe(address);
        expect(parseAddress(text.toUpperCase())).toBe(address);
      }),
    );
  });

  test('is four decimal bytes as they stand, or nothing', () => {
    const part = fc.oneof(fc.integer({ min: 0, max: 300 }).map(String), fc.constantFrom('', '00', '01', '-1', '1e1', '0x1', ' 1'));
    const isByte = (text: string) => /^(0|[1-9]\d{0,2})$/.test(text) && Number(text) <= 255;
    fc.assert(
      fc.property(fc.array(part, { minLength: 3, maxLength: 5 }), (parts) => {
        const text = parts.join('.');
        expect(parseAddress(text)).toBe(parts.length === 4 && parts.every(isByte) ? text : null);
      }),
      { numRuns: 500 },
    );
  });
});
