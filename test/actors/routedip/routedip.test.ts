import { describe, expect, test } from 'vitest';
import type { Address } from '../../../machines/model/types.ts';
import { node, providerIDOf } from '../../support/world.ts';
import { RoutedWorld } from './world.ts';

const OLD = node('old', { createdAt: 1 });
const YOUNG = node('young', { createdAt: 2 });

async function served(change = {}) {
  const world = new RoutedWorld();
  world.setClass(change);
  world.setNode(OLD, YOUNG);
  world.setWeb('shop', ['old', 'young']);
  const ref = world.setRoutedIP('shop');
  await world.leader();
  await world.stable(ref);
  return { world, ref };
}

describe('a RoutedIP', () => {
  test('without an address gets a new one, on the youngest node that serves its Service, with its port open there', async () => {
    const { world, ref } = await served();
    expect(world.statusOf(ref)).toMatchObject({
      assignedNode: 'young',
      addressOrigin: 'Created',
      ports: [{ port: 8080, protocol: 'TCP' }],
    });
    expect(world.changes()).toEqual(['createRoutedIP', 'addRoutedIPFirewallPort', 'addRoutedIPFirewallNode', 'assignRoutedIP']);
    expect(world.firewall()).toEqual({ ports: ['tcp/22', 'tcp/8080'], nodes: [providerIDOf('young')] });
    expect(world.cluster.holders()).toEqual({ young: 'PreferNoSchedule' });
    expect(world.reasonOf(ref)).toBe('Assigned');
  });

  test('moves when its node is lost: opened there first, pruned here last', async () => {
    const { world, ref } = await served();
    const before = world.changes().length;
    world.cluster.setNode({ ...YOUNG, ready: false });
    await world.stable(ref, 'old');
    expect(world.changes().slice(before)).toEqual(['addRoutedIPFirewallNode', 'assignRoutedIP', 'deleteRoutedIPFirewallNode']);
    expect(world.firewall()).toEqual({ ports: ['tcp/22', 'tcp/8080'], nodes: [providerIDOf('old')] });
    expect(world.cluster.holders()).toEqual({ old: 'PreferNoSchedule' });
  });

  test('touches the firewall only after the assignment when its class says so', async () => {
    const { world, ref } = await served({ firewallPostAllow: true });
    const before = world.changes().length;
    world.cluster.setNode({ ...YOUNG, ready: false });
    await world.stable(ref, 'old');
    expect(world.changes().slice(before)).toEqual(['assignRoutedIP', 'addRoutedIPFirewallNode', 'deleteRoutedIPFirewallNode']);
  });

  test('that is deleted leaves its address attached and closes its port', async () => {
    const { world, ref } = await served();
    const address = world.statusOf(ref).routedIP as Address;
    world.cluster.markDeleting(ref);
    await world.clock.runUntil(() => world.cluster.pool(ref) === null, 30_000);
    expect(world.provider.cloud.find(address)).toMatchObject({ providerID: providerIDOf('young') });
    expect(world.firewall()).toEqual({ ports: ['tcp/22'], nodes: [] });
    await world.clock.runUntil(() => Object.keys(world.cluster.holders()).length === 0, 5000);
  });

  test('that is deleted under the policy Delete takes the address with it that was created for it', async () => {
    const { world, ref } = await served({ routedIPReclaimPolicy: 'Delete' });
    world.cluster.markDeleting(ref);
    await world.clock.runUntil(() => world.cluster.pool(ref) === null, 30_000);
    expect(world.changes().slice(-3)).toEqual(['deleteRoutedIPFirewallPort', 'deleteRoutedIPFirewallNode', 'deleteRoutedIP']);
  });
});
