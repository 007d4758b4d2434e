import { describe, expect } from 'vitest';
import { test } from '../../support/sound.ts';
import { node, pod } from '../../support/world.ts';

const A = '203.0.113.7';
const B = '203.0.113.8';

describe('an address', () => {
  test('is assigned to a matching node, and moves to another one when that node turns NotReady', async ({ open }) => {
    const world = open();
    world.nodes(node('a'), node('b'));
    world.address(A);
    const ref = world.pool('ingress', { ips: [A] });
    await world.start();
    await world.untilOn(A, 'a', 60_000);
    await world.untilStates(ref, { [A]: 'active' }, 5_000);

    world.cluster.setNode(node('a', { ready: false }));
    await world.untilOn(A, 'b', 1_000);
    await world.clock.runUntil(() => world.cluster.annotations().b === A, 5_000);
    expect(world.cluster.annotations()).toEqual({ b: A });
    expect(world.provider.writes().map(({ verb }) => verb)).toEqual(['assignRoutedIP', 'assignRoutedIP']);
  });

  const losses = {
    'is deleted': (name: string) => ({ gone: name }),
    'is being deleted': (name: string) => node(name, { deleting: true }),
    'loses its label': (name: string) => node(name, { labels: { pool: 'other' } }),
    'gets a taint that is not tolerated': (name: string) => node(name, { taints: [{ key: 'maintenance', effect: 'NoSchedule' }] }),
  };
  for (const [what, loss] of Object.entries(losses)) {
    test(`moves when its node ${what}`, async ({ open }) => {
      const world = open();
      world.nodes(node('a'), node('b'));
      world.address(A, 'a');
      const ref = world.pool('ingress', { ips: [A] });
      await world.start();
      await world.untilStates(ref, { [A]: 'active' });
      const lost = loss('a');
      if ('gone' in lost) world.cluster.removeNode(lost.gone);
      else world.cluster.setNode(lost);
      await world.untilOn(A, 'b', 1_000);
      await world.untilStates(ref, { [A]: 'active' });
    });
  }

  test('moves when the last matching pod on its node stops serving', async ({ open }) => {
    const world = open();
    world.nodes(node('a'), node('b'));
    world.cluster.setPod(pod('one', 'a'), pod('two', 'b'));
    world.address(A, 'a');
    const match = { nodeLabel: 'pool=work', podLabel: 'app=nginx', podNamespace: 'ingress' };
    const ref = world.pool('ingress', { ips: [A], match });
    await world.start();
    await world.untilStates(ref, { [A]: 'active' });
    world.cluster.setPod(pod('one', 'a', { serving: false }));
    await world.untilOn(A, 'b', 1_000);
  });

  test('stays attached when no other node matches, and is active again without a call when its node comes back', async ({ open }) => {
    const world = open();
    world.nodes(node('a'));
    world.address(A, 'a');
    const ref = world.pool('ingress', { ips: [A] });
    await world.start();
    await world.untilStates(ref, { [A]: 'active' });
    world.cluster.setNode(node('a', { ready: false }));
    await world.untilStates(ref, { [A]: 'no-match' });
    expect(world.cluster.annotations()).toEqual({});
    expect(world.holderOf(A)).toBe('a');
    await world.clock.advance(600_000);
    world.cluster.setNode(node('a'));
    await world.untilStates(ref, { [A]: 'active' }, 1_000);
    expect(world.cluster.annotations()).toEqual({ a: A });
    expect(world.provider.writes()).toEqual([]);
  });

  test('does not go back when its former node recovers', async ({ open }) => {
    const world = open();
    world.nodes(node('a'), node('b'));
    world.address(A, 'a');
    world.pool('ingress', { ips: [A] });
    await world.start();
    await world.clock.advance(5_000);
    world.cluster.setNode(node('a', { ready: false }));
    await world.untilOn(A, 'b', 1_000);
    world.cluster.setNode(node('a'));
    await world.clock.advance(600_000);
    expect(world.holderOf(A)).toBe('b');
    expect(world.assigns()).toHaveLength(1);
  });

  test('goes on to a third node when the second one is lost while it is being assigned there', async ({ open }) => {
    const world = open({ provider: { actionMs: 5_000 } });
    world.nodes(node('a'), node('b'), node('c'));
    world.address(A, 'a');
    const ref = world.pool('ingress', { ips: [A] });
    await world.start();
    await world.untilStates(ref, { [A]: 'active' });
    world.cluster.setNode(node('a', { ready: false }));
    await world.clock.runUntil(() => world.assigns().length === 1, 1_000);
    world.cluster.setNode(node('b', { ready: false }));
    await world.untilOn(A, 'c', 20_000);
    expect(world.assigns().map(({ what }) => what)).toEqual([`${A} → b`, `${A} → c`]);
    await world.untilStates(ref, { [A]: 'active' });
  });

  test('hands its node back to the pool: the address that waits longest gets the next node', async ({ open }) => {
    const world = open();
    world.nodes(node('a'), node('b'));
    world.address(A, 'a');
    world.address(B, 'b');
    const ref = world.pool('ingress', { ips: [A, B] });
    await world.start();
    await world.untilStates(ref, { [A]: 'active', [B]: 'active' });
    world.cluster.setNode(node('a', { ready: false }));
    await world.untilStates(ref, { [A]: 'no-match', [B]: 'active' });
    world.cluster.setNode(node('b', { ready: false }));
    await world.untilStates(ref, { [A]: 'no-match', [B]: 'no-match' });
    world.nodes(node('c'));
    await world.untilOn(A, 'c');
    expect(world.states(ref)[B]).toBe('no-match');
  });
});

describe('nodes and addresses', () => {
  test('more addresses than nodes: what is left waits, and gets the next node', async ({ open }) => {
    const world = open();
    world.nodes(node('a'));
    world.address(A);
    world.address(B);
    const ref = world.pool('ingress', { ips: [A, B] });
    await world.start();
    await world.untilStates(ref, { [A]: 'active', [B]: 'unassigned' });
    world.nodes(node('b'));
    await world.untilStates(ref, { [A]: 'active', [B]: 'active' });
    expect(world.assigns().map(({ what }) => what)).toEqual([`${A} → a`, `${B} → b`]);
  });

  test('more nodes than addresses: the others are listed as assignable, in their order', async ({ open }) => {
    const world = open();
    world.nodes(node('c'), node('a'), node('b'));
    world.address(A);
    const ref = world.pool('ingress', { ips: [A] });
    await world.start();
    await world.untilStates(ref, { [A]: 'active' });
    expect(world.holderOf(A)).toBe('a');
    world.nodes(node('aa'));
    await world.clock.runUntil(() => world.status(ref).assignableNodes?.length === 3, 5_000);
    expect(world.status(ref).assignableNodes).toEqual(['b', 'c', 'aa']);
  });

  test('a node without a providerID is no candidate until it has one', async ({ open }) => {
    const world = open();
    world.cluster.setNode(node('a', { providerID: '' }));
    world.address(A);
    const ref = world.pool('ingress', { ips: [A] });
    await world.start();
    await world.untilStates(ref, { [A]: 'unassigned' });
    world.nodes(node('a'));
    await world.untilStates(ref, { [A]: 'active' }, 5_000);
  });

  test('a node in another region is no candidate for an address', async ({ open }) => {
    const world = open();
    world.nodes(node('a', { region: 'fra1' }), node('b'));
    world.address(A);
    const ref = world.pool('ingress', { ips: [A] });
    await world.start();
    await world.untilStates(ref, { [A]: 'active' });
    expect(world.holderOf(A)).toBe('b');
  });

  test('a machine that is replaced under the same name is another node', async ({ open }) => {
    const world = open();
    world.nodes(node('a'));
    world.address(A, 'a');
    const ref = world.pool('ingress', { ips: [A] });
    await world.start();
    await world.untilStates(ref, { [A]: 'active' });
    world.nodes(node('a', { uid: 'second', providerID: 'digitalocean://a-2' }));
    await world.untilOn(A, 'a-2');
    await world.untilStates(ref, { [A]: 'active' });
  });
});
