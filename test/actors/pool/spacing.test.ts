import { describe, expect } from 'vitest';
import { gaps, ingress, untilAssigns } from '../../support/setups.ts';
import { test } from '../../support/sound.ts';
import { node, type OperatorProcess, type World } from '../../support/world.ts';

const A = '203.0.113.7';
const B = '203.0.113.8';
const C = '203.0.113.9';

/** A pool whose first address is assigned, while the second one waits for its turn; answers the process that runs it. */
const halfAssigned = async (world: World): Promise<OperatorProcess> => {
  const ref = ingress(world, { nodes: ['a', 'b'], addresses: { [A]: null, [B]: null }, assignmentCoolOffSeconds: 20 });
  const process = await world.start();
  await world.untilStates(ref, { [A]: 'active', [B]: 'unassigned' });
  return process;
};

describe('a pool with a cool-off of 20 s', () => {
  test('assigns three addresses at once, 20 s and 40 s after the first', async ({ open }) => {
    const world = open();
    const ref = ingress(world, { nodes: ['a', 'b', 'c'], addresses: { [A]: null, [B]: null, [C]: null }, assignmentCoolOffSeconds: 20 });
    await world.start();
    await world.untilStates(ref, { [A]: 'active', [B]: 'active', [C]: 'active' });
    expect(gaps(world)).toHaveLength(2);
    for (const gap of gaps(world)) {
      // The time counts from the confirmation, a little after the call.
      expect(gap).toBeGreaterThanOrEqual(20_000);
      expect(gap).toBeLessThan(21_500);
    }
  });

  test('takes over addresses that are in place all at once', async ({ open }) => {
    const world = open();
    const ref = ingress(world, { nodes: ['a', 'b', 'c'], addresses: { [A]: 'b', [B]: 'c', [C]: 'a' }, assignmentCoolOffSeconds: 20 });
    await world.start();
    expect(await world.untilStates(ref, { [A]: 'active', [B]: 'active', [C]: 'active' })).toBeLessThan(5_000);
    expect(world.provider.writes()).toEqual([]);
  });

  test('waits less when the value is lowered meanwhile, by the difference', async ({ open }) => {
    const world = open();
    await halfAssigned(world);
    await world.clock.advance(3_000);
    world.pool('ingress', { ips: [A, B], assignmentCoolOffSeconds: 8 });
    await world.untilOn(B, 'b', 7_000);
    expect(gaps(world)[0]).toBeGreaterThanOrEqual(8_000);
    expect(gaps(world)[0]).toBeLessThan(9_500);
  });

  test('waits longer when the value is raised meanwhile, by the difference', async ({ open }) => {
    const world = open();
    await halfAssigned(world);
    await world.clock.advance(15_000);
    world.pool('ingress', { ips: [A, B], assignmentCoolOffSeconds: 40 });
    await world.untilOn(B, 'b', 60_000);
    expect(gaps(world)[0]).toBeGreaterThanOrEqual(40_000);
    expect(gaps(world)[0]).toBeLessThan(41_500);
  });

  test('does not count an error as an assignment: another address is tried at once', async ({ open }) => {
    const world = open();
    const ref = ingress(world, { nodes: ['a', 'b'], addresses: { [A]: null, [B]: null }, assignmentCoolOffSeconds: 20 });
    world.provider.faults.next('assignRoutedIP', { kind: 'refuse', error: 'Invalid' });
    await world.start();
    await untilAssigns(world, 2, 5_000);
    expect(gaps(world)[0]).toBeLessThan(500);
    expect(world.assigns().map(({ what }) => what)).toEqual([`${A} → a`, `${B} → b`]);
    await world.untilStates(ref, { [A]: 'active', [B]: 'active' }, 120_000);
  });

  test('that ended while nobody led grants nothing before the nodes are known again', async ({ open }) => {
    const world = open();
    const process = await halfAssigned(world);
    process.kill();
    world.lease.delete();
    await world.clock.advance(60_000);
    world.nodes(node('c'));
    world.cluster.setNode(node('b', { ready: false }));
    await world.start();
    await world.untilOn(B, 'c', 60_000);
    expect(world.assigns().map(({ what }) => what)).toEqual([`${A} → a`, `${B} → c`]);
  });

  test('keeps the time over a restart', async ({ open }) => {
    const world = open();
    const process = await halfAssigned(world);
    await process.stop();
    await world.start();
    await world.untilOn(B, 'b', 60_000);
    expect(gaps(world)[0]).toBeGreaterThanOrEqual(20_000);
    expect(gaps(world)[0]).toBeLessThan(22_000);
  });
});
