import { describe, expect, test } from 'vitest';
import type { Address } from '../../../machines/model/types.ts';
import { node, providerIDOf } from '../../support/world.ts';

import { MINUTE, RoutedWorld, SECOND } from '../routedip/world.ts';

const A = '203.0.113.7' as Address;
const B = '203.0.113.8' as Address;
const NODES = ['a', 'b', 'c', 'd'].map((name, index) => node(name, { createdAt: index }));
const lost = (name: string) => ({ ...node(name), ready: false });
const stick = (world: RoutedWorld, name: string, stuck = true): void => world.provider.cloud.setFirewallStuck(providerIDOf(name), stuck);

describe('a firewall that hangs on every node', () => {
  test.each([
    ['alone', {}],
    ['exclusive', { firewallExclusive: true }],
    ['post allow', { firewallPostAllow: true }],
    ['on cordon', { drainPolicy: 'OnCordon' }],
    ['untold', {}],
  ])('%s: what a firewall that hangs on every node costs in an hour, with two claimants', async (name, policy) => {
    const world = new RoutedWorld();
    world.setClass(policy as never);
    world.setNode(...NODES);
    world.address(A);
    world.address(B);
    world.setWeb('shop', ['b', 'c', 'd']);
    world.setWeb('blog', ['a', 'b', 'c', 'd']);
    await world.leader();
    const ref = world.setRoutedIP('shop', { routedIP: A });
    const blog = world.setRoutedIP('blog', { routedIP: B });
    await world.stable(ref);
    await world.stable(blog);
    if (name === 'untold') world.provider.cloud.setFirewallMs(24 * 60 * MINUTE);
    else for (const { name } of NODES) stick(world, name);
    const on = String(world.statusOf(ref).assignedNode);
    world.cluster.setNode(name === 'on cordon' ? { ...node(on), unschedulable: true } : lost(on));
    await world.clock.advance(5 * MINUTE);
    const mid = world.provider.calls.length;
    let changed = 0;
    let last = '';
    for (let n = 0; n < 360; n += 1) {
      await world.clock.advance(10 * SECOND);
      const now = JSON.stringify([world.reasonOf(ref), world.holderOf(A), world.reasonOf(blog)]);
      if (now !== last) changed += 1;
      last = now;
    }
    expect(world.provider.calls.length - mid).toBeLessThan(400);
    expect(changed).toBeLessThan(10);
  });
});
