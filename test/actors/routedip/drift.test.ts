import { describe, expect } from 'vitest';
import type { Address, ObjectRef } from '../../../machines/model/types.ts';
import { node, providerIDOf } from '../../support/world.ts';
import { test } from './routedip-test.ts';
import { MINUTE, type RoutedWorld, SECOND } from './world.ts';

/** Longer than from one verification of all addresses to the next. */
const VERIFIED = 310 * SECOND;
const OLD = node('old', { createdAt: 1 });
const YOUNG = node('young', { createdAt: 2 });
const MARKED = 'PreferNoSchedule';

/** A RoutedIP that serves on `young`, as `old` could as well. */
async function served(world: RoutedWorld): Promise<{ ref: ObjectRef; address: Address; assigned: number; epoch: unknown }> {
  world.setClass();
  world.setNode(OLD, YOUNG);
  world.setWeb('shop', ['old', 'young']);
  const ref = world.setRoutedIP('shop');
  await world.leader();
  await world.stable(ref, 'young');
  await world.clock.advance(SECOND);
  expect(world.firewall().nodes).toEqual([providerIDOf('young')]);
  const { routedIP, epoch } = world.statusOf(ref);
  return { ref, address: routedIP as Address, assigned: world.assigns().length, epoch };
}

const drifted = (world: RoutedWorld, ref: ObjectRef): Promise<number> =>
  world.clock.runUntil(() => world.eventsOf(ref).includes('DriftDetected'), VERIFIED);

describe('the address of a RoutedIP that somebody moves by hand', () => {
  test('to a machine that may not hold it is brought back to the eligible node, which stays open all the time', async ({ open }) => {
    const world = open();
    const { ref, address, assigned } = await served(world);
    world.provider.cloud.addNode(providerIDOf('foreign'));
    world.provider.cloud.moveByHand(address, providerIDOf('foreign'));
    const changes = world.changes().length;
    await drifted(world, ref);
    await world.untilOn(address, 'young', MINUTE);
    await world.stable(ref, 'young');
    await world.clock.advance(SECOND);
    expect(
      world
        .assigns()
        .slice(assigned)
        .map(({ what }) => what),
    ).toEqual([`${address} → young`]);
    expect(world.changes().slice(changes), 'no port is closed and opened again').toEqual(['assignRoutedIP']);
    expect(world.cluster.holders()).toEqual({ young: MARKED });
  });

  test('to a node that may hold it is adopted there: opened there, closed here, marked there, and not moved', async ({ open }) => {
    const world = open();
    const { ref, address, assigned } = await served(world);
    world.provider.cloud.moveByHand(address, providerIDOf('old'));
    const changes = world.changes().length;
    await world.stable(ref, 'old', VERIFIED);
    await world.clock.advance(VERIFIED);
    expect(world.assigns()).toHaveLength(assigned);
    expect([world.holderOf(address), world.statusOf(ref).assignedNode]).toEqual(['old', 'old']);
    expect(world.changes().slice(changes)).toEqual(['addRoutedIPFirewallNode', 'deleteRoutedIPFirewallNode']);
    expect(world.firewall().nodes).toEqual([providerIDOf('old')]);
    expect(world.cluster.holders()).toEqual({ old: MARKED });
  });

  test('off its node, while no node may hold it, is told of and left; it comes back with the first node that may', async ({ open }) => {
    const world = open();
    const { ref, address, assigned } = await served(world);
    world.cluster.setNode({ ...OLD, ready: false });
    world.setWeb('shop', ['old']);
    await world.untilReason(ref, 'NoEligibleNode', 'Degraded');
    world.provider.cloud.moveByHand(address, null);
    await world.clock.advance(2 * VERIFIED);
    expect(world.assigns()).toHaveLength(assigned);
    expect(world.reasonOf(ref)).toBe('NoEligibleNode');
    world.cluster.setNode(OLD);
    await world.stable(ref, 'old');
    expect(world.holderOf(address)).toBe('old');
  });
});

describe('the mark of a holder', () => {
  test('that an administrator takes off is put back at the next pass, and the address is not moved', async ({ open }) => {
    const world = open();
    const { ref, address, assigned, epoch } = await served(world);
    expect(world.cluster.holders()).toEqual({ young: MARKED });
    world.cluster.untaint('young');
    expect(world.cluster.holders(), 'it is off').toEqual({});
    const changes = world.changes().length;
    await world.clock.runUntil(() => 'young' in world.cluster.holders(), 2 * MINUTE);
    await world.clock.advance(MINUTE);
    expect(world.cluster.holders()).toEqual({ young: MARKED });
    expect(world.assigns()).toHaveLength(assigned);
    expect(world.changes()).toHaveLength(changes);
    expect(world.statusOf(ref)).toMatchObject({ state: 'Stable', assignedNode: 'young', epoch });
    expect(world.holderOf(address)).toBe('young');
  });

  test('stays on a node that two RoutedIPs share when one of them moves, and goes with the last', async ({ open }) => {
    const world = open({ facts: { addressesPerNode: 2 }, provider: { addressesPerNode: 2 } });
    world.setClass({ perNodeIPLimit: 2 });
    world.setNode(OLD, YOUNG);
    for (const name of ['shop', 'blog']) world.setWeb(name, ['young']);
    await world.leader();
    const [shop, blog] = [world.setRoutedIP('shop'), world.setRoutedIP('blog')];
    await world.stable(shop, 'young');
    await world.stable(blog, 'young');
    expect(world.cluster.holders()).toEqual({ young: MARKED });
    world.setWeb('shop', ['old']);
    await world.stable(shop, 'old');
    await world.clock.advance(2 * MINUTE);
    expect(world.cluster.holders()).toEqual({ old: MARKED, young: MARKED });
    expect(world.statusOf(blog)).toMatchObject({ state: 'Stable', assignedNode: 'young' });
    world.setWeb('blog', ['old']);
    await world.stable(blog, 'old');
    await world.clock.advance(SECOND);
    expect(world.cluster.holders()).toEqual({ old: MARKED });
  });
});
