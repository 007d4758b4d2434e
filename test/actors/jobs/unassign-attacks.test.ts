import { describe, expect } from 'vitest';
import type { ObjectRef } from '../../../machines/model/types.ts';
import { type Address, UNASSIGNED } from '../../../machines/model/types.ts';
import { PAUSED } from '../../../machines/pool/annotations.ts';
import { killAll } from '../../support/setups.ts';
import { node, providerIDOf } from '../../support/world.ts';
import { test } from '../routedip/routedip-test.ts';
import { MINUTE, type RoutedWorld, SECOND } from '../routedip/world.ts';

const A = '203.0.113.7' as Address;
const B = '203.0.113.8' as Address;
const NODES = ['a', 'b', 'c'].map((name, index) => node(name, { createdAt: index }));

/** A RoutedIP `shop` with address A on the youngest of three nodes. */
async function shop(world: RoutedWorld): Promise<ObjectRef> {
  world.setClass();
  world.setNode(...NODES);
  world.address(A);
  world.setWeb('shop', ['a', 'b', 'c']);
  await world.leader();
  const ref = world.setRoutedIP('shop', { routedIP: A });
  await world.stable(ref, 'c');
  return ref;
}

/** A pool of A and B on three nodes. */
async function pool(world: RoutedWorld): Promise<ObjectRef> {
  world.setNode(...NODES);
  world.address(A);
  world.address(B);
  const ref = world.pool('ingress', { ips: [A, B] });
  await world.start();
  await world.clock.runUntil(() => world.holderOf(A) !== null && world.holderOf(B) !== null && world.reasonOf(ref) === 'AllActive', MINUTE);
  return ref;
}

const unassigns = (world: RoutedWorld): number => world.changes().filter((verb) => verb === 'unassignRoutedIP').length;

function park(world: RoutedWorld, ref: ObjectRef, marks: Readonly<Record<string, string>>): void {
  world.invariants.unwanted.add(A);
  world.cluster.annotate(ref, marks);
}

describe('an address that somebody wants on no node', () => {
  test('a call that hangs does not take the address off its next owner, when the owner is deleted meanwhile', async ({ open }) => {
    const world = open();
    const ref = await shop(world);
    world.setClass({ routedIPReclaimPolicy: 'Retain' });
    world.provider.faults.next('unassignRoutedIP', { kind: 'hang', effectAfterMs: 8_000 });
    park(world, ref, { [UNASSIGNED]: 'true' });
    await world.clock.runUntil(() => world.provider.calls.some(({ verb }) => verb === 'unassignRoutedIP'), 5 * SECOND);
    world.cluster.markDeleting(ref);
    const goneAfter = await world.clock.runUntil(() => world.cluster.pool(ref) === null, MINUTE);
    const next = world.pool('next', { ips: [A] });
    await world.clock.runUntil(() => world.reasonOf(next) === 'AllActive', 5 * MINUTE);
    const on = world.holderOf(A);
    await world.clock.advance(10 * SECOND);
    expect([goneAfter, world.holderOf(A)], 'the call of the former owner takes nothing off').toEqual([expect.any(Number), on]);
  });

  test('stays where somebody puts it by hand, also after all records are lost', async ({ open }) => {
    const world = open();
    const ref = await pool(world);
    park(world, ref, { [UNASSIGNED]: A });
    await world.clock.runUntil(() => world.holderOf(A) === null, 5 * SECOND);
    world.provider.cloud.addNode(providerIDOf('foreign'));
    world.provider.cloud.moveByHand(A, providerIDOf('foreign'));
    await world.clock.advance(10 * MINUTE);
    expect(unassigns(world)).toBe(1);
    killAll(world);
    world.store.wipe();
    world.queues.wipe();
    world.invariants.forget();
    await world.start();
    await world.clock.advance(10 * MINUTE);
    expect([world.holderOf(A), unassigns(world)]).toEqual(['foreign', 1]);
  });

  test('that could not be let go yet is not, once that was taken back, whether the pool is paused or not', async ({ open }) => {
    const world = open();
    const ref = await pool(world);
    const on = world.holderOf(A);
    world.provider.faults.next('unassignRoutedIP', { kind: 'refuse', error: 'InProgress' }, 3);
    park(world, ref, { [UNASSIGNED]: A });
    await world.clock.runUntil(() => world.provider.calls.some(({ verb }) => verb === 'unassignRoutedIP'), 5 * SECOND);
    await world.clock.advance(200);
    world.cluster.annotate(ref, { [PAUSED]: 'true' });
    await world.clock.advance(10 * MINUTE);
    expect(world.holderOf(A)).toBe(on);
  });

  test('its ports are closed on the node that it served on, also when somebody has moved it in the same moment', async ({ open }) => {
    const world = open();
    const ref = await shop(world);
    world.provider.cloud.addNode(providerIDOf('foreign'));
    world.provider.cloud.moveByHand(A, providerIDOf('foreign'));
    park(world, ref, { [UNASSIGNED]: 'true' });
    await world.clock.advance(10 * MINUTE);
    expect(world.holderOf(A)).toBe('foreign');
    expect(world.firewall().nodes).toEqual([]);
  });

  test('of which nothing was done yet is not said to be on no node', async ({ open }) => {
    const world = open();
    const ref = await pool(world);
    park(world, ref, { [PAUSED]: 'true', [UNASSIGNED]: A });
    await world.clock.advance(MINUTE);
    expect(world.holderOf(A)).not.toBeNull();
    expect(world.messageOf(ref, 'Unassigned')).not.toContain(`${A} is on no node`);
  });

  test('that cannot be taken off is not said to be on no node', async ({ open }) => {
    const world = open();
    const ref = await pool(world);
    world.provider.faults.always('unassignRoutedIP', { kind: 'refuse', error: 'Unauthorized' });
    park(world, ref, { [UNASSIGNED]: A });
    await world.clock.advance(10 * MINUTE);
    expect(world.holderOf(A)).not.toBeNull();
    expect(world.eventsOf(ref).includes('Unassigned') || world.messageOf(ref, 'Unassigned').includes('is on no node')).toBe(false);
  });

  test('a call of a worker that died does not take it off again, once that was taken back', async ({ open }) => {
    const world = open();
    const ref = await pool(world);
    // The replica that does not lead runs one of the two jobs, and dies when its call was sent.
    const dying = await world.start();
    await world.clock.advance(10 * SECOND);
    world.provider.faults.always('unassignRoutedIP', { kind: 'hang', effectAfterMs: 14_000 });
    world.invariants.unwanted.add(B);
    park(world, ref, { [UNASSIGNED]: `${A},${B}` });
    await world.clock.runUntil(() => unassigns(world) === 2, 5 * SECOND);
    await world.clock.advance(100);
    world.provider.faults.clear();
    dying.kill();
    await world.clock.runUntil(() => unassigns(world) > 2, MINUTE);
    const again = world.provider.writes().findLast(({ verb }) => verb === 'unassignRoutedIP')?.args[0] as Address;
    await world.clock.runUntil(() => world.holderOf(again) === null, MINUTE);
    world.cluster.annotate(ref, {});
    await world.clock.runUntil(() => world.holderOf(again) !== null, MINUTE);
    await world.clock.advance(30 * SECOND);
    expect(world.holderOf(again)).not.toBeNull();
  });

  test('with a request to move it at the same time does not say for ever that something is under way', async ({ open }) => {
    const world = open();
    const ref = await pool(world);
    const spare = NODES.map(({ name }) => name).find((name) => ![world.holderOf(A), world.holderOf(B)].includes(name));
    park(world, ref, { [UNASSIGNED]: A });
    await world.clock.runUntil(() => world.holderOf(A) === null, 5 * SECOND);
    world.cluster.annotate(ref, { [UNASSIGNED]: A, 'routedip.io/move-to': `${A}=${spare}` });
    await world.clock.advance(10 * MINUTE);
    expect([world.holderOf(A), world.reasonOf(ref, 'Progressing')]).toEqual([null, 'Idle']);
  });

  test('that waits after an error is granted a node at once when that is taken back', async ({ open }) => {
    const world = open();
    const ref = await pool(world);
    world.provider.faults.next('unassignRoutedIP', { kind: 'refuse', error: 'Invalid' });
    park(world, ref, { [UNASSIGNED]: A });
    await world.clock.runUntil(() => world.provider.calls.some(({ verb }) => verb === 'unassignRoutedIP'), 5 * SECOND);
    await world.clock.advance(SECOND);
    world.cluster.annotate(ref, {});
    await world.clock.runUntil(() => world.reasonOf(ref) === 'AllActive', 10 * SECOND);
  });
});
