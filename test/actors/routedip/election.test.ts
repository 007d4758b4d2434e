import { describe, expect } from 'vitest';
import type { Address, ObjectRef, ObservedNode } from '../../../machines/model/types.ts';
import { node, providerIDOf } from '../../support/world.ts';
import { test } from './routedip-test.ts';
import { FIREWALL, MINUTE, type RoutedWorld, SECOND } from './world.ts';

const A = '203.0.113.7';
const B = '203.0.113.8';
const DAY = 24 * 60 * MINUTE;
/** Created so long before some day. */
const aged = (name: string, age: number, change: Partial<ObservedNode> = {}) => node(name, { createdAt: 100 * DAY - age, ...change });

/** RoutedIPs `shop` and `blog` on the same nodes, each with an address of its own; the first ones are served at once. */
async function ready(world: RoutedWorld, nodes: readonly ObservedNode[], policy: Parameters<RoutedWorld['setClass']>[0] = {}) {
  world.setClass(policy);
  world.setNode(...nodes);
  world.address(A);
  world.address(B);
  const names = nodes.map(({ name }) => name);
  for (const name of ['shop', 'blog']) world.setWeb(name, names);
  return world.leader();
}
const shop = (world: RoutedWorld): ObjectRef => world.setRoutedIP('shop', { routedIP: A });
const blog = (world: RoutedWorld): ObjectRef => world.setRoutedIP('blog', { routedIP: B });
const holders = (world: RoutedWorld): readonly (string | null)[] => [world.holderOf(A), world.holderOf(B)];

describe('the election of a node', () => {
  test('takes the youngest of candidates aged three days, two days and an hour', async ({ open }) => {
    const world = open();
    await ready(world, [aged('c', 3 * DAY), aged('a', 2 * DAY), aged('b', DAY / 24)]);
    await world.stable(shop(world), 'b');
  });

  test('takes the one with fewer addresses of two that are of the same age, and the first by name of two that have equally many', async ({
    open,
  }) => {
    const world = open({ facts: { addressesPerNode: 3 }, provider: { addressesPerNode: 3 } });
    await ready(world, [aged('b', DAY), aged('a', DAY)], { perNodeIPLimit: 3 });
    await world.stable(shop(world), 'a');
    await world.stable(blog(world), 'b');
    world.setWeb('third', ['b', 'a']);
    await world.stable(world.setRoutedIP('third'), 'a');
  });

  test('is not repeated when a younger candidate joins', async ({ open }) => {
    const world = open();
    await ready(world, [aged('old', DAY)]);
    const ref = shop(world);
    await world.stable(ref, 'old');
    const before = world.changes().length;
    world.setNode(aged('young', 0));
    world.setWeb('shop', ['old', 'young']);
    await world.clock.advance(11 * MINUTE);
    expect(world.statusOf(ref)).toMatchObject({ state: 'Stable', assignedNode: 'old' });
    expect(world.changes().slice(before)).toEqual([]);
  });

  test('passes by nodes without a providerID, or of another provider', async ({ open }) => {
    const world = open();
    const bare = aged('bare', 0, { providerID: '' });
    const foreign = aged('foreign', 0, { providerID: 'aws:///eu-west-1a/i-0abc' });
    world.setClass();
    world.address(A);
    world.cluster.setNode(bare, foreign);
    world.setNode(aged('fit', DAY));
    world.setWeb('shop', ['bare', 'foreign', 'fit']);
    await world.leader();
    const ref = shop(world);
    await world.stable(ref, 'fit');
    world.cluster.setNode(aged('fit', DAY, { ready: false }));
    await world.untilReason(ref, 'NoEligibleNode');
    await world.clock.advance(MINUTE);
    expect(world.holderOf(A)).toBe('fit');
    world.setNode({ ...bare, providerID: providerIDOf('bare') });
    await world.stable(ref, 'bare');
  });

  test.for([
    ['that is not Ready', { ready: false }],
    ['that is cordoned', { unschedulable: true }],
    ['that is being deleted', { deleting: true }],
    ['with a taint that is not tolerated', { taints: [{ key: 'dedicated', value: 'db', effect: 'NoSchedule' }] }],
    ['that is kept out of load balancing', { labels: { 'node.kubernetes.io/exclude-from-external-load-balancers': '' } }],
    ['in another region', { region: 'fra1' }],
  ] as const)('passes by a node %s', async ([, change], { open }) => {
    const world = open();
    await ready(world, [aged('unfit', 0, change), aged('fit', DAY)]);
    const ref = shop(world);
    await world.stable(ref, 'fit');
    world.setNode(aged('unfit', 0));
    world.cluster.setNode(aged('fit', DAY, { ready: false }));
    await world.stable(ref, 'unfit');
  });

  test('takes a node whose taint the class tolerates, and one that bears only the mark of a holder', async ({ open }) => {
    const world = open();
    const taints = [
      { key: 'dedicated', value: 'edge', effect: 'NoSchedule' },
      { key: 'routedip.io/routed-ip', value: '', effect: 'NoSchedule' },
    ];
    await ready(world, [aged('edge', 0, { taints }), aged('fit', DAY)], { tolerations: [{ key: 'dedicated', operator: 'Exists' }] });
    await world.stable(shop(world), 'edge');
  });
});

describe('a holder', () => {
  test('that is cordoned is left for another eligible node: opened there, moved, closed here', async ({ open }) => {
    const world = open();
    await ready(world, [aged('old', DAY), aged('young', 0)]);
    const ref = shop(world);
    await world.stable(ref, 'young');
    const before = world.changes().length;
    world.cluster.setNode(aged('young', 0, { unschedulable: true }));
    await world.stable(ref, 'old');
    expect(world.changes().slice(before)).toEqual(['addRoutedIPFirewallNode', 'assignRoutedIP', 'deleteRoutedIPFirewallNode']);
    expect(world.firewall().nodes).toEqual([providerIDOf('old')]);
  });

  test('that is cordoned keeps the address and serves while there is no other node', async ({ open }) => {
    const world = open();
    await ready(world, [aged('only', DAY)]);
    const ref = shop(world);
    await world.stable(ref, 'only');
    const before = world.changes().length;
    world.cluster.setNode(aged('only', DAY, { unschedulable: true }));
    await world.clock.advance(11 * MINUTE);
    expect(world.statusOf(ref)).toMatchObject({ state: 'Stable', assignedNode: 'only' });
    expect(world.reasonOf(ref)).toBe('Assigned');
    expect(world.changes().slice(before)).toEqual([]);
    world.setNode(aged('next', DAY));
    world.setWeb('shop', ['only', 'next']);
    await world.stable(ref, 'next');
  });

  test('that is not Ready for 5 of 30 seconds of grace keeps its address; one that stays away is left then', async ({ open }) => {
    const world = open();
    await ready(world, [aged('old', DAY), aged('young', 0)], { recoveryGraceSeconds: 30 });
    const ref = shop(world);
    await world.stable(ref, 'young');
    const before = world.changes().length;
    world.cluster.setNode(aged('young', 0, { ready: false }));
    world.setWeb('shop', ['old']);
    await world.clock.advance(5 * SECOND);
    expect(world.statusOf(ref)).toMatchObject({ state: 'Stable', graceUntil: expect.any(String) });
    world.cluster.setNode(aged('young', 0));
    world.setWeb('shop', ['old', 'young']);
    await world.clock.advance(MINUTE);
    expect(world.changes().slice(before)).toEqual([]);
    expect(world.statusOf(ref)).toMatchObject({ state: 'Stable', assignedNode: 'young' });
    world.cluster.setNode(aged('young', 0, { ready: false }));
    world.setWeb('shop', ['old']);
    await world.clock.advance(29 * SECOND);
    expect(world.changes().slice(before)).toEqual([]);
    await world.stable(ref, 'old', 5 * SECOND);
  });

  test('whose Node is deleted is left at once, whatever grace it has', async ({ open }) => {
    const world = open();
    await ready(world, [aged('old', DAY), aged('young', 0)], { recoveryGraceSeconds: 30 });
    const ref = shop(world);
    await world.stable(ref, 'young');
    world.cluster.removeNode('young');
    expect(await world.clock.runUntil(() => world.holderOf(A) === 'old', 30 * SECOND)).toBeLessThan(2 * SECOND);
    await world.stable(ref, 'old');
  });
});

describe('the limit of a node', () => {
  test('leaves a RoutedIP without a node when all are full, and wakes it when one gets room', async ({ open }) => {
    const world = open();
    await ready(world, [aged('a', DAY), aged('b', 0)]);
    await world.stable(shop(world), 'b');
    await world.stable(blog(world), 'a');
    world.setWeb('third', ['a', 'b']);
    const third = world.setRoutedIP('third');
    await world.untilReason(third, 'NoEligibleNode');
    await world.clock.advance(10 * MINUTE);
    expect(world.statusOf(third)).not.toHaveProperty('assignedNode');
    world.setNode(aged('c', DAY));
    world.setWeb('blog', ['c']);
    await world.stable(third, 'a', 10 * SECOND);
    expect(world.holderOf(B)).toBe('c');
  });

  test('has two RoutedIPs that elect at the same instant take different nodes', async ({ open }) => {
    const world = open();
    await ready(world, [aged('a', DAY), aged('b', DAY)]);
    const [first, second] = [shop(world), blog(world)];
    await world.clock.runUntil(() => world.holderOf(A) !== null && world.holderOf(B) !== null, 10 * SECOND);
    await world.stable(first);
    await world.stable(second);
    expect([...holders(world)].sort()).toEqual(['a', 'b']);
    expect(world.assigns().map(({ result }) => result)).toEqual(['ok', 'ok']);
  });

  test('has two RoutedIPs that lose their nodes at the same instant take different ones again', async ({ open }) => {
    const world = open();
    const all = ['a', 'b', 'c', 'd'].map((name) => aged(name, DAY));
    await ready(world, all);
    const [first, second] = [shop(world), blog(world)];
    await world.stable(first);
    await world.stable(second);
    const lost = holders(world);
    world.cluster.setNode(...all.map((each) => (lost.includes(each.name) ? { ...each, ready: false } : each)));
    await world.clock.runUntil(() => holders(world).every((holder) => holder !== null && !lost.includes(holder)), 10 * SECOND);
    expect([...holders(world)].sort()).toEqual(all.map(({ name }) => name).filter((name) => !lost.includes(name)));
  });

  test('of 3 is 1 on DigitalOcean, with a Warning', async ({ open }) => {
    const world = open();
    await ready(world, [aged('a', DAY)], { perNodeIPLimit: 3 });
    const first = shop(world);
    await world.stable(first, 'a');
    const second = blog(world);
    await world.untilReason(second, 'NoEligibleNode');
    await world.clock.advance(MINUTE);
    expect(world.assigns()).toHaveLength(1);
    expect(world.eventsOf(first)).toContain('PerNodeIPLimitClamped');
    const [told] = world.cluster.projections.flatMap(({ events }) => events).filter(({ reason }) => reason === 'PerNodeIPLimitClamped');
    expect(told).toMatchObject({ type: 'Warning', message: expect.stringContaining('perNodeIPLimit is 3') });
  });

  test('of 3 lets three RoutedIPs share a node where the provider allows it, and spreads those that are elected at the same instant', async ({
    open,
  }) => {
    const world = open({ facts: { addressesPerNode: 100 }, provider: { addressesPerNode: 100 } });
    world.setClass({ perNodeIPLimit: 3 });
    world.setNode(aged('a', DAY), aged('b', DAY));
    const names = ['one', 'two', 'three', 'four', 'five', 'six'];
    for (const name of [...names, 'seven']) world.setWeb(name, ['a', 'b']);
    await world.leader();
    const refs = names.map((name) => world.setRoutedIP(name));
    for (const ref of refs) await world.stable(ref);
    const on = refs.map((ref) => world.statusOf(ref).assignedNode);
    expect([...on].sort()).toEqual(['a', 'a', 'a', 'b', 'b', 'b']);
    const seventh = world.setRoutedIP('seven');
    await world.untilReason(seventh, 'NoEligibleNode');
    expect(world.eventsOf(refs[0] as ObjectRef)).not.toContain('PerNodeIPLimitClamped');
  });

  test('sends addresses that lose a node they shared to the nodes with fewer addresses', async ({ open }) => {
    const world = open({ facts: { addressesPerNode: 100 }, provider: { addressesPerNode: 100 } });
    world.setClass({ perNodeIPLimit: 3 });
    world.setNode(aged('a', 0), aged('b', DAY), aged('c', DAY));
    world.setWeb('busy', ['b']);
    const pair = ['one', 'two'];
    for (const name of pair) world.setWeb(name, ['a', 'b', 'c']);
    await world.leader();
    await world.stable(world.setRoutedIP('busy'), 'b');
    const refs = pair.map((name) => world.setRoutedIP(name));
    for (const ref of refs) await world.stable(ref, 'a');
    world.cluster.setNode(aged('a', 0, { ready: false }));
    await world.clock.runUntil(() => refs.every((ref) => world.statusOf(ref).assignedNode !== 'a'), 10 * SECOND);
    for (const ref of refs) await world.stable(ref);
    expect(refs.map((ref) => world.statusOf(ref).assignedNode).sort()).toEqual(['b', 'c']);
  });

  test('that is not reached leaves the youngest node the first choice, although it holds an address', async ({ open }) => {
    const world = open({ facts: { addressesPerNode: 100 }, provider: { addressesPerNode: 100 } });
    await ready(world, [aged('old', DAY), aged('young', 0)], { perNodeIPLimit: 2 });
    await world.stable(shop(world), 'young');
    await world.clock.advance(6 * MINUTE);
    await world.stable(blog(world), 'young');
    world.setWeb('third', ['old', 'young']);
    await world.stable(world.setRoutedIP('third'), 'old');
  });

  test('that is raised gives those that wait a node at once', async ({ open }) => {
    const world = open({ facts: { addressesPerNode: 100 }, provider: { addressesPerNode: 100 } });
    await ready(world, [aged('a', DAY)], { perNodeIPLimit: 1 });
    await world.stable(shop(world), 'a');
    const second = blog(world);
    await world.untilReason(second, 'NoEligibleNode');
    world.setClass({ perNodeIPLimit: 2 });
    await world.stable(second, 'a', 5 * SECOND);
  });

  test('is shared with FloatingIPPools: a pool and a RoutedIP never take one droplet', async ({ open }) => {
    const world = open();
    await ready(world, [aged('a', DAY), aged('b', DAY)]);
    const pool = world.pool('ingress', { ips: [B] });
    const ref = shop(world);
    await world.stable(ref);
    await world.untilStates(pool, { [B]: 'active' });
    expect([...holders(world)].sort()).toEqual(['a', 'b']);
    const [holder, other] = holders(world);
    world.cluster.setNode(aged(holder ?? '', DAY, { ready: false }));
    await world.untilReason(ref, 'NoEligibleNode');
    await world.clock.advance(10 * MINUTE);
    expect(holders(world)).toEqual([holder, other]);
    expect(world.assigns().every(({ result }) => result === 'ok')).toBe(true);
    world.cluster.removePool(pool);
    world.provider.cloud.moveByHand(B as Address, null);
    await world.stable(ref, other ?? '', MINUTE);
  });
});

describe('a class that becomes invalid', () => {
  test.for([
    ['perNodeIPLimit 0', { perNodeIPLimit: 0 }, 'perNodeIPLimit must be'],
    ['perNodeIPLimit -1', { perNodeIPLimit: -1 }, 'perNodeIPLimit must be'],
    ['nodePortRange 40000-30000', { nodePortRange: '40000-30000' }, 'nodePortRange must be'],
    ['nodePortRange a-b', { nodePortRange: 'a-b' }, 'nodePortRange must be'],
  ] as const)('by %s says InvalidSpec, and what it said before stays in force', async ([, change, text], { open }) => {
    const world = open();
    const process = await ready(world, [aged('a', DAY), aged('b', 0), aged('c', 2 * DAY)]);
    const ref = shop(world);
    await world.stable(ref, 'b');
    const policy = world.setClass(change);
    await world.untilReason(policy, 'InvalidSpec');
    expect(world.messageOf(policy)).toContain(text);
    await world.untilReason(ref, 'InvalidSpec', 'Degraded');
    expect(world.reasonOf(ref)).toBe('Assigned');
    expect(world.eventsOf(ref)).toContain('InvalidSpec');
    const before = world.changes().length;
    world.cluster.setNode(aged('b', 0, { ready: false }));
    await world.stable(ref, 'a');
    expect(world.changes().slice(before)).toEqual(['addRoutedIPFirewallNode', 'assignRoutedIP', 'deleteRoutedIPFirewallNode']);
    // Whoever leads next goes on with it, too.
    await world.restart(process);
    world.cluster.setNode(aged('a', DAY, { ready: false }));
    await world.stable(ref, 'c');
    expect(world.firewall(FIREWALL)).toEqual({ ports: ['tcp/22', 'tcp/8080'], nodes: [providerIDOf('c')] });
  });

  test('serves nobody who comes new, and all of them once it is mended', async ({ open }) => {
    const world = open();
    await ready(world, [aged('a', DAY)], { perNodeIPLimit: 0 });
    const ref = shop(world);
    await world.untilReason(ref, 'InvalidSpec');
    await world.clock.advance(10 * MINUTE);
    expect(world.changes()).toEqual([]);
    world.setClass();
    await world.stable(ref, 'a');
  });
});

describe('an elected node', () => {
  /** The firewall takes its time, so that a test can come in between. */
  const SLOW = { provider: { firewallMs: 20 * SECOND, actionMs: 10 * SECOND } };

  test('that is lost while its firewall is opened is elected no more: what was opened for it is closed once the address is elsewhere', async ({
    open,
  }) => {
    const world = open(SLOW);
    await ready(world, [aged('a', DAY), aged('b', 0)]);
    const ref = shop(world);
    await world.clock.runUntil(() => world.firewall().nodes.length > 0, 10 * SECOND);
    expect(world.statusOf(ref)).toMatchObject({ state: 'FirewallOpening', electedNode: 'b' });
    world.cluster.setNode(aged('b', 0, { ready: false }));
    await world.clock.runUntil(() => world.assigns().length > 0, MINUTE);
    expect(world.firewall().nodes, 'nothing is closed before').toEqual([providerIDOf('a'), providerIDOf('b')]);
    await world.stable(ref, 'a', 2 * MINUTE);
    expect(world.firewall().nodes).toEqual([providerIDOf('a')]);
    expect(world.assigns().map(({ what }) => what)).toEqual([`${A} → a`]);
    expect(world.cluster.holders()).toEqual({ a: 'PreferNoSchedule' });
  });

  test('that is lost after the assign was issued is waited for, and another one is elected then', async ({ open }) => {
    const world = open(SLOW);
    await ready(world, [aged('a', DAY), aged('b', 0)]);
    const ref = shop(world);
    await world.clock.runUntil(() => world.assigns().length === 1, MINUTE);
    world.cluster.setNode(aged('b', 0, { ready: false }));
    await world.clock.advance(5 * SECOND);
    expect(world.statusOf(ref)).toMatchObject({ state: 'Assigning', electedNode: 'b' });
    expect(world.assigns()).toHaveLength(1);
    await world.stable(ref, 'a', 2 * MINUTE);
    expect(world.assigns().map(({ what }) => what)).toEqual([`${A} → b`, `${A} → a`]);
    expect(world.firewall().nodes).toEqual([providerIDOf('a')]);
  });

  test('that turns out to hold an address already is left alone for a while: the next one is tried, and the former holder serves on', async ({
    open,
  }) => {
    const world = open();
    world.address('198.51.100.1', null);
    await ready(world, [aged('a', DAY), aged('b', 2 * DAY), aged('c', 3 * DAY)]);
    const ref = shop(world);
    await world.stable(ref, 'a');
    world.setWeb('shop', ['b', 'c']);
    world.provider.cloud.moveByHand('198.51.100.1' as Address, providerIDOf('b'));
    await world.clock.runUntil(() => world.eventsOf(ref).includes('NodeInUse'), 10 * SECOND);
    expect(world.holderOf(A), 'the former holder').toBe('a');
    await world.stable(ref, 'c');
    expect(world.assigns().map(({ what, result }) => [what, result])).toEqual([
      [`${A} → a`, 'ok'],
      [`${A} → b`, 'NodeInUse'],
      [`${A} → c`, 'ok'],
    ]);
    expect(world.firewall().nodes).toEqual([providerIDOf('c')]);
    expect(world.provider.cloud.find('198.51.100.1' as Address).providerID).toBe(providerIDOf('b'));
  });
});
