import { describe, expect, test } from 'vitest';
import { allocatorOf, group } from './allocator-facts.ts';

const FULL = 'no IP could be allocated';
const TAKEN = 'failed to allocate specific ip: the requested ip is not available';

describe('an offer', () => {
  test('stays when its IP object appears with the same owner', () => {
    const { ask, of, reserve, allocator } = allocatorOf(group('a', '1.1.1.0/29'));
    ask('x');
    expect(allocator.changed()).toEqual(['x']);
    reserve('x');
    expect(of('x')).toBe('1.1.1.0 of a');
    expect(allocator.changed()).toEqual([]);
  });

  test('is void when the IP object appears with another owner; the request is served again in its old place', () => {
    const { ask, of, take, allocator } = allocatorOf(group('a', '1.1.1.0/31'));
    for (const key of ['1', '2', '3']) ask(key);
    expect(allocator.changed()).toEqual(['1', '2', '3']);
    take('1.1.1.0', 'stranger');
    expect(['1', '2', '3'].map(of)).toEqual([FULL, '1.1.1.1 of a', FULL]);
    expect(allocator.changed()).toEqual(['1']);
    allocator.withdraw('2');
    expect([of('1'), of('3')]).toEqual(['1.1.1.1 of a', FULL]);
  });

  test('is void when the IP object is nobody of ours', () => {
    const { ask, of, take } = allocatorOf(group('a', '1.1.1.0/31'));
    ask('x');
    expect(of('x')).toBe('1.1.1.0 of a');
    take('1.1.1.0', null);
    expect(of('x')).toBe('1.1.1.1 of a');
  });

  test('is void when the IP object passes to another owner', () => {
    const { ask, of, reserve, take } = allocatorOf(group('a', '1.1.1.0/31'));
    ask('x', { address: '1.1.1.0' });
    reserve('x');
    expect(of('x')).toBe('1.1.1.0 of a');
    take('1.1.1.0', 'other', 'a');
    expect(of('x')).toBe(TAKEN);
  });

  test('stays when the IP object of its own goes: it is made again for the same owner, before any older one gets it', () => {
    const { ask, of, reserve, give } = allocatorOf(group('a', '1.1.1.0/32'));
    ask('x', { since: 9 });
    reserve('x');
    ask('older', { since: 1 });
    expect(of('older')).toBe(FULL);
    give('1.1.1.0');
    expect([of('x'), of('older')]).toEqual(['1.1.1.0 of a', FULL]);
  });

  test.each([
    ['is deleted', null],
    ['is shrunk', group('a', '1.1.1.4/30')],
    ['excludes it', group('a', '1.1.1.0/29', ['1.1.1.0'])],
    ['turns Invalid', group('a', 'banana')],
  ])('stays when its group %s; after its release nobody gets it', (_, changed) => {
    const { ask, of, reserve, give, allocator } = allocatorOf(group('a', '1.1.1.0/29'));
    ask('reserved');
    ask('offered');
    reserve('reserved');
    expect(of('offered')).toBe('1.1.1.1 of a');
    allocator.changed();
    if (changed) allocator.putGroup(changed);
    else allocator.removeGroup('a');
    expect([of('reserved'), of('offered')]).toEqual(['1.1.1.0 of a', '1.1.1.1 of a']);
    expect(allocator.changed()).toEqual([]);
    give('1.1.1.0');
    allocator.withdraw('reserved');
    ask('next', { address: '1.1.1.0' });
    expect(of('next')).toMatch(/not available|not found/);
  });

  test('stays when the Service asks again, for the same or for what it has', () => {
    const { ask, of, allocator } = allocatorOf(group('a', '1.1.1.0/29'));
    ask('first', { since: 1 });
    ask('x', { since: 5 });
    expect(of('x')).toBe('1.1.1.1 of a');
    allocator.changed();
    allocator.withdraw('first');
    ask('x', { since: 5 });
    ask('x', { since: 5, address: '1.1.1.1' });
    ask('x', { since: 5, preferred: ['1.1.1.6'] });
    expect(of('x')).toBe('1.1.1.1 of a');
    expect(allocator.changed()).toEqual([]);
  });

  test('goes when the Service asks for another address; that is offered if it is free, and nothing else', () => {
    const { ask, of, take } = allocatorOf(group('a', '1.1.1.0/29'));
    take('1.1.1.3', 'other');
    ask('x');
    ask('y');
    expect([of('x'), of('y')]).toEqual(['1.1.1.0 of a', '1.1.1.1 of a']);
    ask('x', { address: '1.1.1.2' });
    ask('y', { address: '1.1.1.3' });
    ask('z');
    expect([of('x'), of('y'), of('z')]).toEqual(['1.1.1.2 of a', TAKEN, '1.1.1.0 of a']);
  });

  test('goes when the Service is pinned to another group or is of the other family', () => {
    const { ask, of } = allocatorOf(group('a', '1.1.1.0/29'), group('b', '2001:db8::/64'));
    ask('x');
    ask('y');
    expect([of('x'), of('y')]).toEqual(['1.1.1.0 of a', '1.1.1.1 of a']);
    ask('x', { group: 'b' });
    ask('y', { family: 6 });
    expect([of('x'), of('y')]).toEqual(['2001:db8:: of b', '2001:db8::1 of b']);
  });
});

describe('a Service that had an address', () => {
  test('gets it again before an older one that has none, when both are told before anything is read', () => {
    const { ask, of } = allocatorOf(group('a', '1.1.1.0/30'));
    ask('old', { since: 1 });
    ask('had', { since: 9, preferred: ['1.1.1.0'] });
    expect([of('old'), of('had')]).toEqual(['1.1.1.1 of a', '1.1.1.0 of a']);
  });

  test('gets the first of several that is free, of a group that suits it', () => {
    const { ask, of, take } = allocatorOf(group('a', '1.1.1.0/29', ['1.1.1.4']), group('b', '1.1.2.0/29'));
    take('1.1.1.7', 'other');
    ask('x', { preferred: ['9.9.9.9', '1.1.1.7', '1.1.1.4', '1.1.2.5', '1.1.1.6'] });
    ask('y', { preferred: ['1.1.1.2', '1.1.2.6'], group: 'b' });
    ask('z', { preferred: ['1.1.1.2'], family: 6 });
    ask('another', { preferred: ['1.1.1.2'] });
    expect(['x', 'y', 'z', 'another'].map(of)).toEqual(['1.1.2.5 of b', '1.1.2.6 of b', FULL, '1.1.1.2 of a']);
  });

  test('gets what it asks for, and not what it had', () => {
    const { ask, of } = allocatorOf(group('a', '1.1.1.0/29'));
    ask('old', { address: '1.1.1.3', since: 1 });
    ask('same', { address: '1.1.1.3', preferred: ['1.1.1.3'], since: 2 });
    ask('x', { address: '1.1.1.5', preferred: ['1.1.1.4'], since: 3 });
    expect([of('old'), of('same'), of('x')]).toEqual([TAKEN, '1.1.1.3 of a', '1.1.1.5 of a']);
  });

  test('does not get what is another Service’s, though its ingress lists it', () => {
    const { ask, of, reserve } = allocatorOf(group('a', '1.1.1.0/30'));
    ask('owner', { address: '1.1.1.2' });
    reserve('owner');
    ask('thief', { preferred: ['1.1.1.2'], since: 0 });
    expect([of('owner'), of('thief')]).toEqual(['1.1.1.2 of a', '1.1.1.0 of a']);
  });

  test('gets it when it becomes free, or a group has it, and older ones wait', () => {
    const { ask, of, take, give, allocator } = allocatorOf(group('a', '1.1.1.0/32'));
    take('1.1.1.0', 'other');
    ask('old', { since: 1 });
    ask('had', { since: 9, preferred: ['1.1.1.0'] });
    ask('had another', { since: 8, preferred: ['1.1.2.1'] });
    expect(of('had')).toBe(FULL);
    give('1.1.1.0');
    expect([of('old'), of('had'), of('had another')]).toEqual([FULL, '1.1.1.0 of a', FULL]);
    allocator.putGroup(group('b', '1.1.2.0/31'));
    expect([of('old'), of('had another')]).toEqual(['1.1.2.0 of b', '1.1.2.1 of b']);
  });
});

describe('a Service that owns an IP object', () => {
  test('has that address again after a restart, and takes no second one', () => {
    const { ask, of, take, allocator } = allocatorOf(group('a', '1.1.1.0/29'));
    ask('x');
    take('1.1.1.5', 'x', 'a');
    expect(of('x')).toBe('1.1.1.5 of a');
    expect(allocator.figures('a')).toEqual({ capacity: 8n, allocated: 1n, available: 7n });
  });

  test('gives up an offer that it has not reserved for it; the oldest who waits gets that', () => {
    const { ask, of, take } = allocatorOf(group('a', '1.1.1.0/32'));
    ask('x');
    ask('y');
    expect([of('x'), of('y')]).toEqual(['1.1.1.0 of a', FULL]);
    take('9.9.9.9', 'x', 'gone');
    expect([of('x'), of('y')]).toEqual(['9.9.9.9 of gone', '1.1.1.0 of a']);
  });

  test('of several has the one that its ingress lists, else the lowest', () => {
    const { ask, of, take } = allocatorOf(group('a', '1.1.1.0/29'));
    for (const address of ['1.1.1.6', '1.1.1.2', '1.1.1.4']) {
      take(address, 'x', 'a');
      take(address.replace('1.1.1', '1.1.2'), 'y', 'a');
    }
    ask('x', { preferred: ['1.1.1.0', '1.1.1.4', '1.1.1.6'] });
    ask('y');
    expect([of('x'), of('y')]).toEqual(['1.1.1.4 of a', '1.1.2.2 of a']);
  });

  test('is offered another one when it asks for that, or is pinned to another group, and keeps the first until that is given back', () => {
    const { ask, of, take, give, allocator } = allocatorOf(group('a', '1.1.1.0/31'), group('b', '1.1.2.0/31'));
    take('1.1.1.0', 'x', 'a');
    take('1.1.1.1', 'y', 'a');
    ask('x', { address: '1.1.2.1' });
    ask('y', { group: 'b' });
    ask('z', { address: '1.1.1.0' });
    expect([of('x'), of('y'), of('z')]).toEqual(['1.1.2.1 of b', '1.1.2.0 of b', TAKEN]);
    expect(allocator.figures('b')).toEqual({ capacity: 2n, allocated: 0n, available: 0n });
    give('1.1.1.0');
    expect(of('z')).toBe('1.1.1.0 of a');
  });

  test('keeps it under the name of the group that it was taken from, though that is gone or does not have it any more', () => {
    const { ask, of, take } = allocatorOf(group('a', '1.1.1.0/29'), group('b', '1.1.1.0/28'));
    take('1.1.1.9', 'shrunk', 'a');
    take('2.2.2.2', 'gone', 'was');
    take('1.1.1.3', 'second', 'b');
    take('1.1.1.4', 'pinned', 'a');
    take('1.1.1.10', 'pinned to what shrank', 'a');
    take('3.3.3.3', 'without a label');
    ask('shrunk');
    ask('gone');
    ask('second');
    ask('pinned', { group: 'b' });
    ask('pinned to what shrank', { group: 'a' });
    ask('without a label');
    expect(['shrunk', 'gone', 'second', 'pinned', 'pinned to what shrank', 'without a label'].map(of)).toEqual([
      '1.1.1.9 of b',
      '2.2.2.2 of was',
      '1.1.1.3 of b',
      '1.1.1.4 of b',
      '1.1.1.10 of a',
      '1.1.1.0 of a',
    ]);
  });

  test('has another one when it was reserved from another group than it is pinned to, and that does not have it any more', () => {
    const { ask, of, take, allocator } = allocatorOf(group('a', '1.1.1.0/29'), group('b', '1.1.1.4/32'));
    ask('x', { group: 'b' });
    expect(of('x')).toBe('1.1.1.4 of b');
    take('1.1.1.4', 'x', 'a');
    expect(of('x')).toBe('1.1.1.4 of b');
    allocator.putGroup(group('b', '2.2.2.0/32'));
    expect(of('x')).toBe('2.2.2.0 of b');
  });

  test('has it when its group appears later than the object', () => {
    const { ask, of, take, allocator } = allocatorOf(group('b', '2.2.2.0/29'));
    take('1.1.1.3', 'x');
    ask('x');
    expect(of('x')).toBe('2.2.2.0 of b');
    allocator.putGroup(group('a', '1.1.1.0/29'));
    expect(of('x')).toBe('1.1.1.3 of a');
    expect(allocator.figures('b')).toMatchObject({ available: 8n });
  });

  test('of the other family is not served by it', () => {
    const { ask, of, take } = allocatorOf(group('a', '1.1.1.0/29'), group('b', '2001:db8::/64'));
    take('1.1.1.3', 'x', 'a');
    ask('x', { family: 6 });
    expect(of('x')).toBe('2001:db8:: of b');
  });
});

describe('the figures of a group', () => {
  test('count what stands and what is free; an offer is neither', () => {
    const { ask, take, give, allocator, reserve } = allocatorOf(group('a', '1.1.1.0/29', ['1.1.1.7']));
    expect(allocator.figures('a')).toEqual({ capacity: 7n, allocated: 0n, available: 7n });
    take('1.1.1.4', 'other');
    take('1.1.1.4', 'other');
    take('1.1.1.7', 'of before');
    take('9.9.9.9', 'elsewhere');
    ask('x');
    expect(allocator.figures('a')).toEqual({ capacity: 7n, allocated: 1n, available: 5n });
    reserve('x');
    expect(allocator.figures('a')).toEqual({ capacity: 7n, allocated: 2n, available: 5n });
    give('1.1.1.4');
    give('1.1.1.4');
    give('1.1.1.7');
    expect(allocator.figures('a')).toEqual({ capacity: 7n, allocated: 1n, available: 6n });
    expect(allocator.figures('unknown')).toBeNull();
  });

  test('count an address of two groups in both, and an address is given once', () => {
    const { ask, of, allocator, reserve } = allocatorOf(group('a', '1.1.1.0/31'), group('b', '1.1.1.0/30'), group('c', '1.1.3.0/24'));
    for (const key of ['1', '2', '3', '4', '5']) ask(key);
    for (const key of ['1', '2', '3']) reserve(key);
    expect(['1', '2', '3', '4', '5'].map(of)).toEqual(['1.1.1.0 of a', '1.1.1.1 of a', '1.1.1.2 of b', '1.1.1.3 of b', '1.1.3.0 of c']);
    expect(allocator.figures('a')).toEqual({ capacity: 2n, allocated: 2n, available: 0n });
    expect(allocator.figures('b')).toEqual({ capacity: 4n, allocated: 3n, available: 0n });
    expect([...allocator.overlaps()]).toEqual([
      ['a', ['b']],
      ['b', ['a']],
    ]);
  });

  test('name every group that overlaps, sorted, and none that only touches or is Invalid', () => {
    const { allocator } = allocatorOf(
      group('d', '10.0.0.0/8'),
      group('c', '10.1.0.0/16'),
      group('b', '10.1.2.0/24'),
      group('a', '10.2.0.0/16'),
      group('e', '11.0.0.0/8'),
      group('six', '::a00:0/104'),
      group('bad', 'banana'),
    );
    expect([...allocator.overlaps()]).toEqual([
      ['a', ['d']],
      ['b', ['c', 'd']],
      ['c', ['b', 'd']],
      ['d', ['a', 'b', 'c']],
    ]);
    allocator.removeGroup('d');
    expect([...allocator.overlaps().keys()]).toEqual(['b', 'c']);
  });
});

describe('what has changed', () => {
  test('is told once, the oldest first, and not when it is as it was', () => {
    const { ask, allocator, take, give } = allocatorOf(group('a', '1.1.1.0/32'));
    ask('3', { since: 3 });
    ask('1', { since: 1 });
    ask('2', { since: 2 });
    expect(allocator.changed()).toEqual(['1', '2', '3']);
    expect(allocator.changed()).toEqual([]);
    take('1.1.1.0', 'stranger');
    give('1.1.1.0');
    allocator.putGroup(group('b', 'banana'));
    expect(allocator.changed()).toEqual([]);
    allocator.putGroup(group('c', '2.2.2.0/30'));
    expect(allocator.changed()).toEqual(['2', '3']);
  });

  test('is nothing when the same facts are told again', () => {
    const groups = [group('a', '1.1.1.0/31'), group('b', 'banana')];
    const { ask, allocator, reserve, of, take } = allocatorOf(...groups);
    for (const key of ['1', '2', '3']) ask(key, { since: Number(key) });
    reserve('1');
    allocator.changed();
    for (const one of groups) allocator.putGroup(one);
    for (const key of ['3', '2', '1']) ask(key, { since: Number(key) });
    take('1.1.1.0', '1', 'a');
    expect(allocator.changed()).toEqual([]);
    expect([of('1'), of('2'), of('3')]).toEqual(['1.1.1.0 of a', '1.1.1.1 of a', FULL]);
  });

  test('is nothing of a Service that asks no more', () => {
    const { ask, allocator } = allocatorOf(group('a', '1.1.1.0/31'));
    ask('x');
    allocator.withdraw('x');
    allocator.withdraw('never asked');
    expect(allocator.changed()).toEqual([]);
    expect(allocator.verdict('x')).toBeNull();
  });
});
