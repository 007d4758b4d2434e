import { describe, expect } from 'vitest';
import type { Fault } from '../../../adapters/memory/faults.ts';
import type { Address, ObjectRef } from '../../../machines/model/types.ts';
import { gaps, ingress, killAll, lose, untilAssigns } from '../../support/setups.ts';
import { test } from '../../support/sound.ts';
import type { World } from '../../support/world.ts';

const A = '203.0.113.207' as Address;
const B = '203.0.113.208' as Address;
const SECOND = 1000;
const HOUR = 3_600 * SECOND;

const restart = async (world: World): Promise<void> => {
  killAll(world);
  world.lease.delete();
  await world.start();
};

interface Failing {
  readonly nodes: readonly string[];
  readonly fault: Fault;
  readonly times: number;
}

/** A pool whose one address could not be assigned that many times, shortly after the last try. */
const failing = async (world: World, { nodes, fault, times }: Failing): Promise<ObjectRef> => {
  const ref = ingress(world, { nodes, addresses: { [A]: null } });
  world.provider.faults.next('assignRoutedIP', fault, times);
  await world.start();
  await untilAssigns(world, times);
  await world.clock.advance(100);
  return ref;
};

describe('a wall clock that jumps back by an hour', () => {
  test('while an address waits after an error does not make it wait longer', async ({ open }) => {
    const world = open();
    const ref = await failing(world, { nodes: ['a'], fault: { kind: 'refuse', error: 'InProgress' }, times: 8 });
    world.clock.jump(-HOUR);
    expect(await world.untilStates(ref, { [A]: 'active' }, 62 * SECOND)).toBeGreaterThan(55 * SECOND);
  });

  test('before a restart in that time makes it wait at most its whole time again', async ({ open }) => {
    const world = open();
    const ref = await failing(world, { nodes: ['a'], fault: { kind: 'refuse', error: 'InProgress' }, times: 8 });
    world.clock.jump(-HOUR);
    await restart(world);
    await world.untilStates(ref, { [A]: 'active' }, 65 * SECOND);
  });

  test('while a node is in back-off does not keep it there', async ({ open }) => {
    const world = open();
    const ref = await failing(world, { nodes: ['a'], fault: { kind: 'refuse', error: 'NodeInUse' }, times: 3 });
    world.clock.jump(-HOUR);
    await world.untilStates(ref, { [A]: 'active' }, 12 * SECOND);
  });

  test('before a restart while a node is in back-off does not keep it there', async ({ open }) => {
    const world = open();
    const ref = await failing(world, { nodes: ['a'], fault: { kind: 'refuse', error: 'NodeInUse' }, times: 3 });
    world.clock.jump(-HOUR);
    await restart(world);
    await world.untilStates(ref, { [A]: 'active' }, 12 * SECOND);
  });

  test('while an outcome is unknown does not keep it unknown', async ({ open }) => {
    const world = open();
    const ref = await failing(world, { nodes: ['a'], fault: { kind: 'loseRequest' }, times: 1 });
    world.clock.jump(-HOUR);
    await world.untilStates(ref, { [A]: 'active' }, 40 * SECOND);
  });

  test('while an outcome is unknown and the node is lost does not keep it unknown', async ({ open }) => {
    const world = open();
    const ref = await failing(world, { nodes: ['a', 'b'], fault: { kind: 'loseRequest' }, times: 1 });
    world.clock.jump(-HOUR);
    lose(world, 'a');
    await world.untilStates(ref, { [A]: 'active' }, 40 * SECOND);
    expect(world.holderOf(A)).toBe('b');
  });

  test('while a creation is in doubt does not keep it in doubt', async ({ open }) => {
    const world = open();
    const ref = ingress(world, { nodes: ['a'], desiredIPs: 1 });
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
      const ref = ingress(world, { nodes: ['a', 'b'], addresses: { [A]: null, [B]: null }, assignmentCoolOffSeconds: 20 });
      await world.start();
      await world.untilStates(ref, { [A]: 'active', [B]: 'unassigned' });
      world.clock.jump(-HOUR);
      if (again) await restart(world);
      await world.untilOn(B, 'b', 42 * SECOND);
      expect(gaps(world)[0]).toBeGreaterThanOrEqual(20 * SECOND);
    });
  }

  test('while an action goes on does not end the wait for it', async ({ open }) => {
    const world = open({ provider: { actionMs: 30_000 } });
    const ref = ingress(world, { nodes: ['a'], addresses: { [A]: null } });
    await world.start();
    await untilAssigns(world, 1);
    world.clock.jump(-HOUR);
    await world.untilStates(ref, { [A]: 'active' }, 40 * SECOND);
    expect(world.assigns()).toHaveLength(1);
  });
});

describe('a wall clock that jumps ahead by an hour', () => {
  test('while an action goes on does not make it be given up and repeated', async ({ open }) => {
    const world = open({ provider: { actionMs: 30_000 } });
    const ref = ingress(world, { nodes: ['a'], addresses: { [A]: null } });
    await world.start();
    await untilAssigns(world, 1);
    world.clock.jump(HOUR);
    await world.untilStates(ref, { [A]: 'active' }, 60 * SECOND);
    expect(world.assigns()).toHaveLength(1);
  });

  test('while nothing goes on changes nothing', async ({ open }) => {
    const world = open();
    const ref = ingress(world, { nodes: ['a', 'b'], addresses: { [A]: 'a' } });
    await world.start();
    await world.untilStates(ref, { [A]: 'active' });
    world.clock.jump(HOUR);
    await world.clock.advance(60 * SECOND);
    expect(world.provider.writes()).toEqual([]);
    lose(world, 'a');
    await world.untilOn(A, 'b', SECOND);
  });
});
