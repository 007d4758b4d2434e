import { describe, expect } from 'vitest';
import type { Address } from '../../machines/types.ts';
import { test } from '../support/sound.ts';
import { node, type World } from '../support/world.ts';

const A = '203.0.113.207' as Address;
const B = '203.0.113.208' as Address;
const SECOND = 1000;
const HOUR = 3_600 * SECOND;

const restart = async (world: World): Promise<void> => {
  for (const process of world.processes) process.kill();
  world.lease.delete();
  await world.start();
};

describe('a wall clock that jumps back by an hour', () => {
  test('while an address waits after an error does not make it wait longer', async ({ open }) => {
    const world = open();
    world.nodes(node('a'));
    world.address(A);
    const ref = world.pool('ingress', { ips: [A] });
    world.provider.faults.next('assignRoutedIP', { kind: 'refuse', error: 'InProgress' }, 8);
    await world.start();
    await world.clock.runUntil(() => world.assigns().length === 8, 60 * SECOND);
    await world.clock.advance(SECOND);
    world.clock.jump(-HOUR);
    expect(await world.untilStates(ref, { [A]: 'active' }, 62 * SECOND)).toBeGreaterThan(55 * SECOND);
  });

  test('before a restart in that time makes it wait at most its whole time again', async ({ open }) => {
    const world = open();
    world.nodes(node('a'));
    world.address(A);
    const ref = world.pool('ingress', { ips: [A] });
    world.provider.faults.next('assignRoutedIP', { kind: 'refuse', error: 'InProgress' }, 8);
    await world.start();
    await world.clock.runUntil(() => world.assigns().length === 8, 60 * SECOND);
    await world.clock.advance(SECOND);
    world.clock.jump(-HOUR);
    await restart(world);
    await world.untilStates(ref, { [A]: 'active' }, 65 * SECOND);
  });

  test('while a node is in back-off does not keep it there', async ({ open }) => {
    const world = open();
    world.nodes(node('a'));
    world.address(A);
    const ref = world.pool('ingress', { ips: [A] });
    world.provider.faults.next('assignRoutedIP', { kind: 'refuse', error: 'NodeInUse' }, 3);
    await world.start();
    await world.clock.runUntil(() => world.assigns().length === 3, 60 * SECOND);
    await world.clock.advance(100);
    world.clock.jump(-HOUR);
    await world.untilStates(ref, { [A]: 'active' }, 12 * SECOND);
  });

  test('before a restart while a node is in back-off does not keep it there', async ({ open }) => {
    const world = open();
    world.nodes(node('a'));
    world.address(A);
    const ref = world.pool('ingress', { ips: [A] });
    world.provider.faults.next('assignRoutedIP', { kind: 'refuse', error: 'NodeInUse' }, 3);
    await world.start();
    await world.clock.runUntil(() => world.assigns().length === 3, 60 * SECOND);
    await world.clock.advance(100);
    world.clock.jump(-HOUR);
    await restart(world);
    await world.untilStates(ref, { [A]: 'active' }, 12 * SECOND);
  });

  test('while an outcome is unknown does not keep it unknown', async ({ open }) => {
    const world = open();
    world.nodes(node('a'));
    world.address(A);
    const ref = world.pool('ingress', { ips: [A] });
    world.provider.faults.next('assignRoutedIP', { kind: 'loseRequest' });
    await world.start();
    await world.clock.runUntil(() => world.assigns().length === 1, 60 * SECOND);
    await world.clock.advance(100);
    world.clock.jump(-HOUR);
    await world.untilStates(ref, { [A]: 'active' }, 40 * SECOND);
  });

  test('while an outcome is unknown and the node is lost does not keep it unknown', async ({ open }) => {
    const world = open();
    world.nodes(node('a'), node('b'));
    world.address(A);
    const ref = world.pool('ingress', { ips: [A] });
    world.provider.faults.next('assignRoutedIP', { kind: 'loseRequest' });
    await world.start();
    await world.clock.runUntil(() => world.assigns().length === 1, 60 * SECOND);
    await world.clock.advance(100);
    world.clock.jump(-HOUR);
    world.cluster.setNode(node('a', { ready: false }));
    await world.untilStates(ref, { [A]: 'active' }, 40 * SECOND);
    expect(world.holderOf(A)).toBe('b');
  });

  test('while a creation is in doubt does not keep it in doubt', async ({ open }) => {
    const world = open();
    world.nodes(node('a'));
    const ref = world.pool('ingress', { desiredIPs: 1 });
    world.provider.faults.next('createRoutedIP', { kind: 'loseRequest' });
    await world.start();
    await world.clock.runUntil(() => world.provider.writes().length === 1, 60 * SECOND);
    await world.clock.advance(100);
    world.clock.jump(-HOUR);
    await world.clock.runUntil(() => world.status(ref).activeIPs === 1, 40 * SECOND);
    expect(world.provider.cloud.addresses()).toHaveLength(1);
  });

  for (const again of [false, true]) {
    test(`while a cool-off runs${again ? ', before a restart,' : ''} makes it last at most its whole time again`, async ({ open }) => {
      const world = open();
      world.nodes(node('a'), node('b'));
      world.address(A);
      world.address(B);
      const ref = world.pool('ingress', { ips: [A, B], assignmentCoolOffSeconds: 20 });
      await world.start();
      await world.untilStates(ref, { [A]: 'active', [B]: 'unassigned' });
      world.clock.jump(-HOUR);
      if (again) await restart(world);
      await world.untilOn(B, 'b', 42 * SECOND);
      const [first = 0, second = 0] = world.assigns().map(({ at }) => at);
      expect(second - first).toBeGreaterThanOrEqual(20 * SECOND);
    });
  }

  test('while an action goes on does not end the wait for it', async ({ open }) => {
    const world = open({ provider: { actionMs: 30_000 } });
    world.nodes(node('a'));
    world.address(A);
    const ref = world.pool('ingress', { ips: [A] });
    await world.start();
    await world.clock.runUntil(() => world.assigns().length === 1, 60 * SECOND);
    world.clock.jump(-HOUR);
    await world.untilStates(ref, { [A]: 'active' }, 40 * SECOND);
    expect(world.assigns()).toHaveLength(1);
  });
});

describe('a wall clock that jumps ahead by an hour', () => {
  test('while an action goes on does not make it be given up and repeated', async ({ open }) => {
    const world = open({ provider: { actionMs: 30_000 } });
    world.nodes(node('a'));
    world.address(A);
    const ref = world.pool('ingress', { ips: [A] });
    await world.start();
    await world.clock.runUntil(() => world.assigns().length === 1, 60 * SECOND);
    world.clock.jump(HOUR);
    await world.untilStates(ref, { [A]: 'active' }, 60 * SECOND);
    expect(world.assigns()).toHaveLength(1);
  });

  test('while nothing goes on changes nothing', async ({ open }) => {
    const world = open();
    world.nodes(node('a'), node('b'));
    world.address(A, 'a');
    const ref = world.pool('ingress', { ips: [A] });
    await world.start();
    await world.untilStates(ref, { [A]: 'active' });
    world.clock.jump(HOUR);
    await world.clock.advance(60 * SECOND);
    expect(world.provider.writes()).toEqual([]);
    world.cluster.setNode(node('a', { ready: false }));
    await world.untilOn(A, 'b', SECOND);
  });
});
