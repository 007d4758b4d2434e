import { describe, expect } from 'vitest';
import { type Address, UNASSIGNED } from '../../../machines/model/types.ts';
import { test } from '../../support/sound.ts';
import { node, providerIDOf, type World } from '../../support/world.ts';

const A = '203.0.113.7' as Address;
const B = '203.0.113.8' as Address;
const C = '203.0.113.9' as Address;
const X = '203.0.113.10' as Address;

/** Pool `ingress` whose addresses are active on the nodes named; `free` are in the account, on nothing. */
const serving = async (world: World, held: Readonly<Record<string, string>>, ...free: readonly Address[]) => {
  world.nodes(...Object.values(held).map((name) => node(name)));
  for (const [address, name] of Object.entries(held)) world.address(address, name);
  for (const address of free) world.address(address);
  const ref = world.pool('ingress', { ips: Object.keys(held) });
  await world.start();
  await world.untilStates(ref, Object.fromEntries(Object.keys(held).map((address) => [address, 'active'])));
  return ref;
};
const done = (world: World) => world.provider.writes().map(({ verb, args, result }) => `${verb} ${args[0]} ${result}`);
const told = (world: World) => [
  ...world.cluster.projections.flatMap(({ events }) => events.map(({ message }) => message)),
  ...world.cluster.announced.map(({ event }) => event.message),
];

describe('an address that another object needs', () => {
  test('is not taken off when it is handed from one pool to another', async ({ open }) => {
    const world = open();
    await serving(world, { [A]: 'a' }, B);
    world.pool('ingress', { ips: [B] });
    const next = world.pool('q', { ips: [A] });
    await world.clock.advance(60_000);
    expect(done(world)).toEqual([]);
    expect(world.states(next)).toEqual({ [A]: 'active' });
  });

  test('is not taken off when the other pool has long listed it', async ({ open }) => {
    const world = open();
    await serving(world, { [A]: 'a' }, B);
    const q = world.pool('q', { ips: [A] });
    await world.clock.advance(5_000);
    world.pool('ingress', { ips: [B] });
    await world.clock.advance(60_000);
    expect([world.holderOf(A), world.states(q)]).toEqual(['a', { [A]: 'active' }]);
  });

  test('is not taken off when it is listed again before the unassign is sent', async ({ open }) => {
    const world = open();
    const ref = await serving(world, { [A]: 'a' }, B);
    world.provider.faults.next('unassignRoutedIP', { kind: 'refuse', error: 'RateLimited', retryAfterMs: 30_000 });
    world.pool('ingress', { ips: [B] });
    await world.clock.advance(3_000);
    world.pool('ingress', { ips: [A] });
    await world.clock.advance(60_000);
    expect(done(world)).toEqual([`assignRoutedIP ${B} NodeInUse`, `unassignRoutedIP ${A} RateLimited`]);
    expect(world.states(ref)).toEqual({ [A]: 'active' });
  });

  test('is active when it is listed again and its unassign is always refused', async ({ open }) => {
    const world = open();
    const ref = await serving(world, { [A]: 'a' }, B);
    world.provider.faults.always('unassignRoutedIP', { kind: 'refuse', error: 'Invalid' });
    world.pool('ingress', { ips: [B] });
    await world.clock.advance(3_000);
    world.pool('ingress', { ips: [A] });
    await world.clock.advance(900_000);
    expect([world.holderOf(A), world.states(ref)]).toEqual(['a', { [A]: 'active' }]);
  });

  test('is not taken off by a process that starts after it was listed again', async ({ open }) => {
    const world = open();
    world.nodes(node('a'));
    world.address(A, 'a');
    world.address(B);
    const ref = world.pool('ingress', { ips: [A] });
    await world.start((point, about) => point === 'beforeSend' && about.startsWith('unassign'));
    await world.untilStates(ref, { [A]: 'active' });
    world.pool('ingress', { ips: [B] });
    await world.clock.advance(1_000);
    world.pool('ingress', { ips: [A] });
    await world.start();
    await world.clock.advance(60_000);
    expect(done(world)).toEqual([`assignRoutedIP ${B} NodeInUse`]);
  });

  test('is put back within a minute after the late effect of an unassign that was answered by 500', async ({ open }) => {
    const world = open();
    const ref = await serving(world, { [A]: 'a' }, B);
    world.provider.faults.next('unassignRoutedIP', { kind: 'refuse', error: 'Unavailable', effectAfterMs: 1_950 });
    world.pool('ingress', { ips: [B] });
    await world.clock.advance(100);
    world.pool('ingress', { ips: [A] });
    await world.untilStates(ref, { [A]: 'active' }, 10_000);
    await world.clock.advance(5_000);
    await world.untilOn(A, 'a', 65_000);
    await world.untilStates(ref, { [A]: 'active' });
  });
});

describe('no more is taken off than is needed', () => {
  test('when another address is removed while the first unassign goes on', async ({ open }) => {
    const world = open({ provider: { actionMs: 2_000 } });
    const ref = await serving(world, { [A]: 'a', [B]: 'b', [C]: 'c' }, X);
    world.pool('ingress', { ips: [X, B, C] });
    await world.clock.advance(500);
    world.pool('ingress', { ips: [X, B] });
    await world.untilStates(ref, { [X]: 'active', [B]: 'active' });
    expect(world.holderOf(C)).toBe('c');
  });

  test('for an address that does not exist', async ({ open }) => {
    const world = open();
    world.nodes(node('a'));
    world.address(A, 'a');
    const ref = world.pool('ingress', { ips: [A, B] });
    await world.start();
    await world.untilStates(ref, { [A]: 'active', [B]: 'error' });
    world.pool('ingress', { ips: [B] });
    await world.clock.advance(30_000);
    expect(world.holderOf(A)).toBe('a');
  });

  test('for an address that somebody wants on no node', async ({ open }) => {
    const world = open();
    const ref = await serving(world, { [A]: 'a', [B]: 'b' });
    world.invariants.unwanted.add(B);
    world.cluster.annotate(ref, { [UNASSIGNED]: B });
    await world.untilOn(B, null, 20_000);
    world.cluster.removeNode('b');
    await world.clock.advance(5_000);
    world.pool('ingress', { ips: [B] });
    await world.clock.advance(60_000);
    expect(world.holderOf(A)).toBe('a');
  });

  test('for an address that may not be taken from a machine outside of the cluster', async ({ open }) => {
    const world = open({ settings: { adopt: 'unassigned' } });
    world.provider.cloud.addNode(providerIDOf('stranger'));
    world.address(B, 'stranger');
    await serving(world, { [A]: 'a' });
    world.pool('ingress', { ips: [B] });
    await world.clock.advance(60_000);
    expect(world.holderOf(A)).toBe('a');
  });

  test('nor one that spec.ips lists still, beyond desiredIPs', async ({ open }) => {
    const world = open();
    await serving(world, { [A]: 'a' }, B);
    world.pool('ingress', { ips: [A, B], desiredIPs: 1 });
    await world.clock.advance(5_000);
    world.pool('ingress', { ips: [B, A], desiredIPs: 1 });
    await world.clock.advance(20_000);
    expect(world.holderOf(A)).toBe('a');
  });
});

describe('the address in the place of another one is served in the end', () => {
  test('when two pools replace one each and share one spare node', async ({ open }) => {
    const world = open();
    world.nodes(node('a'), node('b'), node('c'));
    world.address(A, 'a');
    world.address(B, 'b');
    world.address(C);
    world.address(X);
    const p = world.pool('p', { ips: [A] });
    const q = world.pool('q', { ips: [B] });
    await world.start();
    await world.untilStates(p, { [A]: 'active' });
    await world.untilStates(q, { [B]: 'active' });
    world.pool('p', { ips: [C] });
    world.pool('q', { ips: [X] });
    await world.clock.advance(900_000);
    expect([world.states(p), world.states(q)]).toEqual([{ [C]: 'active' }, { [X]: 'active' }]);
  });

  const away = {
    'not ready': { ready: false },
    cordoned: { unschedulable: true, taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }] },
  };
  for (const [how, change] of Object.entries(away))
    test(`when the node was ${how} at the edit, and is back`, async ({ open }) => {
      const world = open();
      const ref = await serving(world, { [A]: 'a' }, B);
      world.cluster.setNode(node('a', change));
      await world.clock.advance(5_000);
      world.pool('ingress', { ips: [B] });
      await world.clock.advance(5_000);
      world.cluster.setNode(node('a'));
      await world.clock.advance(900_000);
      expect(world.states(ref)).toEqual({ [B]: 'active' });
    });

  test('when the former one was on its way to the node at the edit', async ({ open }) => {
    const world = open({ provider: { actionMs: 5_000 } });
    world.nodes(node('a'));
    world.address(A);
    world.address(B);
    const ref = world.pool('ingress', { ips: [A] });
    await world.start();
    await world.clock.runUntil(() => world.assigns().length === 1, 5_000);
    await world.clock.advance(1_000);
    world.pool('ingress', { ips: [B] });
    await world.clock.advance(900_000);
    expect(world.states(ref)).toEqual({ [B]: 'active' });
  });

  test('when the only free node is in another region', async ({ open }) => {
    const world = open();
    const ref = await serving(world, { [A]: 'a' }, B);
    world.nodes(node('z', { region: 'ams3' }));
    world.pool('ingress', { ips: [B] });
    await world.clock.advance(900_000);
    expect(world.states(ref)).toEqual({ [B]: 'active' });
  });
});

describe('what people are told', () => {
  test('names why the address is not taken off', async ({ open }) => {
    const world = open();
    const ref = await serving(world, { [A]: 'a' }, B);
    world.provider.faults.always('unassignRoutedIP', { kind: 'refuse', error: 'Invalid' });
    world.pool('ingress', { ips: [B] });
    await world.clock.advance(10_000);
    expect(told(world)).toContain(`assign ${B} to a: ${A} is on it, and is not taken off: unassignRoutedIP ${A}: refused by plan`);
    expect(JSON.stringify([world.status(ref), world.cluster.conditions(ref)])).toContain('refused by plan');
  });
});

test('an address that was never its own is not taken off: somebody may need it there', async ({ open }) => {
  const world = open({ settings: { adopt: 'unassigned' } });
  world.provider.cloud.addNode(providerIDOf('stranger'));
  world.nodes(node('a'));
  world.address(A, 'stranger');
  world.address(B);
  const ref = world.pool('ingress', { ips: [A] });
  await world.start();
  await world.clock.advance(5_000);
  world.pool('ingress', { ips: [B] });
  await world.untilStates(ref, { [B]: 'active' });
  world.provider.cloud.moveByHand(B, null);
  world.provider.cloud.moveByHand(A, providerIDOf('a'));
  await world.clock.advance(300_000);
  expect(world.holderOf(A)).toBe('a');
});

test('an address that somebody attached to a node by hand, and that no pool ever had, is not taken off', async ({ open }) => {
  const world = open();
  const ref = await serving(world, { [A]: 'a' }, B);
  world.address(C);
  world.provider.cloud.moveByHand(A, null);
  world.provider.cloud.moveByHand(C, providerIDOf('a'));
  world.pool('ingress', { ips: [B] });
  await world.clock.advance(300_000);
  expect(world.holderOf(C)).toBe('a');
  expect(world.states(ref)).toEqual({ [B]: 'unassigned' });
});

test('nothing is taken off while the process dies and another goes on, but what is to be', async ({ open }) => {
  for (const point of ['beforeSend', 'beforeReplyRead', 'afterReply'] as const) {
    const world = open({ provider: { actionMs: 1_000 } });
    world.nodes(node('a'));
    world.address(A, 'a');
    world.address(B);
    const ref = world.pool('ingress', { ips: [A] });
    await world.start((at, about) => at === point && about.startsWith('unassign'));
    await world.untilStates(ref, { [A]: 'active' });
    world.pool('ingress', { ips: [B] });
    await world.clock.advance(2_000);
    await world.start();
    await world.untilStates(ref, { [B]: 'active' }, 120_000);
    expect([point, world.holderOf(A), world.holderOf(B)]).toEqual([point, null, 'a']);
  }
});
