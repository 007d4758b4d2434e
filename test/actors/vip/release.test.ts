import { describe, expect, test } from 'vitest';
import { VIP_FINALIZER } from '../../../machines/vip/objects.ts';
import type { WorldOptions } from '../../support/world.ts';
import { SECOND, VipWorld } from './world.ts';

const MINUTE = 60 * SECOND;

/** `web` has 1.1.1.1, the lowest; `other` 1.1.1.2. */
async function served(vips: WorldOptions['vips'] = {}): Promise<VipWorld> {
  const w = new VipWorld({ vips: { callMs: 10, ...vips } });
  w.k8s.setGroup('g', { segment: '1.1.1.0/29', excludedIPs: ['1.1.1.0'] });
  w.k8s.setService({ name: 'web' });
  await w.start();
  await w.untilListed({ web: '1.1.1.1' });
  w.k8s.setService({ name: 'other' });
  await w.untilListed({ other: '1.1.1.2' });
  await w.clock.advance(SECOND);
  return w;
}

const refOf = (w: VipWorld, name: string) => {
  const service = w.k8s.service('default', name);
  if (!service) throw new Error(`there is no Service ${name}`);
  return service.ref;
};

/** Nothing of ours is on the Service, and nothing is reserved for it. */
const isBare = (w: VipWorld, name: string): boolean =>
  w.finalizers(name).length === 0 && w.listed(name).length === 0 && !Object.values(w.reserved()).includes(`default/${name}`);

describe.each([
  { server: 'wipes the status of a Service that leaves type LoadBalancer', wipesIngress: true },
  { server: 'keeps it', wipesIngress: false },
])('where the API server $server, a Service that', ({ wipesIngress }) => {
  test.each(['ClusterIP', 'NodePort', 'ExternalName'])('becomes %s gives its address back and loses our finalizer', async (type) => {
    const w = await served({ wipesIngress });
    w.k8s.setService({ name: 'web', type });
    expect(w.listed('web').length).toBe(wipesIngress ? 0 : 1);
    await w.clock.runUntil(() => isBare(w, 'web'), 5 * SECOND);
    expect(w.reserved()).toEqual({ '1.1.1.2': 'default/other' });
    w.k8s.deleteService(refOf(w, 'web'));
    expect(w.k8s.service('default', 'web')).toBeNull();
    await w.clock.advance(SECOND);
    expect([w.state('web'), w.faults()]).toEqual([null, []]);
  });

  test('becomes a LoadBalancer again has the lowest free address', async () => {
    const w = await served({ wipesIngress });
    w.k8s.setService({ name: 'web', type: 'ClusterIP' });
    await w.clock.runUntil(() => isBare(w, 'web'), 5 * SECOND);
    const third = w.k8s.setService({ name: 'third' });
    await w.untilListed({ third: '1.1.1.1' });
    w.k8s.deleteService(third);
    await w.untilGone('third');
    w.k8s.setService({ name: 'web', type: 'LoadBalancer' });
    await w.untilListed({ web: '1.1.1.1' });
    expect(w.finalizers('web')).toEqual([VIP_FINALIZER]);
  });

  test('becomes a LoadBalancer again while it gives its address back has it reserved before it lists it, however late the watches tell', async () => {
    for (let ms = 500; ms <= 540; ms += 2) {
      const w = await served({ wipesIngress, watchMs: 500 });
      w.k8s.setService({ name: 'web', type: 'ClusterIP' });
      await w.clock.advance(ms);
      w.k8s.setService({ name: 'web', type: 'LoadBalancer' });
      await w.clock.advance(5 * SECOND);
      const isReserved = Object.values(w.reserved()).includes('default/web');
      expect([isReserved, w.listed('web').length, w.rules.violations], `${ms} ms`).toEqual([true, 1, []]);
    }
  });

  test('changes its type to and fro at any moment ends with one address, or with none, as it is in the end', async () => {
    for (let ms = 0; ms <= 90; ms += 6) {
      const w = await served({ wipesIngress, watchMs: 15 });
      for (const type of ['ClusterIP', 'LoadBalancer', 'NodePort', 'LoadBalancer']) {
        w.k8s.setService({ name: 'web', type });
        await w.clock.advance(ms);
      }
      await w.clock.runUntil(() => w.listed('web').length === 1, 5 * SECOND);
      await w.clock.advance(5 * SECOND);
      const [held] = Object.entries(w.reserved()).find(([, owner]) => owner === 'default/web') ?? [];
      expect([w.listed('web'), w.k8s.ips().length, w.finalizers('web')], `${ms} ms`).toEqual([[held], 2, [VIP_FINALIZER]]);
      w.k8s.setService({ name: 'web', type: 'ClusterIP' });
      await w.clock.runUntil(() => isBare(w, 'web'), 5 * SECOND);
      expect([w.reserved(), w.faults()], `${ms} ms`).toEqual([{ '1.1.1.2': 'default/other' }, []]);
    }
  });
});

describe('a Service that is deleted', () => {
  test('while it waits leaves nothing behind', async () => {
    const w = new VipWorld();
    const ref = w.k8s.setService({ name: 'web' });
    await w.start();
    await w.clock.advance(SECOND);
    expect(w.state('web')).toBe('Pending');
    w.k8s.deleteService(ref);
    await w.clock.runUntil(() => w.state('web') === null, SECOND);
    expect([w.k8s.services(), w.k8s.ips(), w.k8s.writes]).toEqual([[], [], []]);
  });

  test('at any moment of its allocation leaves nothing behind', async () => {
    const states = new Set<string | null>();
    for (let ms = 0; ms <= 140; ms += 5) {
      const w = new VipWorld({ vips: { callMs: 10, watchMs: 25 } });
      w.k8s.setGroup('g', { segment: '1.1.1.0/32', excludedIPs: [] });
      await w.start();
      const ref = w.k8s.setService({ name: 'web' });
      await w.clock.advance(ms);
      states.add(w.state('web'));
      w.k8s.deleteService(ref);
      await w.untilGone('web', MINUTE);
      await w.clock.advance(5 * SECOND);
      expect([w.reserved(), w.state('web'), w.faults()], `${ms} ms`).toEqual([{}, null, []]);
      w.k8s.setService({ name: 'next' });
      await w.untilListed({ next: '1.1.1.0' });
    }
    expect([...states]).toEqual(expect.arrayContaining([null, 'Reserving', 'Publishing', 'Bound']));
  });

  test('with our finalizer and an empty ingress gives back what is reserved for it', async () => {
    const w = await served();
    const ref = refOf(w, 'web');
    w.k8s.setIngress(ref, []);
    w.k8s.deleteService(ref);
    await w.untilGone('web');
    expect(w.reserved()).toEqual({ '1.1.1.2': 'default/other' });
    expect(w.faults()).toEqual([]);
  });

  test('and whose IP an administrator has deleted before is let go', async () => {
    const w = await served();
    w.k8s.removeIP('1.1.1.1');
    w.k8s.deleteService(refOf(w, 'web'));
    await w.untilGone('web');
    expect(w.reserved()).toEqual({ '1.1.1.2': 'default/other' });
  });

  test('with the ingress of another Service frees its own address, and not that', async () => {
    const w = await served();
    const ref = refOf(w, 'web');
    w.k8s.setIngress(ref, [{ ip: '1.1.1.2' }]);
    w.k8s.deleteService(ref);
    await w.untilGone('web');
    expect(w.reserved()).toEqual({ '1.1.1.2': 'default/other' });
    expect(w.listed('other')).toEqual(['1.1.1.2']);
  });

  test('is let go once, and looked at no more, however late the watches tell', async () => {
    const w = await served({ watchMs: 20 * SECOND });
    await w.clock.advance(MINUTE);
    const turns = w.invariants.turns.length;
    w.k8s.deleteService(refOf(w, 'web'));
    await w.untilGone('web', MINUTE);
    await w.clock.advance(50 * SECOND);
    expect(w.invariants.turns.length - turns).toBeLessThan(12);
    expect(w.reserved()).toEqual({ '1.1.1.2': 'default/other' });
  });
});

describe('somebody else', () => {
  test.each<[string, readonly { readonly ip: string | null }[]]>([
    ['the address of another Service', [{ ip: '1.1.1.2' }]],
    ['an unknown address', [{ ip: '192.0.2.1' }]],
    ['a hostname', [{ ip: null }]],
    ['its address and one more', [{ ip: '1.1.1.1' }, { ip: '1.1.1.2' }]],
    ['nothing', []],
  ])('who writes %s into an ingress sees the address that is reserved there again, and no IP changes', async (_, ingress) => {
    const w = await served();
    await w.clock.advance(15 * SECOND);
    const ips = w.k8s.ips();
    w.k8s.setIngress(refOf(w, 'web'), ingress);
    await w.untilListed({ web: '1.1.1.1' }, SECOND);
    expect([w.k8s.ips(), w.listed('other')]).toEqual([ips, ['1.1.1.2']]);
  });

  test('who writes another Service’s address into the ingress of one that waits has it taken out', async () => {
    const w = new VipWorld();
    w.k8s.setGroup('one', { segment: '1.1.1.1/32', excludedIPs: [] });
    await w.start();
    w.k8s.setService({ name: 'web' });
    await w.untilListed({ web: '1.1.1.1' });
    w.k8s.setService({ name: 'waits' });
    await w.clock.advance(SECOND);
    w.k8s.setIngress(refOf(w, 'waits'), [{ ip: '1.1.1.1' }]);
    await w.clock.runUntil(() => w.listed('waits').length === 0, SECOND);
    expect([w.reserved(), w.listed('web')]).toEqual([{ '1.1.1.1': 'default/web' }, ['1.1.1.1']]);
  });

  test('who deletes an IP that is in use sees it made again, for the same Service', async () => {
    const w = await served();
    await w.clock.advance(15 * SECOND);
    w.k8s.setService({ name: 'waits', loadBalancerIP: '1.1.1.1' });
    await w.clock.advance(SECOND);
    w.k8s.removeIP('1.1.1.1');
    await w.clock.runUntil(() => w.reserved()['1.1.1.1'] === 'default/web', SECOND);
    await w.clock.advance(SECOND);
    expect([w.listed('web'), w.listed('waits')]).toEqual([['1.1.1.1'], []]);
  });

  test('who takes an IP that is in use for himself has it: the Service gets another one, and is warned', async () => {
    const w = await served();
    await w.clock.advance(15 * SECOND);
    const theirs = w.k8s.setIP({ name: '1.1.1.1' });
    await w.untilListed({ web: '1.1.1.3' }, 10 * SECOND);
    await w.clock.advance(SECOND);
    expect(w.k8s.ips().map(({ uid }) => uid)).toContain(theirs.uid);
    expect(w.told('web').some((each) => /^AllocationFailed: .*1\.1\.1\.1/.test(each))).toBe(true);
  });

  test('who takes our finalizer off a Service sees it there again', async () => {
    const w = await served();
    await w.clock.advance(15 * SECOND);
    w.k8s.setFinalizers(refOf(w, 'web'), []);
    await w.clock.runUntil(() => w.finalizers('web').includes(VIP_FINALIZER), SECOND);
    expect(w.listed('web')).toEqual(['1.1.1.1']);
  });

  test('who had put something into the ingress before we came is left with it until we are asked, and what cannot be ours is never looked for', async () => {
    const w = new VipWorld();
    w.k8s.setGroup('g', { segment: '1.1.1.0/29', excludedIPs: [] });
    const ref = w.k8s.setService({ name: 'web' });
    w.k8s.setIngress(ref, [{ ip: null }, { ip: '192.0.2.1' }]);
    await w.start();
    await w.clock.runUntil(() => w.state('web') === 'Contended', 10 * SECOND);
    w.k8s.setService({ name: 'web', requestedIP: '1.1.1.0' });
    await w.untilListed({ web: '1.1.1.0' });
    w.k8s.deleteService(ref);
    await w.untilGone('web');
    expect(w.k8s.writes.filter(({ verb }) => verb === 'free').map(({ about }) => about)).toEqual(['1.1.1.0']);
  });

  test('who had listed a free address of ours keeps it', async () => {
    const w = new VipWorld();
    w.k8s.setGroup('g', { segment: '1.1.1.0/29', excludedIPs: [] });
    w.k8s.setService({ name: 'older' });
    await w.clock.advance(SECOND);
    w.k8s.setIngress(w.k8s.setService({ name: 'web' }), [{ ip: '1.1.1.0' }]);
    await w.start();
    await w.untilListed({ web: '1.1.1.0', older: '1.1.1.1' });
    expect(w.k8s.writes.some(({ verb, about }) => verb === 'publish' && about.includes('web'))).toBe(false);
  });
});
