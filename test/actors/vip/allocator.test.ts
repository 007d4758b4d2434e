import { describe, expect, test } from 'vitest';
import { allocatorOf, group } from './allocator-facts.ts';

const FULL = 'no IP could be allocated';
const NOT_FOUND = 'failed to allocate specific ip: IPGroup not found for the requested ip';
const TAKEN = 'failed to allocate specific ip: the requested ip is not available';

describe('any address', () => {
  test('is the lowest free one of the first group by name', () => {
    const { ask, of } = allocatorOf(group('b', '1.1.2.0/30'), group('a', '1.1.3.0/31'));
    for (const key of ['1', '2', '3']) ask(key);
    expect(['1', '2', '3'].map(of)).toEqual(['1.1.3.0 of a', '1.1.3.1 of a', '1.1.2.0 of b']);
  });

  test('is never an excluded one; the first and the last of the segment are handed out like others', () => {
    const { ask, of } = allocatorOf(group('ipgroup-1', '1.1.1.0/29', ['1.1.1.0', '1.1.1.2', '1.1.1.7']), group('last', '2.2.2.2/31'));
    const keys = ['1', '2', '3', '4', '5', '6', '7', '8'];
    for (const key of keys) ask(key);
    expect(keys.map((key) => of(key)?.split(' ')[0])).toEqual([
      '1.1.1.1',
      '1.1.1.3',
      '1.1.1.4',
      '1.1.1.5',
      '1.1.1.6',
      '2.2.2.2',
      '2.2.2.3',
      'no',
    ]);
  });

  test('is refused while there is no IPGroup at all', () => {
    const { ask, of, reason } = allocatorOf();
    ask('a');
    expect(of('a')).toBe(FULL);
    expect(reason('a')).toBe('PoolExhausted');
  });

  test('is the next one when an IP object of nobody stands', () => {
    const { ask, of, take } = allocatorOf(group('a', '1.1.1.0/29'));
    take('1.1.1.0', null);
    ask('x');
    expect(of('x')).toBe('1.1.1.1 of a');
  });

  test('comes from the next group when all addresses of one are excluded', () => {
    const { ask, of, allocator } = allocatorOf(group('a', '1.1.1.0/29', ['1.1.1.0/29']), group('b', '1.1.2.0/29'));
    ask('x');
    expect(of('x')).toBe('1.1.2.0 of b');
    expect(allocator.figures('a')).toEqual({ capacity: 0n, allocated: 0n, available: 0n });
  });

  test.each(['banana', '', '1.1.1.0', '1.1.1.0/33'])('comes from the other groups when the segment of one is "%s"', (segment) => {
    const { ask, of, allocator } = allocatorOf(group('a', segment), group('b', '1.1.2.0/29'));
    ask('x');
    expect(of('x')).toBe('1.1.2.0 of b');
    expect(allocator.figures('a')).toBeNull();
  });

  test('comes from the other groups when the name of one is too long for a label', () => {
    const { ask, of } = allocatorOf(group('a'.repeat(64), '1.1.1.0/29'), group('b', '1.1.2.0/29'));
    ask('x');
    expect(of('x')).toBe('1.1.2.0 of b');
  });

  test('is of the family of the Service, or of any where that is unknown', () => {
    const { ask, of } = allocatorOf(group('a', '2001:db8::/127'), group('b', '1.1.1.0/30'));
    ask('four', { family: 4 });
    ask('six', { family: 6 });
    ask('either');
    ask('full', { family: 6 });
    expect(['four', 'six', 'either', 'full'].map(of)).toEqual(['1.1.1.0 of b', '2001:db8:: of a', '2001:db8::1 of a', FULL]);
  });

  test.each(['10.0.0.0/8', '2001:db8::/64'])('of %s is found at once: nothing is made for each address', (segment) => {
    const { ask, of, allocator } = allocatorOf(group('a', segment, [segment.replace(/\/.*/, '')]));
    ask('x');
    expect(of('x')).toBe(`${segment.startsWith('10') ? '10.0.0.1' : '2001:db8::1'} of a`);
    expect(allocator.figures('a')?.available).toBe((segment.startsWith('10') ? 2n ** 24n : 2n ** 64n) - 2n);
  });

  test('of 255.255.255.254/31 ends with the last address there is', () => {
    const { ask, of } = allocatorOf(group('a', '255.255.255.254/31'));
    for (const key of ['1', '2', '3']) ask(key);
    expect(['1', '2', '3'].map(of)).toEqual(['255.255.255.254 of a', '255.255.255.255 of a', FULL]);
  });
});

describe('one address', () => {
  test('is offered to the Service that asks for it', () => {
    const { ask, of } = allocatorOf(group('a', '1.1.1.0/29'), group('b', '1.1.2.0/29'));
    ask('x', { address: '1.1.2.4' });
    expect(of('x')).toBe('1.1.2.4 of b');
  });

  test('that is excluded is not available', () => {
    const { ask, of, reason } = allocatorOf(group('ipgroup-2', '1.1.2.0/29', ['1.1.2.1']));
    ask('x', { address: '1.1.2.1' });
    expect(of('x')).toBe(TAKEN);
    expect(reason('x')).toBe('RequestedIPUnavailable');
  });

  test.each(['1.1.2.40', '::1'])('of no group (%s) is not found', (address) => {
    const { ask, of, reason } = allocatorOf(group('ipgroup-2', '1.1.2.0/29'), group('bad', 'banana'));
    ask('x', { address });
    expect(of('x')).toBe(NOT_FOUND);
    expect(reason('x')).toBe('AllocationFailed');
  });

  test('of a second family is offered too, since a Service may have two', () => {
    const { ask, of } = allocatorOf(group('a', '2001:db8::/64'));
    ask('x', { address: '2001:db8::7', family: 4 });
    expect(of('x')).toBe('2001:db8::7 of a');
  });

  test('that two ask for goes to the older, and to the younger when that one goes; no other address is ever offered', () => {
    const { ask, of, allocator, reserve, give } = allocatorOf(group('a', '1.1.2.0/29'));
    ask('old', { address: '1.1.2.6' });
    ask('young', { address: '1.1.2.6' });
    expect(of('old')).toBe('1.1.2.6 of a');
    expect(of('young')).toBe(TAKEN);
    reserve('old');
    expect(of('young')).toBe(TAKEN);
    allocator.withdraw('old');
    expect(of('young')).toBe(TAKEN);
    give('1.1.2.6');
    expect(of('young')).toBe('1.1.2.6 of a');
  });

  test('that is owned through an overlapping group is not available, and none is offered instead, however often it is looked at', () => {
    const { ask, of, take, allocator } = allocatorOf(group('a', '1.1.0.0/16'), group('b', '1.1.1.0/24'));
    take('1.1.1.5', 'other', 'a');
    ask('x', { address: '1.1.1.5', group: 'b' });
    ask('y', { address: '1.1.1.5' });
    expect(allocator.changed()).toEqual(['x', 'y']);
    for (let look = 0; look < 3; look++) {
      expect([of('x'), of('y')]).toEqual([TAKEN, TAKEN]);
      expect(allocator.changed()).toEqual([]);
    }
  });

  test('in two groups is of the first by name, even where only the second does not exclude it', () => {
    const { ask, of, allocator } = allocatorOf(group('b', '1.1.1.0/24'), group('a', '1.1.0.0/16', ['1.1.1.9']));
    ask('x', { address: '1.1.1.5' });
    ask('y', { address: '1.1.1.9' });
    ask('z', { address: '1.1.1.9', group: 'b' });
    expect([of('x'), of('y'), of('z')]).toEqual(['1.1.1.5 of a', TAKEN, '1.1.1.9 of b']);
    allocator.withdraw('z');
    allocator.removeGroup('a');
    expect(of('y')).toBe('1.1.1.9 of b');
  });
});

describe('a request that is pinned to a group', () => {
  test('is served from that group only, and waits while it is full', () => {
    const { ask, of, reason, take, give } = allocatorOf(group('a', '1.1.1.0/29'), group('b', '1.1.2.0/32'));
    take('1.1.2.0', 'other');
    ask('x', { group: 'b' });
    expect(of('x')).toBe(FULL);
    expect(reason('x')).toBe('PoolExhausted');
    give('1.1.2.0');
    expect(of('x')).toBe('1.1.2.0 of b');
  });

  test('is told that the group does not exist, or is Invalid, or of the other family, and is served when that is mended', () => {
    const { ask, of, reason, allocator } = allocatorOf();
    ask('x', { group: 'g', family: 4 });
    expect(of('x')).toBe(`${FULL}: there is no IPGroup g`);
    allocator.putGroup(group('g', 'banana'));
    expect(of('x')).toBe(`${FULL}: IPGroup g is Invalid`);
    expect(reason('x')).toBe('AllocationFailed');
    allocator.putGroup(group('g', '2001:db8::/64'));
    expect(of('x')).toBe(`${FULL}: IPGroup g is of IPv6, the Service of IPv4`);
    expect(reason('x')).toBe('ConflictingRequest');
    allocator.putGroup(group('g', '1.1.1.0/29'));
    expect(of('x')).toBe('1.1.1.0 of g');
  });

  test('and asks for an address of another group is refused as conflicting', () => {
    const { ask, of, reason, allocator } = allocatorOf(group('a', '1.1.1.0/29'), group('b', '1.1.2.0/29'));
    ask('x', { group: 'a', address: '1.1.2.4' });
    expect(of('x')).toContain('1.1.2.4 is not of IPGroup a');
    expect(reason('x')).toBe('ConflictingRequest');
    allocator.removeGroup('a');
    expect(of('x')).toBe(NOT_FOUND);
  });

  test('does not keep those behind it from an address of another group', () => {
    const { ask, of } = allocatorOf(group('a', '1.1.1.0/32'), group('b', '1.1.2.0/29'));
    for (const key of ['1', '2', '3']) ask(key, { group: 'a' });
    ask('any');
    ask('pinned to b', { group: 'b' });
    expect(['1', '2', '3', 'any', 'pinned to b'].map(of)).toEqual(['1.1.1.0 of a', FULL, FULL, '1.1.2.0 of b', '1.1.2.1 of b']);
  });
});

describe('what becomes free', () => {
  test('goes to the oldest who waits: an address that is given back', () => {
    const { ask, of, take, give } = allocatorOf(group('a', '1.1.1.0/32'));
    take('1.1.1.0', 'other');
    ask('young', { since: 20 });
    ask('old', { since: 10 });
    ask('as old', { since: 10, address: '1.1.1.0' });
    expect(of('old')).toBe(FULL);
    give('1.1.1.0');
    expect([of('as old'), of('old'), of('young')]).toEqual(['1.1.1.0 of a', FULL, FULL]);
  });

  test('goes to the oldest who waits: an offer whose request is withdrawn', () => {
    const { ask, of, allocator } = allocatorOf(group('a', '1.1.1.0/32'));
    for (const key of ['1', '2', '3']) ask(key);
    expect(of('1')).toBe('1.1.1.0 of a');
    allocator.withdraw('1');
    expect([of('1'), of('2'), of('3')]).toEqual([null, '1.1.1.0 of a', FULL]);
  });

  test('goes to the oldest who waits: an offer whose Service asks for something else', () => {
    const { ask, of } = allocatorOf(group('a', '1.1.1.0/32'));
    ask('1');
    ask('2');
    expect(of('1')).toBe('1.1.1.0 of a');
    ask('1', { address: '9.9.9.9' });
    expect([of('1'), of('2')]).toEqual([NOT_FOUND, '1.1.1.0 of a']);
  });

  test('goes to the oldest who wait: a group that is added, or made larger, while all were full', () => {
    const { ask, of, allocator } = allocatorOf();
    for (const key of ['1', '2', '3', '4']) ask(key);
    expect(of('1')).toBe(FULL);
    allocator.putGroup(group('a', '1.1.1.0/32'));
    expect(['1', '2', '3', '4'].map(of)).toEqual(['1.1.1.0 of a', FULL, FULL, FULL]);
    allocator.putGroup(group('a', '1.1.1.0/30', ['1.1.1.2']));
    expect(['1', '2', '3', '4'].map(of)).toEqual(['1.1.1.0 of a', '1.1.1.1 of a', '1.1.1.3 of a', FULL]);
    allocator.putGroup(group('a', '1.1.1.0/30'));
    expect(of('4')).toBe('1.1.1.2 of a');
  });

  test('is given to one of two Services that were made at once, and the other is told why not', () => {
    const { ask, of, allocator } = allocatorOf(group('a', '1.1.1.0/32'));
    ask('b', { since: 5 });
    ask('a', { since: 5 });
    expect([of('a'), of('b')]).toEqual(['1.1.1.0 of a', FULL]);
    expect(allocator.changed()).toEqual(['a', 'b']);
  });

  test('wakes those who had been told that no group has their address', () => {
    const { ask, of, allocator } = allocatorOf();
    ask('x', { address: '1.1.1.5' });
    expect(of('x')).toBe(NOT_FOUND);
    allocator.putGroup(group('a', '1.1.1.0/24', ['1.1.1.5']));
    expect(of('x')).toBe(TAKEN);
    allocator.putGroup(group('a', '1.1.1.0/24'));
    expect(of('x')).toBe('1.1.1.5 of a');
  });
});

test('the example groups serve the example Services, the specific ones first, and are full with eleven', () => {
  const { ask, of, reserve } = allocatorOf(
    group('ipgroup-1', '1.1.1.0/29', ['1.1.1.0', '1.1.1.2', '1.1.1.7']),
    group('ipgroup-2', '1.1.2.0/29', ['1.1.2.0', '1.1.2.1', '1.1.2.5', '1.1.2.7']),
    group('ipgroup-3', '1.1.3.0/29', ['1.1.3.0', '1.1.3.1', '1.1.3.2', '1.1.3.5', '1.1.3.6', '1.1.3.7']),
  );
  const specific = {
    'specific-ip': '1.1.2.4',
    reserved: '1.1.2.6',
    'reserved-too': '1.1.2.6',
    excluded: '1.1.2.1',
    'no-group': '1.1.2.40',
  };
  for (const [key, address] of Object.entries(specific)) ask(key, { address });
  expect(Object.keys(specific).map(of)).toEqual(['1.1.2.4 of ipgroup-2', '1.1.2.6 of ipgroup-2', TAKEN, TAKEN, NOT_FOUND]);
  const any = Array.from({ length: 9 }, (_, index) => `any-${index}`);
  for (const key of [...any, 'no-available-ip']) ask(key);
  expect([...any, 'specific-ip', 'reserved'].map(reserve)).toEqual([
    ...['1.1.1.1', '1.1.1.3', '1.1.1.4', '1.1.1.5', '1.1.1.6', '1.1.2.2', '1.1.2.3', '1.1.3.3', '1.1.3.4'],
    ...['1.1.2.4', '1.1.2.6'],
  ]);
  expect(of('no-available-ip')).toBe(FULL);
});
