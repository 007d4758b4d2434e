import { describe, expect, test } from 'vitest';
import { VIP_FINALIZER } from '../../../machines/vip/objects.ts';
import { SECOND, VipWorld } from './world.ts';

const SEGMENT = { segment: '1.1.1.0/29', excludedIPs: ['1.1.1.0', '1.1.1.2', '1.1.1.7'] };

const world = (): VipWorld => {
  const made = new VipWorld();
  made.k8s.setGroup('ipgroup-1', SEGMENT);
  return made;
};

describe('a Service of type LoadBalancer', () => {
  test('gets the lowest free address: our finalizer, then the IP with its label and owner, then one entry of the ingress, and an Event', async () => {
    const w = world();
    const ref = w.k8s.setService({ name: 'web' });
    await w.start();
    await w.untilListed({ web: '1.1.1.1' });
    await w.clock.runUntil(() => w.state('web') === 'Bound', SECOND);
    expect(w.k8s.writes.map(({ verb, result }) => `${verb} ${result}`)).toEqual(['guard done', 'reserve done', 'publish done']);
    expect(w.k8s.ips()).toMatchObject([
      { address: '1.1.1.1', group: 'ipgroup-1', owner: { namespace: 'default', name: 'web', uid: ref.uid }, legacy: false },
    ]);
    expect(w.finalizers('web')).toEqual([VIP_FINALIZER]);
    expect(w.told('web')).toEqual(['IPAllocated: has 1.1.1.1, from IPGroup ipgroup-1']);
    expect(w.faults()).toEqual([]);
  });

  test('that is deleted lists its address no more, then the IP goes, then our finalizer and the Service', async () => {
    const w = world();
    const ref = w.k8s.setService({ name: 'web' });
    await w.start();
    await w.untilListed({ web: '1.1.1.1' });
    const before = w.k8s.writes.length;
    w.k8s.deleteService(ref);
    await w.untilGone('web');
    await w.clock.runUntil(() => w.state('web') === null, SECOND);
    expect(w.k8s.writes.slice(before).map(({ verb }) => verb)).toEqual(['publish', 'free', 'unguard']);
    expect(w.reserved()).toEqual({});
    expect(w.told('web')).toContain('IPReleased: gave 1.1.1.1 back');
  });

  test('waits while every address is taken, says so, and gets the first that is given back, before younger ones', async () => {
    const w = world();
    const refs = ['a', 'b', 'c', 'd', 'e'].map((name) => w.k8s.setService({ name }));
    await w.start();
    await w.untilListed({ e: '1.1.1.6' });
    w.k8s.setService({ name: 'late' });
    await w.clock.advance(SECOND);
    w.k8s.setService({ name: 'later' });
    await w.clock.advance(SECOND);
    expect([w.listed('late'), w.listed('later')]).toEqual([[], []]);
    expect(w.told('late')).toEqual(['PoolExhausted: no IP could be allocated']);
    const [, , third] = refs;
    if (!third) throw new Error('there is no third Service');
    w.k8s.deleteService(third);
    await w.untilListed({ late: '1.1.1.4' }, SECOND);
    expect(w.listed('later')).toEqual([]);
  });

  test('does not take over the address of a former Service of its name: it gets one of its own, and that one is free', async () => {
    const w = world();
    w.k8s.setIP({ name: '1.1.1.5', owner: { namespace: 'default', name: 'web', uid: 'former' }, group: 'ipgroup-1' });
    w.k8s.setService({ name: 'web' });
    await w.start();
    await w.untilListed({ web: '1.1.1.1' });
    await w.clock.runUntil(() => Object.keys(w.reserved()).length === 1, SECOND);
    expect(w.reserved()).toEqual({ '1.1.1.1': 'default/web' });
    expect(w.k8s.writes.map(({ verb, result }) => `${verb} ${result}`)).toEqual([
      'free done',
      'guard done',
      'reserve done',
      'publish done',
    ]);
  });

  test('is left to whoever has given it an address while there is no IPGroup: nothing is written, said or remembered; with the first group it is said', async () => {
    const w = new VipWorld();
    const ref = w.k8s.setService({ name: 'web' });
    w.k8s.setIngress(ref, [{ ip: null }, { ip: '198.51.100.7' }]);
    await w.start();
    w.k8s.setService({ name: 'bare' });
    await w.clock.runUntil(() => w.told('bare').length > 0, 5 * SECOND);
    expect(w.told('bare')).toEqual(['PoolExhausted: no IP could be allocated']);
    expect([w.k8s.writes, w.told('web'), w.state('web')]).toEqual([[], [], null]);
    w.k8s.setGroup('ipgroup-1', SEGMENT);
    await w.untilListed({ bare: '1.1.1.1' });
    await w.clock.runUntil(() => w.state('web') === 'Contended', SECOND);
    expect(w.listed('web')).toEqual([null, '198.51.100.7']);
  });
});
