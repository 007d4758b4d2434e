import { describe, expect, test } from 'vitest';
import type { ServiceWish } from '../../../adapters/memory/vip-world.ts';
import { SECOND, VipWorld } from './world.ts';

/** One free address: 1.1.1.1. */
const ONE = { segment: '1.1.1.0/31', excludedIPs: ['1.1.1.0'] };

describe('Services that ask for any address', () => {
  test('two that come at once with one address left: one gets it, the other waits and says so', async () => {
    const w = new VipWorld();
    w.k8s.setGroup('one', ONE);
    await w.start();
    for (const name of ['a', 'b']) w.k8s.setService({ name });
    await w.untilListed({ a: '1.1.1.1' });
    await w.clock.advance(70 * SECOND);
    expect(w.reserved()).toEqual({ '1.1.1.1': 'default/a' });
    expect(w.listed('b')).toEqual([]);
    expect(w.told('b')).toEqual(['PoolExhausted: no IP could be allocated']);
    expect(w.k8s.writes.filter(({ result }) => result !== 'done')).toEqual([]);
  });

  test('a freed address goes to the oldest that waits, at once', async () => {
    const w = new VipWorld();
    w.k8s.setGroup('one', ONE);
    await w.start();
    const first = w.k8s.setService({ name: 'first' });
    await w.untilListed({ first: '1.1.1.1' });
    // By name they would come the other way round.
    for (const name of ['z-older', 'a-younger']) {
      w.k8s.setService({ name });
      await w.clock.advance(SECOND);
    }
    w.k8s.deleteService(first);
    expect(await w.untilListed({ 'z-older': '1.1.1.1' })).toBeLessThan(SECOND);
    expect(w.listed('a-younger')).toEqual([]);
  });

  test('an IPGroup that is added serves those that wait, the oldest first, without their being touched', async () => {
    const w = new VipWorld();
    await w.start();
    for (const name of ['z-older', 'a-younger']) {
      w.k8s.setService({ name });
      await w.clock.advance(SECOND);
      expect(w.told(name)).toEqual(['PoolExhausted: no IP could be allocated']);
    }
    expect(w.k8s.writes).toEqual([]);
    w.k8s.setGroup('two', { segment: '1.1.1.2/31', excludedIPs: [] });
    expect(await w.untilListed({ 'z-older': '1.1.1.2', 'a-younger': '1.1.1.3' })).toBeLessThan(SECOND);
  });

  test('a group that is full is passed over for the next one by name', async () => {
    const w = new VipWorld();
    w.k8s.setGroup('c', { segment: '1.1.3.0/31', excludedIPs: [] });
    w.k8s.setGroup('a', ONE);
    w.k8s.setGroup('b', { segment: '1.1.2.0/31', excludedIPs: ['1.1.2.0/31'] });
    for (const name of ['first', 'second']) w.k8s.setService({ name });
    await w.start();
    await w.untilListed({ first: '1.1.1.1', second: '1.1.3.0' });
    expect(w.k8s.ips().map(({ group }) => group)).toEqual(['a', 'c']);
  });

  test.each<[string, string, readonly string[], string]>([
    ['host bits in a segment mean nothing', '1.1.1.5/29', [], '1.1.1.0'],
    ['a /32 is one address', '1.1.1.1/32', [], '1.1.1.1'],
    ['a segment without exclusions gives its first address', '1.1.1.0/29', [], '1.1.1.0'],
    [
      'exclusions outside of the segment, and twice the same, mean nothing more',
      '1.1.1.0/29',
      ['9.9.9.9', '1.1.1.0', '1.1.1.0'],
      '1.1.1.1',
    ],
    ['of a /8 the lowest address', '10.0.0.0/8', [], '10.0.0.0'],
    ['the last address that there is', '255.255.255.0/24', ['255.255.255.0-255.255.255.254'], '255.255.255.255'],
  ])('%s', async (_, segment, excludedIPs, wanted) => {
    const w = new VipWorld();
    w.k8s.setGroup('g', { segment, excludedIPs });
    w.k8s.setService({ name: 'web' });
    await w.start();
    await w.untilListed({ web: wanted });
    expect(w.reserved()).toEqual({ [wanted]: 'default/web' });
  });

  test('after the last address of 255.255.255.0/24 there is none: the next Service waits', async () => {
    const w = new VipWorld();
    w.k8s.setGroup('g', { segment: '255.255.255.0/24', excludedIPs: ['255.255.255.0-255.255.255.254'] });
    for (const name of ['a', 'b']) w.k8s.setService({ name });
    await w.start();
    await w.untilListed({ a: '255.255.255.255' });
    expect(w.told('b')).toEqual(['PoolExhausted: no IP could be allocated']);
  });

  test.each<[string, unknown]>([
    ['a segment that is no CIDR', { segment: 'banana', excludedIPs: [] }],
    ['an empty segment', { segment: '', excludedIPs: [] }],
    ['an address instead of a segment', { segment: '1.1.1.0', excludedIPs: [] }],
    ['a prefix that is too long', { segment: '1.1.1.0/33', excludedIPs: [] }],
    ['every address there is', { segment: '0.0.0.0/0', excludedIPs: [] }],
    ['no spec', null],
    ['an exclusion that is no address', { segment: '1.1.1.0/29', excludedIPs: ['1.1.1.01'] }],
  ])('a group with %s gives nothing, and keeps no other group from giving', async (_, spec) => {
    const w = new VipWorld();
    w.k8s.setGroup('a-bad', spec as never);
    w.k8s.setGroup('b-good', { segment: '1.1.2.0/31', excludedIPs: [] });
    w.k8s.setService({ name: 'web' });
    w.k8s.setService({ name: 'asks', loadBalancerIP: '1.1.1.1' });
    await w.start();
    await w.untilListed({ web: '1.1.2.0' });
    expect(w.told('asks')).toEqual(['AllocationFailed: failed to allocate specific ip: IPGroup not found for the requested ip']);
    expect(w.faults()).toEqual([]);
  });

  test('a group whose name no label can hold gives nothing', async () => {
    const w = new VipWorld();
    w.k8s.setGroup('a'.repeat(64), { segment: '1.1.1.0/29', excludedIPs: [] });
    w.k8s.setService({ name: 'web' });
    await w.start();
    await w.clock.advance(SECOND);
    expect(w.told('web')).toEqual(['PoolExhausted: no IP could be allocated']);
    expect(w.k8s.ips()).toEqual([]);
  });

  test('of an IPv6 group by coded names, to Services of that family', async () => {
    const w = new VipWorld();
    w.k8s.setGroup('six', { segment: '2001:db8::/64', excludedIPs: [] });
    w.k8s.setService({ name: 'six', family: 6 });
    w.k8s.setService({ name: 'four', family: 4 });
    await w.start();
    await w.untilListed({ six: '2001:db8::' });
    expect(w.k8s.ips()).toMatchObject([{ name: '2001-0db8-0000-0000-0000-0000-0000-0000', address: '2001:db8::' }]);
    expect(w.told('four')).toEqual(['PoolExhausted: no IP could be allocated']);
  });
});

describe('an IPGroup that changes', () => {
  const served = async (name = 'a'): Promise<VipWorld> => {
    const w = new VipWorld();
    w.k8s.setGroup(name, { segment: '1.1.1.0/31', excludedIPs: [] });
    w.k8s.setService({ name: 'web' });
    await w.start();
    await w.untilListed({ web: '1.1.1.0' });
    await w.clock.advance(SECOND);
    return w;
  };

  test('by excluding an address that is in use takes it from nobody, and gives it to nobody once it is free', async () => {
    const w = await served();
    const writes = w.k8s.writes.length;
    w.k8s.setGroup('a', { segment: '1.1.1.0/31', excludedIPs: ['1.1.1.0'] });
    await w.clock.advance(70 * SECOND);
    expect([w.listed('web'), w.k8s.writes.length]).toEqual([['1.1.1.0'], writes]);
    const web = w.k8s.service('default', 'web')?.ref;
    if (web) w.k8s.deleteService(web);
    await w.untilGone('web');
    w.k8s.setService({ name: 'next' });
    await w.untilListed({ next: '1.1.1.1' });
  });

  test.each<[string, (w: VipWorld) => void]>([
    ['is deleted', (w) => w.k8s.removeGroup('a')],
    ['is shrunk', (w) => void w.k8s.setGroup('a', { segment: '1.1.1.1/32', excludedIPs: [] })],
    ['becomes Invalid', (w) => void w.k8s.setGroup('a', { segment: 'banana', excludedIPs: [] })],
  ])('and %s takes no address away; each is freed as ever', async (_, change) => {
    const w = await served();
    const writes = w.k8s.writes.length;
    change(w);
    await w.clock.advance(70 * SECOND);
    expect([w.listed('web'), w.k8s.writes.length]).toEqual([['1.1.1.0'], writes]);
    const web = w.k8s.service('default', 'web')?.ref;
    if (web) w.k8s.deleteService(web);
    await w.untilGone('web');
    expect(w.reserved()).toEqual({});
  });

  test('of two that overlap, an address is given once, by the first by name', async () => {
    const w = new VipWorld();
    w.k8s.setGroup('b', { segment: '1.1.1.0/30', excludedIPs: [] });
    w.k8s.setGroup('a', { segment: '1.1.1.0/31', excludedIPs: [] });
    for (const name of ['one', 'two', 'three', 'four', 'five']) w.k8s.setService({ name });
    w.k8s.setService({ name: 'asks', loadBalancerIP: '1.1.1.1' });
    await w.start();
    await w.clock.runUntil(() => w.k8s.ips().length === 4, 10 * SECOND);
    await w.clock.advance(SECOND);
    expect(w.k8s.ips().map(({ address, group }) => `${address} ${group}`)).toEqual(['1.1.1.0 a', '1.1.1.1 a', '1.1.1.2 b', '1.1.1.3 b']);
    expect(w.k8s.writes.filter(({ result }) => result === 'Conflict')).toEqual([]);
  });
});

describe('a Service that is not ours', () => {
  test.each<[string, ServiceWish]>([
    ['another class', { loadBalancerClass: 'example.com/other' }],
    ['type ClusterIP', { type: 'ClusterIP' }],
    ['type NodePort', { type: 'NodePort' }],
  ])('of %s gets nothing, and what it lists is left', async (_, wish) => {
    const w = new VipWorld({ vips: { wipesIngress: false } });
    w.k8s.setGroup('one', ONE);
    const ref = w.k8s.setService({ name: 'foreign', ...wish });
    w.k8s.setIngress(ref, [{ ip: null }, { ip: '192.0.2.7' }]);
    await w.start();
    await w.clock.advance(70 * SECOND);
    expect([w.listed('foreign'), w.finalizers('foreign'), w.k8s.writes]).toEqual([[null, '192.0.2.7'], [], []]);
  });
});
