import { describe, expect } from 'vitest';
import { failoverFigures } from '../../../actors/status/failover-metrics.ts';
import type { ObjectRef } from '../../../machines/model/types.ts';
import { type Address, UNASSIGNED } from '../../../machines/model/types.ts';
import { PAUSED } from '../../../machines/pool/annotations.ts';
import { node } from '../../support/world.ts';
import { test } from '../routedip/routedip-test.ts';
import { MINUTE, type RoutedWorld, SECOND } from '../routedip/world.ts';

const A = '203.0.113.7' as Address;
const NODES = ['a', 'b'].map((name, index) => node(name, { createdAt: index }));

async function pool(world: RoutedWorld): Promise<ObjectRef> {
  world.setNode(...NODES);
  world.address(A);
  const ref = world.pool('ingress', { ips: [A] });
  await world.start();
  await world.clock.runUntil(() => world.reasonOf(ref) === 'AllActive', MINUTE);
  world.invariants.unwanted.add(A);
  return ref;
}
const unassigns = (world: RoutedWorld): number => world.changes().filter((verb) => verb === 'unassignRoutedIP').length;

describe('what is taken back', () => {
  test('while it is not known whether the address has left its node: it does not count as active before somebody has looked', async ({
    open,
  }) => {
    const world = open();
    const ref = await pool(world);
    world.cluster.annotate(ref, { [UNASSIGNED]: A });
    await world.clock.runUntil(() => unassigns(world) === 1, 5 * SECOND);
    // The call is accepted; the look that follows it fails.
    world.provider.faults.next('findRoutedIP', { kind: 'refuse', error: 'Unavailable' });
    await world.clock.advance(250);
    world.cluster.annotate(ref, {});
    const wrong: number[] = [];
    for (let second = 0; second < 120; second += 1) {
      await world.clock.advance(SECOND);
      if (world.holderOf(A) === null && world.reasonOf(ref) === 'AllActive') wrong.push(second);
    }
    expect([wrong.length, world.holderOf(A) !== null]).toEqual([0, true]);
  });

  test('an address that was on no node for hours since somebody wanted that is no failover that took hours', async ({ open }) => {
    const world = open();
    const ref = await pool(world);
    const took: number[] = [];
    const figures = failoverFigures(({ tookMs }) => void took.push(tookMs));
    const { turnSaved } = world.invariants;
    world.invariants.turnSaved = (turn) => {
      turnSaved.call(world.invariants, turn);
      figures.turnSaved(turn);
    };
    const on = world.holderOf(A) ?? '';
    world.cluster.setNode(...NODES.map(({ name, createdAt }) => node(name, { createdAt, ready: false })));
    await world.clock.advance(5 * SECOND);
    world.cluster.annotate(ref, { [UNASSIGNED]: A });
    await world.clock.runUntil(() => world.holderOf(A) === null, MINUTE);
    world.cluster.setNode(...NODES.map(({ name, createdAt }) => node(name, { createdAt, ready: name !== on })));
    await world.clock.advance(120 * MINUTE);
    world.cluster.annotate(ref, {});
    await world.clock.runUntil(() => world.reasonOf(ref) === 'AllActive', MINUTE);
    expect(took.filter((ms) => ms > 10 * MINUTE)).toEqual([]);
  });

  test('while the object is paused nothing happens, also of what has failed once', async ({ open }) => {
    const world = open();
    const ref = await pool(world);
    const on = world.holderOf(A);
    world.provider.faults.next('unassignRoutedIP', { kind: 'refuse', error: 'InProgress' });
    world.cluster.annotate(ref, { [UNASSIGNED]: A });
    await world.clock.runUntil(() => world.provider.calls.some(({ verb }) => verb === 'unassignRoutedIP'), 5 * SECOND);
    await world.clock.advance(100);
    world.cluster.annotate(ref, { [UNASSIGNED]: A, [PAUSED]: 'true' });
    await world.clock.advance(10 * MINUTE);
    expect(world.holderOf(A)).toBe(on);
  });
});
