import { describe, expect, test } from 'vitest';
import { SECOND, VipWorld } from './world.ts';

const UNAVAILABLE = 'RequestedIPUnavailable: failed to allocate specific ip: the requested ip is not available';

const world = (): VipWorld => {
  const w = new VipWorld();
  w.k8s.setGroup('g', { segment: '1.1.1.0/29', excludedIPs: ['1.1.1.0'] });
  return w;
};

/** What was reserved, published and freed, in order. */
const done = (w: VipWorld, since = 0): readonly string[] =>
  w.k8s.writes.slice(since).flatMap(({ verb, about, result }) => (result === 'done' ? `${verb} ${about}` : []));

describe('a Service that asks for one address', () => {
  test('gets it', async () => {
    const w = world();
    w.k8s.setService({ name: 'web', loadBalancerIP: '1.1.1.4' });
    w.k8s.setService({ name: 'any' });
    await w.start();
    await w.untilListed({ web: '1.1.1.4', any: '1.1.1.1' });
    expect(w.reserved()).toEqual({ '1.1.1.1': 'default/any', '1.1.1.4': 'default/web' });
  });

  test.each(['2001:db8::4', '2001:0DB8:0:0::4', '2001:db8::0:4'])('gets it in whatever form it is said: %s', async (loadBalancerIP) => {
    const w = world();
    w.k8s.setGroup('six', { segment: '2001:db8::/64', excludedIPs: [] });
    w.k8s.setService({ name: 'web', loadBalancerIP });
    await w.start();
    await w.untilListed({ web: '2001:db8::4' });
    expect(Object.keys(w.reserved())).toEqual(['2001:db8::4']);
  });

  test.each<[string, string, string]>([
    ['with a space', ' 1.1.1.3', 'AllocationFailed: failed to allocate specific ip: the requested ip could not be parsed'],
    ['that is not whole', '1.1.1', 'AllocationFailed: failed to allocate specific ip: the requested ip could not be parsed'],
    [
      'with a number that is too large',
      '1.1.1.999',
      'AllocationFailed: failed to allocate specific ip: the requested ip could not be parsed',
    ],
    ['of another family', '::1', 'AllocationFailed: failed to allocate specific ip: IPGroup not found for the requested ip'],
    ['of no group', '1.1.9.1', 'AllocationFailed: failed to allocate specific ip: IPGroup not found for the requested ip'],
    ['that is excluded', '1.1.1.0', UNAVAILABLE],
  ])('%s gets none and never another, and is told why', async (_, loadBalancerIP, told) => {
    const w = world();
    w.k8s.setService({ name: 'web', loadBalancerIP });
    await w.start();
    await w.clock.advance(130 * SECOND);
    expect([w.told('web'), w.k8s.writes, w.listed('web')]).toEqual([[told], [], []]);
  });

  test('that is another’s waits for it, gets no other one meanwhile, and has it once it is free', async () => {
    const w = world();
    const first = w.k8s.setService({ name: 'first', loadBalancerIP: '1.1.1.6' });
    await w.start();
    await w.untilListed({ first: '1.1.1.6' });
    w.k8s.setService({ name: 'second', loadBalancerIP: '1.1.1.6' });
    await w.clock.advance(130 * SECOND);
    expect([w.told('second'), w.listed('second')]).toEqual([[UNAVAILABLE], []]);
    w.k8s.deleteService(first);
    expect(await w.untilListed({ second: '1.1.1.6' })).toBeLessThan(SECOND);
  });

  test('that a younger one has is told so; that one keeps it, also when it is edited to ask for nonsense, and under another leader', async () => {
    const w = world();
    const older = { name: 'older', loadBalancerIP: '1.1.1.2' };
    w.k8s.setService(older);
    w.k8s.setService({ name: 'younger', loadBalancerIP: '1.1.1.6' });
    await w.start();
    await w.untilListed({ older: '1.1.1.2', younger: '1.1.1.6' });
    await w.clock.advance(SECOND);
    w.k8s.setService({ ...older, loadBalancerIP: '1.1.1.6' });
    w.k8s.setService({ name: 'younger', loadBalancerIP: 'nonsense' });
    await w.clock.advance(130 * SECOND);
    for (const process of w.processes) process.kill();
    await w.start();
    await w.clock.advance(130 * SECOND);
    expect([w.listed('younger'), w.listed('older'), w.reserved()['1.1.1.6']]).toEqual([['1.1.1.6'], ['1.1.1.2'], 'default/younger']);
    expect(w.told('older').at(-1)).toContain(UNAVAILABLE);
  });

  test.each<[string, Parameters<VipWorld['k8s']['setIP']>[0]]>([
    ['through another group that overlaps', { name: '1.1.1.5', group: 'elsewhere', owner: { namespace: 'x', name: 'y', uid: 'u' } }],
    ['for a VirtualIP', { name: '1.1.1.5', legacy: true, owner: { namespace: 'default', name: 'web', uid: null } }],
    ['for nobody known', { name: '1.1.1.5' }],
  ])('that is reserved %s gets none, and no other one, however long it waits: nothing flaps', async (_, ip) => {
    const w = world();
    if (ip.group) w.k8s.setGroup(ip.group, { segment: '1.1.1.4/30', excludedIPs: [] });
    const { uid } = w.k8s.setIP(ip);
    w.k8s.setService({ name: 'web', loadBalancerIP: '1.1.1.5' });
    await w.start();
    await w.clock.advance(600 * SECOND);
    // One whose owner is nowhere to be seen is an orphan, which is another matter.
    if (ip.owner && !ip.legacy) expect(w.k8s.writes.every(({ at }) => at >= 60 * SECOND)).toBe(true);
    else expect([w.k8s.writes, w.k8s.ips().map((each) => each.uid)]).toEqual([[], [uid]]);
    expect(w.told('web')[0]).toBe(UNAVAILABLE);
  });

  test('twice, by annotation and by spec, and not the same one, is told so; nothing changes', async () => {
    const w = world();
    w.k8s.setService({ name: 'web', loadBalancerIP: '1.1.1.3' });
    await w.start();
    await w.untilListed({ web: '1.1.1.3' });
    await w.clock.advance(SECOND);
    const writes = w.k8s.writes.length;
    w.k8s.setService({ name: 'web', requestedIP: '1.1.1.4' });
    await w.clock.advance(70 * SECOND);
    expect([w.listed('web'), w.k8s.writes.length]).toEqual([['1.1.1.3'], writes]);
    expect(w.told('web').at(-1)).toMatch(/^ConflictingRequest: .*1\.1\.1\.4.*1\.1\.1\.3.*; it keeps 1\.1\.1\.3$/);
    w.k8s.setService({ name: 'web', loadBalancerIP: '' });
    await w.untilListed({ web: '1.1.1.4' });
  });
});

describe('a Service that asks for another address than it has', () => {
  const served = async (): Promise<VipWorld> => {
    const w = world();
    w.k8s.setService({ name: 'web', loadBalancerIP: '1.1.1.3' });
    await w.start();
    await w.untilListed({ web: '1.1.1.3' });
    await w.clock.runUntil(() => w.state('web') === 'Bound', SECOND);
    return w;
  };

  test('lists the new one before the old one is freed, and is never without one', async () => {
    const w = await served();
    const since = w.k8s.writes.length;
    w.k8s.setService({ name: 'web', loadBalancerIP: '1.1.1.4' });
    while (w.k8s.ips().length !== 1 || w.listed('web')[0] !== '1.1.1.4') {
      expect(w.listed('web')).toHaveLength(1);
      await w.clock.advance(1);
    }
    expect(done(w, since)).toEqual(['reserve 1.1.1.4 for default/web', 'publish 1.1.1.4 for default/web', 'free 1.1.1.3']);
    await w.clock.advance(SECOND);
    expect(w.told('web').slice(-2)).toEqual(['IPAllocated: has 1.1.1.4, from IPGroup g', 'IPReleased: gave 1.1.1.3 back']);
  });

  test('keeps the old one while the new one is another’s, with a warning, and changes once that is free', async () => {
    const w = await served();
    const other = w.k8s.setService({ name: 'other', loadBalancerIP: '1.1.1.4' });
    await w.untilListed({ other: '1.1.1.4' });
    w.k8s.setService({ name: 'web', loadBalancerIP: '1.1.1.4' });
    await w.clock.advance(130 * SECOND);
    expect(w.listed('web')).toEqual(['1.1.1.3']);
    expect(w.told('web').at(-1)).toBe(`${UNAVAILABLE}; it keeps 1.1.1.3`);
    w.k8s.deleteService(other);
    expect(await w.untilListed({ web: '1.1.1.4' })).toBeLessThan(SECOND);
    await w.clock.runUntil(() => w.k8s.ips().length === 1, SECOND);
  });

  test('and then for none in particular keeps what it has', async () => {
    const w = await served();
    const writes = w.k8s.writes.length;
    w.k8s.setService({ name: 'web', loadBalancerIP: '' });
    await w.clock.advance(70 * SECOND);
    expect([w.listed('web'), w.k8s.writes.length]).toEqual([['1.1.1.3'], writes]);
  });

  test('and changes its mind while the new one is published ends with what it asks for, and nothing else', async () => {
    for (let ms = 0; ms < 200; ms += 7) {
      const w = new VipWorld({ vips: { callMs: 10, watchMs: 15 } });
      w.k8s.setGroup('g', { segment: '1.1.1.0/29', excludedIPs: ['1.1.1.0'] });
      w.k8s.setService({ name: 'web', loadBalancerIP: '1.1.1.3' });
      await w.start();
      await w.untilListed({ web: '1.1.1.3' });
      await w.clock.advance(SECOND);
      w.k8s.setService({ name: 'web', loadBalancerIP: '1.1.1.4' });
      await w.clock.advance(ms);
      w.k8s.setService({ name: 'web', loadBalancerIP: '1.1.1.5' });
      await w.untilListed({ web: '1.1.1.5' });
      await w.clock.advance(5 * SECOND);
      expect([w.listed('web'), w.reserved()], `${ms} ms`).toEqual([['1.1.1.5'], { '1.1.1.5': 'default/web' }]);
    }
  });

  test('and wants the old one back while that is being freed is never shown one that is not reserved for it', async () => {
    let freed = 0;
    for (let ms = 0; ms < 200; ms += 3) {
      const w = new VipWorld({ vips: { callMs: 10, watchMs: 15 } });
      w.k8s.setGroup('g', { segment: '1.1.1.0/29', excludedIPs: ['1.1.1.0'] });
      w.k8s.setService({ name: 'web', loadBalancerIP: '1.1.1.3' });
      await w.start();
      await w.untilListed({ web: '1.1.1.3' });
      await w.clock.advance(SECOND);
      w.k8s.setService({ name: 'web', loadBalancerIP: '1.1.1.4' });
      await w.clock.advance(ms);
      w.k8s.setService({ name: 'web', loadBalancerIP: '1.1.1.3' });
      for (let more = 0; more < 300; more += 1) {
        await w.clock.advance(1);
        const held = Object.keys(w.reserved());
        for (const address of w.listed('web')) expect(held, `${ms} ms, then ${more}`).toContain(address);
      }
      await w.untilListed({ web: '1.1.1.3' });
      await w.clock.advance(2 * SECOND);
      expect(w.reserved()).toEqual({ '1.1.1.3': 'default/web' });
      freed += Number(w.k8s.writes.some(({ verb, about }) => verb === 'free' && about === '1.1.1.3'));
    }
    expect(freed).toBeGreaterThan(3);
  });
});
