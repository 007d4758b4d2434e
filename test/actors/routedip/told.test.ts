import { describe, expect } from 'vitest';
import type { ObjectRef } from '../../../machines/model/types.ts';
import { node } from '../../support/world.ts';
import { test } from './routedip-test.ts';
import { MINUTE, RoutedWorld, SECOND } from './world.ts';

const OLD = node('old', { createdAt: 1 });
const YOUNG = node('young', { createdAt: 2 });

async function served(world: RoutedWorld, ofClass = {}, ofRoutedIP = {}): Promise<ObjectRef> {
  world.setClass(ofClass);
  world.setNode(OLD, YOUNG);
  world.setWeb('shop', ['old', 'young']);
  const ref = world.setRoutedIP('shop', ofRoutedIP);
  await world.leader();
  await world.stable(ref, 'young');
  return ref;
}

async function release(world: RoutedWorld, ref: ObjectRef): Promise<void> {
  world.cluster.markDeleting(ref);
  await world.clock.runUntil(() => world.cluster.pool(ref) === null, MINUTE);
}

/** Events of what goes: they are announced, since its status is written no more. */
const announced = (world: RoutedWorld, { uid }: ObjectRef): readonly string[] =>
  world.cluster.announced.filter(({ about }) => about.uid === uid).map(({ event }) => `${event.type} ${event.reason}: ${event.message}`);

const messages = (world: RoutedWorld, ref: ObjectRef, reason: string): readonly string[] =>
  world.cluster.projections
    .filter((projection) => projection.ref.uid === ref.uid)
    .flatMap(({ events }) => events.filter((event) => event.reason === reason).map(({ message }) => message));

describe('the Events of a RoutedIP', () => {
  test('tell each step of a move in the order in which it was taken', async ({ open }) => {
    const world = open();
    const ref = await served(world);
    expect(world.eventsOf(ref)).toEqual(['AddressCreated', 'NodeElected', 'FirewallOpened', 'Assigned']);
    world.cluster.setNode({ ...YOUNG, ready: false });
    await world.stable(ref, 'old');
    expect(world.eventsOf(ref).slice(4)).toEqual(['NodeElected', 'FirewallOpened', 'Assigned', 'Pruned']);
    expect(messages(world, ref, 'Pruned')).toEqual([`nothing is open for ${world.statusOf(ref).routedIP} on young any more`]);
  });

  test('say that ports are open after the assignment where the class has it so, and not before they are', async ({ open }) => {
    const world = open();
    world.provider.cloud.addFirewall('later', ['tcp/22']);
    const ref = await served(world, { firewallPostAllow: true });
    expect(world.eventsOf(ref)).toEqual(['AddressCreated', 'NodeElected', 'Assigned', 'FirewallOpened']);
    world.setClass({ firewallPostAllow: true, routedIPFirewallName: 'absent' });
    await world.untilReason(ref, 'FirewallNotFound', 'Degraded');
    expect(world.eventsOf(ref).slice(4)).toEqual(['FirewallNotFound']);
  });

  test('say what is left of a firewall that the class names no more', async ({ open }) => {
    const world = open();
    world.provider.cloud.addFirewall('other', ['tcp/22']);
    const ref = await served(world);
    world.setClass({ routedIPFirewallName: 'other' });
    await world.clock.runUntil(() => world.eventsOf(ref).includes('Pruned'), MINUTE);
    expect(messages(world, ref, 'Pruned')).toEqual([`nothing is open for ${world.statusOf(ref).routedIP} in edge any more`]);
    expect(world.firewall()).toEqual({ ports: ['tcp/22'], nodes: [] });
  });

  test('say of an address that stays that it does, when the RoutedIP is gone', async ({ open }) => {
    const world = open();
    const ref = await served(world);
    const { routedIP } = world.statusOf(ref);
    await release(world, ref);
    expect(announced(world, ref)).toEqual([`Normal Retained: ${routedIP} stays where it is`]);
  });

  test('say of an address that was deleted that it was', async () => {
    const world = new RoutedWorld();
    const ref = await served(world, { routedIPReclaimPolicy: 'Delete' });
    const { routedIP } = world.statusOf(ref);
    await release(world, ref);
    expect(world.changes().at(-1)).toBe('deleteRoutedIP');
    expect(announced(world, ref)).toEqual([`Normal Released: ${routedIP} was deleted at the provider`]);
  });

  test('warn of what is left of an address that was let go by force, and do not call it deleted', async ({ open }) => {
    const world = open();
    const ref = await served(world, { routedIPReclaimPolicy: 'Delete' });
    const { routedIP } = world.statusOf(ref);
    world.provider.faults.always('any', { kind: 'noConnection' });
    world.cluster.annotate(ref, { 'routedip.io/force-release': 'true' });
    await release(world, ref);
    expect(world.changes()).not.toContain('deleteRoutedIP');
    expect(announced(world, ref)).toEqual([expect.stringMatching(new RegExp(`^Warning Released: ${routedIP} was let go by force`))]);
  });
});

test('people are told of an address that was made for a RoutedIP which is deleted and let go at once before its status shows it', async ({
  open,
}) => {
  const world = open();
  world.setClass({ routedIPReclaimPolicy: 'Delete' });
  world.setNode(OLD, YOUNG);
  world.setWeb('shop', ['old', 'young']);
  const ref = world.setRoutedIP('shop');
  await world.leader();
  await world.clock.runUntil(() => world.changes().includes('createRoutedIP'), MINUTE);
  world.cluster.failWrites();
  await world.clock.advance(5 * SECOND);
  const [made] = world.provider.cloud.addresses().slice(-1);
  expect([made?.providerID, world.statusOf(ref).routedIP]).toEqual([null, undefined]);
  world.cluster.markDeleting(ref);
  world.cluster.annotate(ref, { 'routedip.io/force-release': 'true' });
  world.cluster.mendWrites();
  await world.clock.runUntil(() => world.cluster.pool(ref) === null, MINUTE);
  expect(world.changes()).not.toContain('deleteRoutedIP');
  expect(announced(world, ref)).toEqual([
    expect.stringMatching(new RegExp(`^Warning AddressLeft: ${made?.address} was made for this RoutedIP`)),
  ]);
});

describe('a firewall whose last rule is ours', () => {
  const bare = async (world: RoutedWorld): Promise<ObjectRef> => {
    world.provider.cloud.addFirewall('bare', []);
    const ref = await served(world, { routedIPFirewallName: 'bare' });
    expect(world.firewall('bare').ports).toEqual(['tcp/8080']);
    return ref;
  };

  test('keeps it, since it needs one, without its nodes; the RoutedIP says so, and nothing is asked again and again', async ({ open }) => {
    const world = open();
    const ref = await bare(world);
    await release(world, ref);
    expect(world.firewall('bare')).toEqual({ ports: ['tcp/8080'], nodes: [] });
    expect(announced(world, ref)).toContainEqual(expect.stringContaining('Warning PruneDeferred: the last rule of firewall bare stays'));
    const before = world.provider.calls.length;
    await world.clock.advance(10 * MINUTE);
    const calls = world.provider.calls.slice(before).filter(({ verb }) => verb !== 'listRoutedIPs');
    expect(calls).toEqual([]);
  });

  test('loses it as soon as there is another one', async ({ open }) => {
    const world = open();
    const ref = await bare(world);
    await release(world, ref);
    world.setWeb('mail', ['old'], { ports: [{ name: 'smtp', port: 25, protocol: 'TCP', targetPort: 25, nodePort: 2525 }] });
    const other = world.setRoutedIP('mail');
    await world.stable(other, 'old');
    await world.clock.runUntil(() => world.firewall('bare').ports.length === 1, 10 * SECOND);
    expect(world.firewall('bare').ports).toEqual(['tcp/2525']);
  });
});
