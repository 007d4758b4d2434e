import { describe, expect } from 'vitest';
import { test } from '../support/sound.ts';
import { node } from '../support/world.ts';

const A = '203.0.113.7';
const B = '203.0.113.8';
const C = '203.0.113.9';

describe('a pool with a cool-off of 20 s', () => {
  test('assigns three addresses at once, 20 s and 40 s after the first', async ({ open }) => {
    const world = open();
    world.nodes(node('a'), node('b'), node('c'));
    for (const address of [A, B, C]) world.address(address);
    const ref = world.pool('ingress', { ips: [A, B, C], assignmentCoolOffSeconds: 20 });
    await world.start();
    await world.untilStates(ref, { [A]: 'active', [B]: 'active', [C]: 'active' });
    const [first = 0, second = 0, third = 0] = world.assigns().map(({ at }) => at);
    expect(world.assigns()).toHaveLength(3);
    // The time counts from the confirmation, a little after the call.
    expect(second - first).toBeGreaterThanOrEqual(20_000);
    expect(second - first).toBeLessThan(21_500);
    expect(third - second).toBeGreaterThanOrEqual(20_000);
    expect(third - second).toBeLessThan(21_500);
  });

  test('takes over addresses that are in place all at once', async ({ open }) => {
    const world = open();
    world.nodes(node('a'), node('b'), node('c'));
    for (const [address, holder] of [
      [A, 'b'],
      [B, 'c'],
      [C, 'a'],
    ] as const)
      world.address(address, holder);
    const ref = world.pool('ingress', { ips: [A, B, C], assignmentCoolOffSeconds: 20 });
    await world.start();
    expect(await world.untilStates(ref, { [A]: 'active', [B]: 'active', [C]: 'active' })).toBeLessThan(5_000);
    expect(world.provider.writes()).toEqual([]);
  });

  test('waits less when the value is lowered meanwhile, by the difference', async ({ open }) => {
    const world = open();
    world.nodes(node('a'), node('b'));
    for (const address of [A, B]) world.address(address);
    const ref = world.pool('ingress', { ips: [A, B], assignmentCoolOffSeconds: 20 });
    await world.start();
    await world.untilStates(ref, { [A]: 'active', [B]: 'unassigned' });
    await world.clock.advance(3_000);
    world.pool('ingress', { ips: [A, B], assignmentCoolOffSeconds: 8 });
    await world.untilOn(B, 'b', 7_000);
    const [first = 0, second = 0] = world.assigns().map(({ at }) => at);
    expect(second - first).toBeGreaterThanOrEqual(8_000);
    expect(second - first).toBeLessThan(9_500);
  });

  test('waits longer when the value is raised meanwhile, by the difference', async ({ open }) => {
    const world = open();
    world.nodes(node('a'), node('b'));
    for (const address of [A, B]) world.address(address);
    const ref = world.pool('ingress', { ips: [A, B], assignmentCoolOffSeconds: 20 });
    await world.start();
    await world.untilStates(ref, { [A]: 'active', [B]: 'unassigned' });
    await world.clock.advance(15_000);
    world.pool('ingress', { ips: [A, B], assignmentCoolOffSeconds: 40 });
    await world.untilOn(B, 'b', 60_000);
    const [first = 0, second = 0] = world.assigns().map(({ at }) => at);
    expect(second - first).toBeGreaterThanOrEqual(40_000);
    expect(second - first).toBeLessThan(41_500);
  });

  test('does not count an error as an assignment: another address is tried at once', async ({ open }) => {
    const world = open();
    world.nodes(node('a'), node('b'));
    for (const address of [A, B]) world.address(address);
    const ref = world.pool('ingress', { ips: [A, B], assignmentCoolOffSeconds: 20 });
    world.provider.faults.next('assignRoutedIP', { kind: 'refuse', error: 'Invalid' });
    await world.start();
    await world.clock.runUntil(() => world.assigns().length === 2, 5_000);
    const [first, second] = world.assigns();
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeLessThan(500);
    expect([first?.what, second?.what]).toEqual([`${A} → a`, `${B} → b`]);
    await world.untilStates(ref, { [A]: 'active', [B]: 'active' }, 120_000);
  });

  test('keeps the time over a restart', async ({ open }) => {
    const world = open();
    world.nodes(node('a'), node('b'));
    for (const address of [A, B]) world.address(address);
    const ref = world.pool('ingress', { ips: [A, B], assignmentCoolOffSeconds: 20 });
    const process = await world.start();
    await world.untilStates(ref, { [A]: 'active', [B]: 'unassigned' });
    await process.stop();
    await world.start();
    await world.untilOn(B, 'b', 60_000);
    const [first = 0, second = 0] = world.assigns().map(({ at }) => at);
    expect(second - first).toBeGreaterThanOrEqual(20_000);
    expect(second - first).toBeLessThan(22_000);
  });
});
