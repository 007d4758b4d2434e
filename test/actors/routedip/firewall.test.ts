import { describe, expect } from 'vitest';
import type { Address, ObjectRef, ProviderID } from '../../../machines/model/types.ts';
import { node, providerIDOf } from '../../support/world.ts';
import { test } from './routedip-test.ts';
import { FIREWALL, MINUTE, type RoutedWorld, SECOND, servicePort } from './world.ts';

const A = '203.0.113.7' as Address;
const B = '203.0.113.8' as Address;
const NODES = ['a', 'b', 'c', 'd'].map((name, index) => node(name, { createdAt: index }));
const NAMES = NODES.map(({ name }) => name);
/** Of what is lost. */
const lost = (name: string | null) => ({ ...node(name ?? ''), ready: false });

/** RoutedIPs `shop` (address A) and `blog` (address B) may be on four nodes, of which `d` is the youngest. */
async function ready(world: RoutedWorld, policy: Parameters<RoutedWorld['setClass']>[0] = {}) {
  world.setClass(policy);
  world.setNode(...NODES);
  world.address(A);
  world.address(B);
  world.setWeb('shop', NAMES);
  world.setWeb('blog', NAMES);
  return world.leader();
}
const shop = (world: RoutedWorld): ObjectRef => world.setRoutedIP('shop', { routedIP: A });
const blog = (world: RoutedWorld): ObjectRef => world.setRoutedIP('blog', { routedIP: B });
const port = (number: number) => ({ ports: [servicePort(number)] });
const isAboutFirewalls = (verb: string): boolean => verb.includes('Firewall');
const firewallCalls = (world: RoutedWorld): readonly string[] => world.provider.calls.map(({ verb }) => verb).filter(isAboutFirewalls);
const deletions = (world: RoutedWorld): readonly string[] => world.changes().filter((verb) => verb.startsWith('delete'));
const idle = async (world: RoutedWorld): Promise<void> => world.clock.advance(5 * SECOND);

describe('a firewall', () => {
  test('that is not named is not touched: elect, then assign', async ({ open }) => {
    const world = open();
    await ready(world, { routedIPFirewallName: '' });
    const ref = shop(world);
    await world.stable(ref, 'd');
    world.cluster.setNode(lost('d'));
    await world.stable(ref, 'c');
    expect(firewallCalls(world)).toEqual([]);
    expect(world.changes()).toEqual(['assignRoutedIP', 'assignRoutedIP']);
    expect(world.reasonOf(ref, 'FirewallReady')).toBe('NoFirewall');
  });

  test('that does not exist blocks the move while the old holder keeps serving; another one that the class names lets it go on at once', async ({
    open,
  }) => {
    const world = open();
    await ready(world);
    const ref = shop(world);
    await world.stable(ref, 'd');
    const before = world.changes().length;
    world.setClass({ routedIPFirewallName: 'missing' });
    await world.untilReason(ref, 'FirewallNotFound', 'FirewallReady');
    world.cluster.setNode(lost('d'));
    await world.clock.advance(20 * MINUTE);
    expect(world.holderOf(A)).toBe('d');
    expect(world.reasonOf(ref)).toBe('FirewallNotFound');
    expect(world.messageOf(ref)).toContain('firewall "missing" does not exist');
    expect(world.eventsOf(ref)).toContain('FirewallNotFound');
    expect(world.changes().slice(before), 'nothing is done, and what the old one has stays').toEqual([]);
    expect(world.firewall().nodes).toEqual([providerIDOf('d')]);
    world.provider.cloud.addFirewall('other', ['tcp/22']);
    world.setClass({ routedIPFirewallName: 'other' });
    await world.stable(ref, 'c', 3 * SECOND);
    expect(world.firewall('other')).toEqual({ ports: ['tcp/22', 'tcp/8080'], nodes: [providerIDOf('c')] });
    expect(world.firewall()).toEqual({ ports: ['tcp/22'], nodes: [] });
  });

  test('that does not exist is looked for every 30 s, and used once somebody made it', async ({ open }) => {
    const world = open();
    await ready(world, { routedIPFirewallName: 'later' });
    const ref = shop(world);
    await world.untilReason(ref, 'FirewallNotFound');
    const looked = firewallCalls(world).length;
    await world.clock.advance(25 * SECOND);
    expect(firewallCalls(world)).toHaveLength(looked);
    await world.clock.advance(60 * MINUTE);
    expect(firewallCalls(world).length - looked).toBeLessThanOrEqual(121);
    expect(world.changes(), 'none is made').toEqual([]);
    world.provider.cloud.addFirewall('later', []);
    await world.stable(ref, 'd', 35 * SECOND);
  });

  test('that does not exist has no address created for it, which would cost money, until somebody made it', async ({ open }) => {
    const world = open();
    await ready(world, { routedIPFirewallName: 'later' });
    const ref = world.setRoutedIP('shop');
    await world.untilReason(ref, 'FirewallNotFound');
    await world.clock.advance(20 * MINUTE);
    expect([world.changes(), world.statusOf(ref).routedIP]).toEqual([[], undefined]);
    expect(world.messageOf(ref, 'FirewallReady')).toContain('firewall "later" does not exist');
    expect(world.reasonOf(ref, 'FirewallReady')).toBe('FirewallNotFound');
    expect(world.eventsOf(ref)).toContain('FirewallNotFound');
    world.provider.cloud.addFirewall('later', []);
    await world.stable(ref, 'd', 35 * SECOND);
    expect(world.changes()[0]).toBe('createRoutedIP');
  });

  test('that somebody deleted does not keep its address from going to another one, nor its RoutedIP from being deleted', async ({
    open,
  }) => {
    const world = open();
    await ready(world);
    const [first, second] = [shop(world), blog(world)];
    await world.stable(first);
    await world.stable(second);
    world.provider.cloud.addFirewall('other', ['tcp/22']);
    world.provider.cloud.removeFirewall(FIREWALL);
    world.cluster.markDeleting(second);
    await world.clock.runUntil(() => world.cluster.pool(second) === null, 10 * SECOND);
    world.setClass({ routedIPFirewallName: 'other' });
    await world.clock.runUntil(() => world.firewall('other').nodes.length === 1, 5 * SECOND);
    await world.stable(first);
    expect(world.statusOf(first)).toMatchObject({ firewall: 'other', ports: [{ port: 8080, protocol: 'TCP' }] });
    expect(world.firewallRecord()?.owned).toEqual({ ports: [], nodes: [] });
  });

  const many = Array.from({ length: 50 }, (_, index) => `tcp/${1000 + index}`);
  const ten = Array.from({ length: 10 }, (_, index) => `digitalocean://full-${index}` as ProviderID);
  test.for([
    ['of 50 rules takes no 51st', many, []],
    ['of 10 droplets takes no 11th', ['tcp/22'], ten],
  ] as const)(
    '%s: FirewallLimit is said, the old holder keeps serving, and nothing is removed to make room',
    async ([, ports, nodes], { open }) => {
      const world = open();
      world.provider.cloud.addNode(...ten);
      world.provider.cloud.addFirewall('full', ports, nodes);
      await ready(world, { routedIPFirewallName: 'full' });
      world.provider.cloud.moveByHand(A, providerIDOf('a'));
      const ref = shop(world);
      await world.untilReason(ref, 'FirewallLimit');
      await world.clock.advance(20 * MINUTE);
      expect(world.reasonOf(ref, 'FirewallReady')).toBe('FirewallLimit');
      expect(world.eventsOf(ref)).toContain('FirewallLimit');
      world.cluster.setNode(lost('a'));
      await world.clock.advance(20 * MINUTE);
      expect(world.holderOf(A)).toBe('a');
      expect(world.assigns()).toEqual([]);
      expect(deletions(world)).toEqual([]);
      expect(world.firewall('full').ports).toEqual(expect.arrayContaining([...ports]));
      expect(world.firewall('full').nodes).toEqual(expect.arrayContaining([...nodes]));
      world.provider.cloud.addFirewall('full', ['tcp/22'], []);
      await world.stable(ref, 'd', 15 * MINUTE);
    },
  );

  test('that is full for one RoutedIP keeps no other one that shares it from moving', async ({ open }) => {
    const world = open();
    // One rule and one droplet fewer than it takes.
    world.provider.cloud.addFirewall('tight', many.slice(1), []);
    await ready(world, { routedIPFirewallName: 'tight' });
    const first = shop(world);
    await world.stable(first, 'd');
    world.setWeb('blog', NAMES, port(9090));
    const second = blog(world);
    await world.untilReason(second, 'FirewallLimit');
    world.cluster.setNode(lost('d'));
    await world.stable(first, undefined, 10 * SECOND);
    await world.clock.runUntil(() => world.holderOf(A) !== 'd', 10 * SECOND);
    await world.stable(first);
    expect(world.reasonOf(first, 'FirewallReady')).toBe('FirewallOpened');
    expect(world.firewall('tight').nodes).toEqual([providerIDOf(world.holderOf(A) ?? '')]);
    expect(world.reasonOf(second)).toBe('FirewallLimit');
  });
});

describe('a rule', () => {
  test('that two RoutedIPs need stays as long as one of them does', async ({ open }) => {
    const world = open();
    await ready(world);
    const [first, second] = [shop(world), blog(world)];
    await world.stable(first);
    await world.stable(second);
    expect(world.firewall().ports).toEqual(['tcp/22', 'tcp/8080']);
    world.setWeb('blog', NAMES, port(9090));
    await world.clock.runUntil(() => world.firewall().ports.includes('tcp/9090'), 5 * SECOND);
    await idle(world);
    expect(world.firewall().ports, 'one needs it still').toEqual(['tcp/22', 'tcp/8080', 'tcp/9090']);
    world.setWeb('shop', NAMES, port(9090));
    await world.clock.runUntil(() => world.firewall().ports.join() === 'tcp/22,tcp/9090', 10 * SECOND);
    await world.stable(first);
    expect(world.assigns()).toHaveLength(2);
  });

  test('is open for both of two RoutedIPs with different ports in one firewall, and closed with the one that goes', async ({ open }) => {
    const world = open();
    await ready(world);
    world.setWeb('blog', NAMES, port(9090));
    const [first, second] = [shop(world), blog(world)];
    await world.stable(first);
    await world.stable(second);
    const holders = () => [A, B].map((address) => providerIDOf(world.holderOf(address) ?? '')).sort();
    expect(world.firewall()).toEqual({ ports: ['tcp/22', 'tcp/8080', 'tcp/9090'], nodes: holders() });
    const warnings = world.cluster.projections.flatMap(({ events }) => events).filter(({ reason }) => reason === 'FirewallShared');
    expect(warnings, 'the union is open on both nodes').toContainEqual(expect.objectContaining({ type: 'Warning' }));
    world.cluster.setNode(lost(world.holderOf(A)));
    await world.clock.runUntil(() => world.assigns().length === 3, 10 * SECOND);
    await world.stable(first);
    expect(world.firewall()).toEqual({ ports: ['tcp/22', 'tcp/8080', 'tcp/9090'], nodes: holders() });
    world.cluster.markDeleting(second);
    await world.clock.runUntil(() => world.cluster.pool(second) === null, 30 * SECOND);
    expect(world.firewall()).toEqual({ ports: ['tcp/22', 'tcp/8080'], nodes: [providerIDOf(world.holderOf(A) ?? '')] });
  });

  test('that is refused when it is added once more, since a limit ended the try that added it, is ours all the same', async ({ open }) => {
    const world = open();
    await ready(world);
    world.provider.faults.next('addRoutedIPFirewallNode', { kind: 'refuse', error: 'RateLimited', retryAfterMs: 2 * SECOND });
    const ref = shop(world);
    await world.clock.runUntil(() => world.firewall().ports.includes('tcp/8080'), 5 * SECOND);
    world.provider.faults.next('addRoutedIPFirewallPort', { kind: 'refuse', error: 'Invalid' });
    await world.stable(ref, 'd');
    expect(world.changes().slice(0, 4)).toEqual([
      'addRoutedIPFirewallPort',
      'addRoutedIPFirewallNode',
      'addRoutedIPFirewallPort',
      'addRoutedIPFirewallNode',
    ]);
    world.cluster.markDeleting(ref);
    await world.clock.runUntil(() => world.cluster.pool(ref) === null, 30 * SECOND);
    expect(world.firewall()).toEqual({ ports: ['tcp/22'], nodes: [] });
  });

  test('of somebody else that equals ours is neither added again nor removed later', async ({ open }) => {
    const world = open();
    world.provider.cloud.addFirewall(FIREWALL, ['tcp/22', 'tcp/8080'], [providerIDOf('d')]);
    await ready(world);
    const ref = shop(world);
    await world.stable(ref, 'd');
    expect(world.changes()).toEqual(['assignRoutedIP']);
    world.setWeb('shop', NAMES, port(9090));
    await world.clock.runUntil(() => world.firewall().ports.includes('tcp/9090'), 5 * SECOND);
    world.cluster.setNode(lost('d'));
    await world.stable(ref, 'c');
    expect(world.firewall()).toEqual({ ports: ['tcp/22', 'tcp/8080', 'tcp/9090'], nodes: [providerIDOf('c'), providerIDOf('d')] });
    world.cluster.markDeleting(ref);
    await world.clock.runUntil(() => world.cluster.pool(ref) === null, 30 * SECOND);
    expect(world.firewall()).toEqual({ ports: ['tcp/22', 'tcp/8080'], nodes: [providerIDOf('d')] });
  });

  test('that is the last one stays, since a firewall needs one: PruneDeferred is said, and it goes when there is another', async ({
    open,
  }) => {
    const world = open();
    world.provider.cloud.addFirewall(FIREWALL, []);
    await ready(world);
    const ref = shop(world);
    await world.stable(ref, 'd');
    expect(world.firewall().ports).toEqual(['tcp/8080']);
    // Within the range that is open anyway: nothing is to be opened any more.
    world.setWeb('shop', NAMES, port(30080));
    await world.clock.runUntil(() => world.eventsOf(ref).includes('PruneDeferred'), 5 * SECOND);
    await world.stable(ref, 'd');
    expect(world.reasonOf(ref, 'FirewallReady')).toBe('PruneDeferred');
    expect(world.reasonOf(ref)).toBe('Assigned');
    const calls = world.provider.calls.length;
    await world.clock.advance(4 * MINUTE);
    expect(world.firewall().ports).toEqual(['tcp/8080']);
    expect(world.provider.calls.length - calls, 'it is not tried all the time').toBeLessThan(10);
    world.setWeb('shop', NAMES, port(9090));
    await world.clock.runUntil(() => world.firewall().ports.join() === 'tcp/9090', 5 * SECOND);
    await world.untilReason(ref, 'FirewallOpened', 'FirewallReady', 5 * SECOND);
  });

  test('that is the last one keeps no RoutedIP from going', async ({ open }) => {
    const world = open();
    world.provider.cloud.addFirewall(FIREWALL, []);
    await ready(world);
    const ref = shop(world);
    await world.stable(ref, 'd');
    world.cluster.markDeleting(ref);
    await world.clock.runUntil(() => world.cluster.pool(ref) === null, 10 * SECOND);
    expect(world.firewall()).toEqual({ ports: ['tcp/8080'], nodes: [] });
    const calls = world.provider.calls.length;
    await world.clock.advance(10 * MINUTE);
    expect(world.provider.calls.length - calls).toBeLessThan(20);
  });
});

describe('firewallPostAllow', () => {
  test('touches the firewall only once the address is confirmed: then opens, then prunes', async ({ open }) => {
    const world = open({ provider: { actionMs: 5 * SECOND } });
    await ready(world, { firewallPostAllow: true });
    const ref = shop(world);
    await world.clock.runUntil(() => world.assigns().length === 1, 5 * SECOND);
    await world.clock.advance(4 * SECOND);
    expect(firewallCalls(world), 'not even looked at').toEqual([]);
    await world.stable(ref, 'd');
    expect(world.changes()).toEqual(['assignRoutedIP', 'addRoutedIPFirewallPort', 'addRoutedIPFirewallNode']);
    world.cluster.setNode(lost('d'));
    await world.stable(ref, 'c');
    expect(world.eventsOf(ref)).toEqual([
      'AddressFound',
      'NodeElected',
      'Assigned',
      'FirewallOpened',
      'NodeElected',
      'Assigned',
      'FirewallOpened',
      'Pruned',
    ]);
    expect(world.changes().slice(3)).toEqual(['assignRoutedIP', 'addRoutedIPFirewallNode', 'deleteRoutedIPFirewallNode']);
  });
});

describe('another firewall that the class names', () => {
  test('is opened first, and what was added to the former one is taken out of it then, without moving the address', async ({ open }) => {
    const world = open();
    world.provider.cloud.addFirewall('next', ['tcp/22']);
    await ready(world);
    const ref = shop(world);
    await world.stable(ref, 'd');
    const before = world.changes().length;
    world.setClass({ routedIPFirewallName: 'next' });
    await world.clock.runUntil(() => world.firewall().nodes.length === 0, 5 * SECOND);
    await world.stable(ref, 'd');
    const about = world.provider
      .writes()
      .slice(before)
      .map(({ verb, args }) => `${verb} ${args[0]}`);
    expect(about).toEqual([
      'addRoutedIPFirewallPort next',
      'addRoutedIPFirewallNode next',
      'deleteRoutedIPFirewallPort edge',
      'deleteRoutedIPFirewallNode edge',
    ]);
    expect(world.firewall()).toEqual({ ports: ['tcp/22'], nodes: [] });
    expect(world.firewall('next')).toEqual({ ports: ['tcp/22', 'tcp/8080'], nodes: [providerIDOf('d')] });
    expect(world.statusOf(ref)).toMatchObject({ firewall: 'next', state: 'Stable' });
  });

  test('of several RoutedIPs leaves nothing of ours in the former one', async ({ open }) => {
    const world = open();
    world.provider.cloud.addFirewall('next', ['tcp/22']);
    await ready(world);
    const [first, second] = [shop(world), blog(world)];
    await world.stable(first);
    await world.stable(second);
    world.setClass({ routedIPFirewallName: 'next' });
    await world.clock.runUntil(() => world.firewall().nodes.length === 0 && world.firewall().ports.length === 1, 10 * SECOND);
    await world.stable(first);
    await world.stable(second);
    expect(world.firewall('next').nodes).toHaveLength(2);
    expect(world.assigns()).toHaveLength(2);
  });

  test('by no name leaves nothing of ours in the former one', async ({ open }) => {
    const world = open();
    await ready(world);
    const ref = shop(world);
    await world.stable(ref, 'd');
    world.setClass({ routedIPFirewallName: '' });
    await world.clock.runUntil(() => world.firewall().nodes.length === 0, 10 * SECOND);
    await world.stable(ref, 'd');
    expect(world.firewall()).toEqual({ ports: ['tcp/22'], nodes: [] });
    expect(world.reasonOf(ref, 'FirewallReady')).toBe('NoFirewall');
  });
});
