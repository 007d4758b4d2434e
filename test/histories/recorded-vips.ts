import { MigrationWorld } from '../actors/migration/world.ts';
import { SECOND, VipWorld } from '../actors/vip/world.ts';
import type { Recording } from './recorded-journal.ts';

const recorded =
  (happens: (world: VipWorld) => Promise<void>): Recording =>
  async (options, begin) => {
    const world = new VipWorld({ ...options, vips: { callMs: 10, watchMs: 20 } });
    begin(world);
    await happens(world);
  };

const untilBare = (world: VipWorld): Promise<number> =>
  world.clock.runUntil(
    () => world.k8s.ips().length === 0 && world.k8s.services().every(({ finalizers }) => finalizers.length === 0),
    200 * SECOND,
  );

/** What is recorded of Services with addresses of IPGroups, by the name of its file. */
export const VIP_RECORDINGS: Readonly<Record<string, Recording>> = {
  'service-waits-and-is-served': recorded(async (world) => {
    const { k8s, clock } = world;
    k8s.faults.next('reserve', { kind: 'refuse', error: 'Unavailable' });
    k8s.setService({ name: 'web' });
    await world.start();
    await clock.advance(SECOND);
    k8s.setGroup('g', { segment: '1.1.1.0/30', excludedIPs: ['1.1.1.0'] });
    await world.untilListed({ web: '1.1.1.1' });
    k8s.setService({ name: 'web', loadBalancerIP: '1.1.1.3' });
    await world.untilListed({ web: '1.1.1.3' });
    await clock.advance(SECOND);
    k8s.setService({ name: 'web', type: 'ClusterIP' });
    await untilBare(world);
    await clock.advance(SECOND);
  }),
  'service-made-anew-and-an-orphan': recorded(async (world) => {
    const { k8s, clock } = world;
    k8s.setGroup('g', { segment: '1.1.1.1/32', excludedIPs: [] });
    k8s.setIP({ name: '1.1.1.9', owner: { namespace: 'default', name: 'lost', uid: null } });
    const former = k8s.setService({ name: 'web' });
    const process = await world.start();
    await world.untilListed({ web: '1.1.1.1' });
    await clock.runUntil(() => k8s.ips().length === 1, 200 * SECOND);
    world.vipsOf(process).holdWatches();
    k8s.setFinalizers(former, []);
    k8s.deleteService(former);
    const ref = k8s.setService({ name: 'web' });
    await clock.advance(SECOND);
    world.vipsOf(process).resumeWatches();
    await world.untilListed({ web: '1.1.1.1' });
    await clock.advance(SECOND);
    k8s.faults.next('free', { kind: 'refuse', error: 'Unavailable' });
    k8s.deleteService(ref);
    await world.untilGone('web', 60 * SECOND);
    await clock.advance(SECOND);
  }),
  'service-that-somebody-else-serves': recorded(async (world) => {
    const { k8s, clock } = world;
    k8s.setGroup('g', { segment: '1.1.1.0/30', excludedIPs: ['1.1.1.0'] });
    const theirs = (name: string) => k8s.setIngress(k8s.setService({ name }), [{ ip: '203.0.113.80' }], { by: 'cloud-controller-manager' });
    theirs('found');
    k8s.setService({ name: 'web' });
    await world.start();
    await world.untilListed({ web: '1.1.1.1' });
    for (const _ of [1, 2]) {
      await clock.advance(SECOND);
      theirs('web');
    }
    await clock.runUntil(() => world.state('web') === 'Contended', 5 * SECOND);
    k8s.setService({ name: 'web', requestedIP: '1.1.1.2' });
    await world.untilListed({ web: '1.1.1.2' });
    await clock.advance(SECOND);
    k8s.setService({ name: 'found', type: 'ClusterIP' });
    await clock.runUntil(() => world.state('found') === null, 5 * SECOND);
  }),
  'virtual-ip-migrated-and-deleted': async (options, begin) => {
    const world = new MigrationWorld({ ...options, group: false });
    begin(world);
    const { k8s, clock, legacy } = world;
    k8s.setGroup('other', { segment: '1.1.9.0/32', excludedIPs: ['1.1.9.0'] });
    await world.start();
    await world.valid();
    k8s.setService({ name: 'web', more: { labels: { tier: 'front' } } });
    await clock.advance(SECOND);
    k8s.setService({ name: 'web', type: 'LoadBalancer' });
    legacy.annotate('vip');
    await clock.runUntil(() => world.place() === 'Blocked', 30 * SECOND);
    await clock.advance(70 * SECOND);
    k8s.setService({ name: 'web', type: 'ClusterIP' });
    await clock.runUntil(() => world.place() === 'CoolOff', 30 * SECOND);
    await clock.advance(SECOND);
    world.addGroup();
    await world.untilState('Migrated');
    await clock.advance(SECOND);
    legacy.remove('vip');
    await world.untilVirtualIPGone();
    await clock.advance(SECOND);
  },
};
