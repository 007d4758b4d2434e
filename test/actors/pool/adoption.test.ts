import { describe, expect } from 'vitest';
import { test } from '../../support/sound.ts';
import { node } from '../../support/world.ts';

const A = '203.0.113.7';
const B = '203.0.113.8';

describe('a pool that starts', () => {
  test('takes an address over where it is, without a call that changes anything', async ({ open }) => {
    const world = open();
    world.nodes(node('a'), node('b'), node('c'));
    world.address(A, 'c');
    world.address(B, 'b');
    const ref = world.pool('ingress', { ips: [A, B] });
    await world.start();
    await world.untilStates(ref, { [A]: 'active', [B]: 'active' });
    await world.clock.advance(120_000);
    expect([world.holderOf(A), world.holderOf(B)]).toEqual(['c', 'b']);
    expect(world.cluster.annotations()).toEqual({ b: B, c: A });
    expect(world.provider.writes()).toEqual([]);
    expect(world.status(ref).assignableNodes).toEqual(['a']);
  });

  test('moves only the address whose node does not match', async ({ open }) => {
    const world = open();
    world.nodes(node('a'), node('b'), node('x', { labels: {} }));
    world.address(A, 'x');
    world.address(B, 'a');
    const ref = world.pool('ingress', { ips: [A, B] });
    await world.start();
    await world.untilStates(ref, { [A]: 'active', [B]: 'active' });
    expect(world.assigns().map(({ what }) => what)).toEqual([`${A} → b`]);
    expect([world.holderOf(A), world.holderOf(B)]).toEqual(['b', 'a']);
  });

  test('takes over what an earlier process left, without a call that changes anything', async ({ open }) => {
    const world = open();
    world.nodes(node('a'), node('b'));
    world.address(A);
    const ref = world.pool('ingress', { ips: [A] });
    const first = await world.start();
    await world.untilStates(ref, { [A]: 'active' });
    expect(world.assigns()).toHaveLength(1);
    await first.stop();
    await world.start();
    await world.clock.advance(120_000);
    expect(world.assigns()).toHaveLength(1);
    expect(world.states(ref)).toEqual({ [A]: 'active' });
  });

  test('waits with a locked address until the other action is over, and then does what that leaves to do', async ({ open }) => {
    const world = open();
    world.nodes(node('a'), node('b'));
    const address = world.address(A);
    world.provider.cloud.lock(address, 8_000);
    const ref = world.pool('ingress', { ips: [A] });
    await world.start();
    await world.clock.advance(7_000);
    expect(world.assigns()).toEqual([]);
    expect(world.states(ref)).toEqual({ [A]: 'in-progress' });
    await world.untilOn(A, 'a', 5_000);
  });

  test('decides nothing while the provider cannot be read', async ({ open }) => {
    const world = open();
    world.provider.faults.always('listRoutedIPs', { kind: 'noConnection' });
    world.nodes(node('a'));
    world.address(A);
    const ref = world.pool('ingress', { ips: [A] });
    await world.start();
    await world.clock.advance(60_000);
    expect(world.provider.writes()).toEqual([]);
    world.provider.faults.clear();
    await world.untilStates(ref, { [A]: 'active' }, 15_000);
  });

  test('reads an address that no node can take, and says so', async ({ open }) => {
    const world = open();
    world.address(A);
    const ref = world.pool('ingress', { ips: [A] });
    await world.start();
    await world.untilStates(ref, { [A]: 'unassigned' });
    expect(world.cluster.conditions(ref)).toContainEqual(
      expect.objectContaining({ type: 'Degraded', status: 'True', reason: 'NoEligibleNode' }),
    );
    world.nodes(node('a'));
    await world.untilStates(ref, { [A]: 'active' }, 5_000);
  });
});
