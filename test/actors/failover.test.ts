import { describe, expect, test } from 'vitest';
import { node, World } from '../support/world.ts';

const A = '203.0.113.7';

describe('an address', () => {
  test('is assigned to a matching node, and moves to another one when that node turns NotReady', async () => {
    const world = new World();
    world.nodes(node('a'), node('b'));
    world.address(A);
    const ref = world.pool('ingress', { ips: [A] });
    await world.start();
    await world.clock.runUntil(() => world.holderOf(A) === 'a', 60_000);
    await world.clock.runUntil(() => (world.cluster.pool(ref)?.status as { activeIPs?: number })?.activeIPs === 1, 5_000);

    world.cluster.setNode(node('a', { ready: false }));
    await world.clock.runUntil(() => world.holderOf(A) === 'b', 5_000);
    await world.clock.runUntil(() => world.cluster.annotations().b === A, 5_000);
    expect(world.cluster.annotations()).toEqual({ b: A });
    expect(world.provider.writes().map(({ verb }) => verb)).toEqual(['assignRoutedIP', 'assignRoutedIP']);
    expect(world.faults()).toEqual([]);
  });
});
