import { describe, expect, test } from 'vitest';
import { node, World } from '../../support/world.ts';

const A = '203.0.113.7';

/** A failover from a to b whose action takes 2 s, with the assign just accepted. */
async function underWay() {
  const world = new World({ provider: { actionMs: 2000 } });
  world.nodes(node('a'), node('b'), node('c'));
  world.address(A, 'a');
  world.pool('ingress', { ips: [A] });
  await world.start();
  await world.clock.runUntil(() => world.cluster.annotations().a === A, 10_000);
  world.cluster.setNode(node('a', { ready: false }));
  await world.clock.runUntil(() => world.provider.writes().length === 1, 1_000);
  return world;
}

describe('while an assign is under way', () => {
  test('reads that fail do not lead to a second one', async () => {
    const world = await underWay();
    world.provider.faults.next('findRoutedIP', { kind: 'refuse', error: 'Unavailable' }, 4);
    await world.clock.runUntil(() => world.cluster.annotations().b === A, 10_000);
    expect(world.provider.calls.filter(({ verb, result }) => verb === 'findRoutedIP' && result !== 'ok').length).toBeGreaterThan(0);
    expect(world.provider.writes()).toHaveLength(1);
    expect(world.holderOf(A)).toBe('b');
  });

  test('neither does the loss of the node that it goes to', async () => {
    const world = await underWay();
    world.provider.faults.next('findRoutedIP', { kind: 'refuse', error: 'Unavailable' }, 4);
    world.cluster.setNode(node('b', { ready: false }));
    await world.clock.runUntil(() => world.provider.writes().length === 2, 10_000);
    // The second one was sent only after the first one had ended.
    expect(world.provider.cloud.history(A as never).map(({ providerID }) => providerID)).toEqual(['digitalocean://a', 'digitalocean://b']);
    await world.clock.runUntil(() => world.holderOf(A) === 'c', 10_000);
  });
});
