import { describe, expect } from 'vitest';
import { node, providerIDOf } from '../../support/world.ts';
import { test } from './routedip-test.ts';
import { CLASS_NAME, FIREWALL, MINUTE, SECOND, service, servicePort } from './world.ts';

const A = '203.0.113.7';
const B = '203.0.113.8';
const C = '203.0.113.9';
const OLD = node('old', { createdAt: 1 });
const YOUNG = node('young', { createdAt: 2 });

describe('a machine that does not exist any more', () => {
  test('keeps the address that was on it from nothing: its ports are opened on the next node alone', async ({ open }) => {
    const world = open();
    world.setClass();
    world.setNode(OLD, YOUNG);
    world.setWeb('shop', ['old', 'young']);
    await world.leader();
    const ref = world.setRoutedIP('shop');
    await world.stable(ref, 'young');
    world.provider.cloud.removeNode(providerIDOf('young'));
    world.cluster.removeNode('young');
    await world.stable(ref, 'old', 10 * SECOND);
    expect(world.firewall().nodes).toEqual([providerIDOf('old')]);
    expect(world.changes()).toContain('addRoutedIPFirewallNode');
  });

  test('keeps no other address that shares the firewall waiting, while its own has time to come back', async ({ open }) => {
    const world = open();
    world.setClass({ recoveryGraceSeconds: 3600 });
    world.setNode(OLD, YOUNG);
    world.setWeb('shop', ['young']);
    world.setWeb('blog', ['old']);
    await world.leader();
    const shop = world.setRoutedIP('shop');
    await world.stable(shop, 'young');
    world.provider.faults.always('findNode', { kind: 'refuse', error: 'Unavailable' });
    world.provider.cloud.removeNode(providerIDOf('young'));
    world.cluster.setNode({ ...YOUNG, ready: false });
    await world.clock.advance(SECOND);
    world.provider.faults.clear();
    const blog = world.setRoutedIP('blog');
    await world.stable(blog, 'old', 10 * SECOND);
    expect(world.firewall().nodes).toEqual([providerIDOf('old')]);
  });

  test('is not made out of an outage: a firewall that takes no node keeps the address where it is', async ({ open }) => {
    const world = open();
    world.setClass();
    world.setNode(OLD, YOUNG);
    world.setWeb('shop', ['old', 'young']);
    await world.leader();
    const ref = world.setRoutedIP('shop');
    await world.stable(ref, 'young');
    world.provider.faults.always('addRoutedIPFirewallNode', { kind: 'refuse', error: 'Unavailable' });
    world.cluster.setNode({ ...YOUNG, ready: false });
    await world.untilReason(ref, 'FirewallNotReady');
    await world.clock.advance(5 * MINUTE);
    expect(world.holderOf(String(world.statusOf(ref).routedIP))).toBe('young');
    expect(world.firewall().nodes).toEqual([providerIDOf('young')]);
    world.provider.faults.clear();
    await world.stable(ref, 'old', 10 * MINUTE);
  });
});

describe('a port that a Service gets while its address is assigned', () => {
  test('is opened once the address is there, when there was nothing to open before', async ({ open }) => {
    const world = open({ provider: { actionMs: 2 * SECOND } });
    world.setClass();
    world.setNode(OLD);
    world.cluster.setService('web', 'shop', service(['old'], { ports: [] }));
    await world.leader();
    const ref = world.setRoutedIP('shop');
    await world.clock.runUntil(() => world.assigns().length === 1, 10 * SECOND);
    expect(world.statusOf(ref).state).not.toBe('Stable');
    world.cluster.setService('web', 'shop', service(['old'], { ports: [servicePort(8443)] }));
    await world.stable(ref, 'old');
    await world.clock.advance(5 * SECOND);
    expect(world.firewall()).toEqual({ ports: ['tcp/22', 'tcp/8443'], nodes: [providerIDOf('old')] });
    expect(world.statusOf(ref)).toMatchObject({ state: 'Stable', ports: [{ port: 8443, protocol: 'TCP' }] });
  });

  test('is opened in the firewall that its class has come to name meanwhile, and nothing is left in the other one', async ({ open }) => {
    const world = open({ provider: { actionMs: 2 * SECOND } });
    world.provider.cloud.addFirewall('other', ['tcp/22']);
    world.setClass();
    world.setNode(OLD);
    world.setWeb('shop', ['old']);
    await world.leader();
    const ref = world.setRoutedIP('shop');
    await world.clock.runUntil(() => world.assigns().length === 1, 10 * SECOND);
    world.setClass({ routedIPFirewallName: 'other' });
    await world.stable(ref, 'old');
    await world.clock.advance(5 * SECOND);
    expect(world.firewall('other')).toEqual({ ports: ['tcp/22', 'tcp/8080'], nodes: [providerIDOf('old')] });
    expect(world.firewall(FIREWALL)).toEqual({ ports: ['tcp/22'], nodes: [] });
  });
});

describe('a spec that names its address no longer', () => {
  test('keeps it: no other one is created, and it is not moved', async ({ open }) => {
    const world = open();
    world.setClass();
    world.setNode(OLD);
    world.address(A);
    world.setWeb('shop', ['old']);
    const process = await world.leader();
    const ref = world.setRoutedIP('shop', { routedIP: A });
    await world.stable(ref, 'old');
    const before = world.changes().length;
    world.setRoutedIP('shop');
    await world.clock.advance(MINUTE);
    await world.restart(process);
    await world.clock.advance(MINUTE);
    expect(world.statusOf(ref)).toMatchObject({
      routedIP: A,
      addressOrigin: 'Found',
      assignedNode: 'old',
      state: 'Stable',
      observedGeneration: 2,
    });
    expect(world.changes().slice(before)).toEqual([]);
  });
});

describe('a leader that knows nothing but what statuses say', () => {
  test('closes nothing on the node that an address leaves before the address is confirmed on the next one', async ({ open }) => {
    const world = open({ provider: { actionMs: 5 * SECOND } });
    world.setClass();
    world.setNode(OLD, YOUNG);
    world.setWeb('shop', ['old', 'young']);
    const first = await world.leader();
    const ref = world.setRoutedIP('shop');
    await world.stable(ref, 'young');
    first.kill();
    world.store.wipe();
    world.queues.wipe();
    world.invariants.forget();
    world.cluster.setNode({ ...YOUNG, labels: { ...YOUNG.labels, 'node.kubernetes.io/exclude-from-external-load-balancers': '' } });
    await world.leader();
    await world.clock.runUntil(() => world.assigns().length === 2, MINUTE);
    await world.clock.advance(4 * SECOND);
    expect(world.holderOf(String(world.statusOf(ref).routedIP)), 'it is still under way').toBe('young');
    expect(world.firewall().nodes).toEqual([providerIDOf('old'), providerIDOf('young')]);
    await world.stable(ref, 'old');
    expect(world.firewall()).toEqual({ ports: ['tcp/22', 'tcp/8080'], nodes: [providerIDOf('old')] });
  });
});

describe('the mark of a holder', () => {
  test('is taken off also while the address that another RoutedIP has got belongs to a pool, as before whoever had one kept it', async ({
    open,
  }) => {
    const world = open();
    const beside = { createdAt: 0, labels: { pool: 'beside' } };
    world.setClass();
    world.setNode(OLD, YOUNG, node('third', beside), node('fourth', beside));
    for (const address of [A, B, C]) world.address(address);
    world.setWeb('shop', ['young']);
    world.setWeb('blog', ['old']);
    const pool = world.pool('beside', { ips: [C, A], match: { nodeLabel: 'pool=beside' } });
    await world.leader();
    await world.untilStates(pool, { [A]: 'active', [C]: 'active' });
    const spec = { className: CLASS_NAME, serviceRef: { serviceName: 'shop' }, routedIP: A };
    const shop = world.cluster.setPool({ kind: 'RoutedIP', namespace: 'web', name: 'shop', spec, status: { routedIP: A } });
    const blog = world.setRoutedIP('blog', { routedIP: B });
    await world.stable(blog);
    await world.untilReason(shop, 'AddressConflict');
    expect(world.cluster.holders()).toEqual({ old: 'PreferNoSchedule' });
    world.cluster.markDeleting(blog);
    await world.clock.runUntil(() => world.cluster.pool(blog) === null, 30 * SECOND);
    await world.clock.runUntil(() => Object.keys(world.cluster.holders()).length === 0, 30 * SECOND);
  });

  test('is off before its RoutedIP is gone: nobody would look for it after the last one', async ({ open }) => {
    const world = open();
    world.setClass();
    world.setNode(OLD);
    world.setWeb('shop', ['old']);
    await world.leader();
    const ref = world.setRoutedIP('shop');
    await world.stable(ref, 'old');
    expect(world.cluster.holders()).toEqual({ old: 'PreferNoSchedule' });
    world.cluster.markDeleting(ref);
    let borne: readonly string[] = ['nothing was seen'];
    await world.clock.runUntil(() => {
      if (world.cluster.pool(ref) === null) return true;
      borne = Object.keys(world.cluster.holders());
      return false;
    }, 30 * SECOND);
    expect(borne).not.toContain('nothing was seen');
    expect(world.cluster.holders()).toEqual({});
  });

  test('is taken off by the next leader where a RoutedIP was let go at once and its operator ended', async ({ open }) => {
    const world = open();
    world.setClass();
    world.setNode(OLD);
    world.setWeb('shop', ['old']);
    const process = await world.leader();
    const ref = world.setRoutedIP('shop');
    await world.stable(ref, 'old');
    world.cluster.failWrites();
    world.cluster.markDeleting(ref);
    world.cluster.annotate(ref, { 'routedip.io/force-release': 'true' });
    await world.clock.advance(5);
    process.kill();
    world.cluster.mendWrites();
    expect(world.cluster.holders()).toEqual({ old: 'PreferNoSchedule' });
    await world.leader();
    await world.clock.runUntil(() => world.cluster.pool(ref) === null, MINUTE);
    expect(world.cluster.holders()).toEqual({});
  });
});
