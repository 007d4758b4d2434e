import { describe, expect } from 'vitest';
import type { Address, ObjectRef, ObservedNode } from '../../../machines/model/types.ts';
import { test } from '../../support/sound.ts';
import { node, type World } from '../../support/world.ts';

const A = '203.0.113.7' as Address;
const B = '203.0.113.8' as Address;
/** Of somebody else. */
const FOREIGN = '198.51.100.201' as Address;
const ON_CORDON = { drainPolicy: 'OnCordon' };
const UNSCHEDULABLE = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };
/** As kubectl leaves it, and the controller a moment later. */
const cordoned = (name: string, change: Partial<ObservedNode> = {}): ObservedNode =>
  node(name, { unschedulable: true, taints: [UNSCHEDULABLE], ...change });

const condition = (world: World, ref: ObjectRef, type: string) => world.cluster.conditions(ref).find((each) => each.type === type);

/** The pool holds A on a; of the other nodes none holds anything. */
async function served(world: World, spec: Parameters<World['pool']>[1], ...others: readonly string[]): Promise<ObjectRef> {
  world.nodes(node('a'), ...others.map((name) => node(name)));
  world.address(A, 'a');
  const ref = world.pool('ingress', { ips: [A], ...spec });
  await world.start();
  await world.untilStates(ref, { [A]: 'active' });
  await world.clock.advance(5_000);
  return ref;
}

const warnings = (world: World) =>
  world.cluster.projections.flatMap((each) => each.events.flatMap(({ type, message }) => (type === 'Warning' ? [message] : [])));

const events = (world: World) => world.cluster.projections.flatMap((each) => each.events).filter(({ reason }) => reason === 'Draining');

describe('a node that is cordoned', () => {
  test('gives its address to a free node before it fails, and the address is never attached to nothing', async ({ open }) => {
    const world = open();
    const ref = await served(world, ON_CORDON, 'b');
    world.cluster.setNode(cordoned('a'));
    expect(await world.untilOn(A, 'b', 1_000)).toBeLessThan(500);
    await world.untilStates(ref, { [A]: 'active' });
    await world.clock.advance(1_000);
    expect(world.provider.cloud.history(A).map(({ providerID }) => providerID)).toEqual(['digitalocean://a', 'digitalocean://b']);
    expect([world.provider.writes().map(({ verb }) => verb), world.cluster.annotations()]).toEqual([['assignRoutedIP'], { b: A }]);
  });

  test('keeps it, active, while no other node is free; it moves when one is', async ({ open }) => {
    const world = open();
    const ref = await served(world, ON_CORDON);
    world.cluster.setNode(cordoned('a'));
    await world.clock.advance(600_000);
    expect([world.states(ref), world.cluster.annotations(), world.assigns()]).toEqual([{ [A]: 'active' }, { a: A }, []]);
    expect(condition(world, ref, 'Progressing')).toMatchObject({
      status: 'True',
      reason: 'Draining',
      message: `a is cordoned or about to go: ${A} leaves it as soon as another node is free`,
    });
    expect(events(world)).toHaveLength(1);
    world.nodes(node('b'));
    expect(await world.untilOn(A, 'b', 1_000)).toBeLessThan(500);
    await world.untilStates(ref, { [A]: 'active' });
  });

  test('is said to be, by one Event, also when its address leaves it in the same turn', async ({ open }) => {
    const world = open();
    await served(world, ON_CORDON, 'b');
    expect(events(world)).toEqual([]);
    world.cluster.setNode(cordoned('a'));
    await world.untilOn(A, 'b', 1_000);
    await world.clock.advance(60_000);
    expect(events(world).map(({ message }) => message)).toEqual([
      `a is cordoned or about to go: ${A} leaves it as soon as another node is free`,
    ]);
  });

  test('keeps it when it is uncordoned before the move, and is a node like any other again', async ({ open }) => {
    const world = open();
    const ref = await served(world, ON_CORDON);
    world.cluster.setNode(cordoned('a'));
    await world.clock.advance(60_000);
    world.cluster.setNode(node('a'));
    world.nodes(node('b'));
    await world.clock.advance(60_000);
    expect([world.holderOf(A), world.assigns(), condition(world, ref, 'Progressing')?.reason]).toEqual(['a', [], 'Idle']);
  });

  test('is granted to nobody', async ({ open }) => {
    const world = open();
    world.nodes(cordoned('a'), node('b'));
    world.address(A);
    world.address(B);
    const ref = world.pool('ingress', { ips: [A, B], ...ON_CORDON });
    await world.start();
    await world.untilStates(ref, { [A]: 'active', [B]: 'unassigned' });
    expect(world.holderOf(A)).toBe('b');
    expect(world.status(ref).assignableNodes).toEqual([]);
    world.cluster.setNode(node('a'));
    await world.untilOn(B, 'a', 1_000);
  });

  test('leaves a free node to an address that has none', async ({ open }) => {
    const world = open();
    const ref = await served(world, ON_CORDON);
    world.address(B);
    world.pool('ingress', { ips: [A, B], ...ON_CORDON });
    await world.untilStates(ref, { [A]: 'active', [B]: 'unassigned' });
    world.cluster.setNode(cordoned('a'));
    await world.clock.advance(1_000);
    world.nodes(node('b'));
    await world.untilOn(B, 'b', 1_000);
    await world.clock.advance(10_000);
    expect([world.holderOf(A), world.assigns().length]).toEqual(['a', 1]);
    world.nodes(node('c'));
    await world.untilOn(A, 'c', 1_000);
  });

  test('and does not match by that taint any more loses it at once without the policy, as ever', async ({ open }) => {
    const world = open();
    const ref = await served(world, {});
    world.cluster.setNode(cordoned('a'));
    await world.untilStates(ref, { [A]: 'no-match' });
    expect([world.holderOf(A), world.assigns()]).toEqual(['a', []]);
  });

  test('and matches because the taint is tolerated keeps it without the policy', async ({ open }) => {
    const world = open();
    await served(world, { match: { nodeLabel: 'pool=work', tolerations: [{ key: UNSCHEDULABLE.key, operator: 'Exists' }] } }, 'b');
    world.cluster.setNode(cordoned('a'));
    await world.clock.advance(60_000);
    expect([world.holderOf(A), world.assigns()]).toEqual(['a', []]);
  });
});

describe('with OnCordon an address leaves', () => {
  const goings: Readonly<Record<string, ObservedNode>> = {
    'a node that is unschedulable, before it bears the taint': node('a', { unschedulable: true }),
    'a node that bears only the taint': node('a', { taints: [UNSCHEDULABLE] }),
    'a node that is being deleted': node('a', { deleting: true }),
    'a node that the autoscaler is to take away': node('a', {
      taints: [{ key: 'ToBeDeletedByClusterAutoscaler', value: '1', effect: 'NoSchedule' }],
    }),
    'a node that the autoscaler is to take away, by a taint of another effect': node('a', {
      taints: [{ key: 'ToBeDeletedByClusterAutoscaler', effect: 'PreferNoSchedule' }],
    }),
  };
  const tolerations = [{ operator: 'Exists' }];

  for (const [what, going] of Object.entries(goings)) {
    test(`${what}, also when every taint is tolerated`, async ({ open }) => {
      for (const match of [{ nodeLabel: 'pool=work' }, { nodeLabel: 'pool=work', tolerations }]) {
        const world = open();
        const ref = await served(world, { ...ON_CORDON, match });
        world.cluster.setNode(going);
        await world.clock.advance(30_000);
        expect([world.states(ref), world.assigns()]).toEqual([{ [A]: 'active' }, []]);
        world.nodes(node('b'));
        await world.untilOn(A, 'b', 1_000);
      }
    });
  }

  const losses: Readonly<Record<string, (world: World) => void>> = {
    'is not Ready': ({ cluster }) => cluster.setNode(cordoned('a', { ready: false })),
    'is gone': ({ cluster }) => cluster.removeNode('a'),
    'has lost its label': ({ cluster }) => cluster.setNode(cordoned('a', { labels: {} })),
    'bears another taint that is not tolerated': ({ cluster }) =>
      cluster.setNode(cordoned('a', { taints: [UNSCHEDULABLE, { key: 'maintenance', effect: 'NoSchedule' }] })),
  };
  for (const [what, lose] of Object.entries(losses)) {
    test(`at once a node that is cordoned and ${what}: it gets no grace either`, async ({ open }) => {
      const world = open();
      const ref = await served(world, { ...ON_CORDON, recoveryGraceSeconds: 600 });
      world.cluster.setNode(cordoned('a'));
      await world.clock.advance(10_000);
      expect(world.states(ref)).toEqual({ [A]: 'active' });
      lose(world);
      await world.untilStates(ref, { [A]: 'no-match' }, 1_000);
    });
  }
});

describe('addresses on nodes that are cordoned together', () => {
  const names = ['a', 'b', 'c'];
  const ips = ['203.0.113.1', '203.0.113.2', '203.0.113.3'] as Address[];

  const three = async (world: World, spec: Parameters<World['pool']>[1]): Promise<ObjectRef> => {
    world.nodes(...names.map((name) => node(name)));
    for (const [index, address] of ips.entries()) world.address(address, names[index]);
    const ref = world.pool('ingress', { ips, ...ON_CORDON, ...spec });
    await world.start();
    await world.untilStates(ref, Object.fromEntries(ips.map((address) => [address, 'active'])));
    await world.clock.advance(5_000);
    world.cluster.setNode(...names.map((name) => cordoned(name)));
    await world.clock.advance(5_000);
    return ref;
  };

  test('move one after the other as nodes come, and stay until then', async ({ open }) => {
    const world = open();
    const ref = await three(world, {});
    for (const [index, name] of ['d', 'e', 'f'].entries()) {
      expect(world.assigns()).toHaveLength(index);
      world.nodes(node(name));
      await world.clock.runUntil(() => world.assigns().length === index + 1, 1_000);
      await world.clock.advance(5_000);
      expect(Object.values(world.states(ref))).toEqual(['active', 'active', 'active']);
    }
    expect(ips.map((address) => world.holderOf(address))).toEqual(['d', 'e', 'f']);
    expect(
      world.invariants.turns.flatMap(({ transitions }) => transitions.filter(({ events }) => events.includes('NODE_OBSERVED'))),
    ).toHaveLength(3);
  });

  test('move no faster than the cool-off lets them', async ({ open }) => {
    const world = open();
    await three(world, { assignmentCoolOffSeconds: 20 });
    world.nodes(node('d'), node('e'), node('f'));
    await world.clock.runUntil(() => world.assigns().length === 3, 120_000);
    const times = world.assigns().map(({ at }) => at);
    expect(times.slice(1).every((at, index) => at - (times[index] ?? 0) >= 20_000)).toBe(true);
    await world.clock.runUntil(() => ips.every((address) => 'def'.includes(world.holderOf(address) ?? '-')), 10_000);
  });
});

describe('an address that is to leave a node', () => {
  test('stays when the other node cannot take it, which is tried again at the slow pace: it serves meanwhile', async ({ open }) => {
    const world = open();
    const ref = await served(world, ON_CORDON);
    world.cluster.setNode(cordoned('a'));
    world.provider.faults.next('assignRoutedIP', { kind: 'refuse', error: 'NodeInUse' }, 3);
    world.nodes(node('b'));
    await world.clock.runUntil(() => world.assigns().length === 1, 1_000);
    await world.clock.advance(500);
    expect([world.holderOf(A), world.states(ref), world.cluster.annotations()]).toEqual(['a', { [A]: 'active' }, { a: A }]);
    await world.untilOn(A, 'b', 1_000_000);
    const times = world.assigns().map(({ at }) => at);
    expect(times.map((at) => Math.round((at - (times[0] ?? 0)) / 1_000))).toEqual([0, 60, 360, 960]);
  });

  test('says in Degraded and by one Event that the other node does not take it, until it has left', async ({ open }) => {
    const world = open();
    const ref = await served(world, ON_CORDON);
    world.cluster.setNode(cordoned('a'));
    world.nodes(node('b'));
    world.address(B, 'b');
    await world.clock.runUntil(() => world.assigns().length === 1, 1_000);
    const told = () => condition(world, ref, 'Degraded');
    await world.clock.runUntil(() => told()?.reason === 'NodeInUse', 1_000);
    expect(told()?.message).toMatch(new RegExp(`^${A} is to leave a, but b did not take it: `));
    await world.clock.runUntil(() => condition(world, ref, 'Ready')?.status === 'True', 1_000);
    // While it is left alone, and while it is tried again.
    for (let seconds = 0; seconds < 120; seconds += 1) {
      await world.clock.advance(1_000);
      expect(told()?.reason).toBe('NodeInUse');
    }
    expect(world.assigns()).toHaveLength(2);
    expect(warnings(world)).toHaveLength(1);
    world.nodes(node('c'));
    await world.untilOn(A, 'c', 60_000);
    await world.clock.runUntil(() => told()?.reason === 'AsExpected', 1_000);
  });

  test('says so as long as it is refused, whatever becomes of others that are refused too', async ({ open }) => {
    const world = open();
    const ref = await served(world, ON_CORDON);
    world.cluster.setNode(cordoned('a'));
    world.nodes(node('b'));
    world.address(FOREIGN, 'b');
    const told = () => condition(world, ref, 'Degraded');
    await world.clock.runUntil(() => told()?.reason === 'NodeInUse', 5_000);
    // It has no node at all, and comes first wherever b is tried.
    world.address(B);
    world.pool('ingress', { ips: [A, B], ...ON_CORDON });
    for (let minutes = 0; minutes < 120; minutes += 1) {
      await world.clock.advance(60_000);
      expect(told()?.message).toMatch(new RegExp(`^${A} is to leave a, but b did not take it: `));
    }
    expect(warnings(world).filter((message) => message.includes('is to leave'))).toHaveLength(1);
  });

  test('says nothing of it any more once its node is to stay, or the other one cannot take an address anyhow', async ({ open }) => {
    const world = open();
    const ref = await served(world, ON_CORDON);
    world.cluster.setNode(cordoned('a'));
    world.nodes(node('b'));
    world.address(FOREIGN, 'b');
    const told = () => condition(world, ref, 'Degraded')?.reason;
    await world.clock.runUntil(() => told() === 'NodeInUse', 5_000);
    world.cluster.setNode(node('a'));
    await world.clock.runUntil(() => told() === 'AsExpected', 1_000);
    await world.clock.advance(3_600_000);
    world.cluster.setNode(cordoned('b'));
    world.cluster.setNode(cordoned('a'));
    await world.clock.advance(600_000);
    expect([told(), condition(world, ref, 'Progressing')?.reason]).toEqual(['AsExpected', 'Draining']);
    expect(warnings(world)).toHaveLength(1);
  });

  test('says no more of several than people can read', async ({ open }) => {
    const world = open();
    const names = Array.from({ length: 200 }, (_, index) => `node-${index}`);
    const ips = names.map((_, index) => `198.51.100.${index}` as Address);
    world.nodes(...names.map((name) => node(name)));
    for (const [index, name] of names.entries()) world.address(ips[index] as Address, name);
    const ref = world.pool('ingress', { ips, ...ON_CORDON });
    await world.start();
    await world.clock.runUntil(() => condition(world, ref, 'Ready')?.status === 'True', 60_000);
    world.cluster.setNode(...names.map((name) => cordoned(name)));
    await world.clock.runUntil(() => condition(world, ref, 'Progressing')?.reason === 'Draining', 5_000);
    expect(condition(world, ref, 'Progressing')?.message).toMatch(/; and 190 more$/);
  });

  test('goes on under another leader', async ({ open }) => {
    const world = open();
    const ref = await served(world, ON_CORDON);
    world.cluster.setNode(cordoned('a'));
    await world.clock.advance(5_000);
    for (const process of world.processes) process.kill();
    world.lease.delete();
    await world.clock.advance(5_000);
    await world.start();
    await world.clock.advance(20_000);
    expect([world.states(ref), world.assigns()]).toEqual([{ [A]: 'active' }, []]);
    world.nodes(node('b'));
    await world.untilOn(A, 'b', 1_000);
    await world.untilStates(ref, { [A]: 'active' });
  });

  test('is adopted where it is by a program that knows nothing of it, and leaves then', async ({ open }) => {
    const world = open();
    world.nodes(cordoned('a'));
    world.address(A, 'a');
    const ref = world.pool('ingress', { ips: [A], ...ON_CORDON });
    await world.start();
    await world.untilStates(ref, { [A]: 'active' });
    expect(world.provider.writes()).toEqual([]);
    world.nodes(node('b'));
    await world.untilOn(A, 'b', 1_000);
  });

  test('stays with its node when the policy is taken back', async ({ open }) => {
    const world = open();
    const match = { nodeLabel: 'pool=work', tolerations: [{ key: UNSCHEDULABLE.key, operator: 'Exists' }] };
    await served(world, { ...ON_CORDON, match });
    world.cluster.setNode(cordoned('a'));
    await world.clock.advance(5_000);
    world.pool('ingress', { ips: [A], match, drainPolicy: 'OnNotReady' });
    world.nodes(node('b'));
    await world.clock.advance(60_000);
    expect([world.holderOf(A), world.assigns()]).toEqual(['a', []]);
  });
});

describe('a pool that starts', () => {
  test('grants no node on which an address of its own sits that has not been heard yet', async ({ open }) => {
    const world = open();
    world.nodes(node('a', { ready: false }), node('b'));
    world.address(A, 'a');
    world.address(B, 'b');
    const ref = world.pool('ingress', { ips: [A, B] });
    await world.start();
    await world.untilStates(ref, { [A]: 'unassigned', [B]: 'active' });
    await world.clock.advance(60_000);
    expect(world.assigns()).toEqual([]);
  });
});
