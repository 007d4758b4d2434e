import { describe, expect, test } from 'vitest';
import { SECOND, VipWorld } from '../vip/world.ts';
import { GroupWorld } from './group-world.ts';

const MINUTE = 60 * SECOND;
const OPS = { namespaceSelector: { matchLabels: { team: 'ops' } } };

/** A group for the team `ops` alone, whose addresses come first, and one for everybody. */
function world(): VipWorld {
  const w = new VipWorld();
  w.k8s.setGroup('a-ops', { segment: '1.1.1.0/30', excludedIPs: [], ...OPS });
  w.k8s.setGroup('b-all', { segment: '2.2.2.0/30', excludedIPs: [] });
  return w;
}

describe('an IPGroup for some namespaces', () => {
  test('gives no Service of another namespace an address, however it asks', async () => {
    const w = world();
    w.namespaces.set('default', { team: 'shops' });
    w.k8s.setService({ name: 'any' });
    w.k8s.setService({ name: 'asks', loadBalancerIP: '1.1.1.2' });
    w.k8s.setService({ name: 'pins', pinnedGroup: 'a-ops' });
    w.k8s.setService({ name: 'both', pinnedGroup: 'a-ops', loadBalancerIP: '1.1.1.3' });
    await w.start();
    await w.untilListed({ any: '2.2.2.0' });
    await w.clock.advance(3 * MINUTE);
    expect(w.reserved()).toEqual({ '2.2.2.0': 'default/any' });
    for (const name of ['asks', 'pins', 'both']) expect(w.told(name).join(), name).toContain('not for this namespace');
    // What they wait for comes by itself, with the labels or with the selector.
    w.namespaces.set('default', { team: 'ops' });
    await w.untilListed({ asks: '1.1.1.2', both: '1.1.1.3' });
    expect(w.listed('any'), 'what one has one keeps').toEqual(['2.2.2.0']);
  });

  test('serves a Service once its selector lets that in', async () => {
    const w = world();
    w.k8s.setService({ name: 'pins', pinnedGroup: 'a-ops' });
    await w.start();
    await w.clock.advance(MINUTE);
    expect(w.listed('pins')).toEqual([]);
    w.k8s.setGroup('a-ops', { segment: '1.1.1.0/30', excludedIPs: [] });
    await w.untilListed({ pins: '1.1.1.0' });
  });

  test('leaves its address to whoever has it, also after a restart', async () => {
    const w = world();
    w.namespaces.set('default', { team: 'ops' });
    w.k8s.setService({ name: 'web' });
    const process = await w.start();
    await w.untilListed({ web: '1.1.1.0' });
    w.namespaces.set('default', {});
    await w.clock.advance(MINUTE);
    process.kill();
    w.store.wipe();
    w.queues.wipe();
    w.invariants.forget();
    await w.start();
    await w.clock.advance(3 * MINUTE);
    expect([w.listed('web'), w.reserved()]).toEqual([['1.1.1.0'], { '1.1.1.0': 'default/web' }]);
  });

  test('gives a RoutedIP of another namespace none, and says so', async () => {
    const w = new GroupWorld();
    w.namespaces.set('web', { team: 'shops' });
    w.k8s.setGroup('edge', { segment: '192.0.2.0/30', excludedIPs: [], ...OPS });
    w.groupClass();
    await w.operator();
    const ref = w.wants('shop');
    await w.untilReason(ref, 'NamespaceNotSelected');
    expect(w.messageOf(ref)).toContain('IPGroup edge is not for namespace web');
    await w.clock.advance(3 * MINUTE);
    expect(w.reserved()).toEqual({});
    w.namespaces.set('web', { team: 'ops' });
    await w.stable(ref);
    const { routedIP } = w.statusOf(ref);
    w.namespaces.set('web', {});
    await w.clock.advance(3 * MINUTE);
    expect([w.statusOf(ref).routedIP, w.reasonOf(ref)]).toEqual([routedIP, 'Assigned']);
  });
});
