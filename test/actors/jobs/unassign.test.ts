import { describe, expect } from 'vitest';
import type { ObjectRef } from '../../../machines/model/types.ts';
import { type Address, MOVE_TO, UNASSIGNED } from '../../../machines/model/types.ts';
import { PAUSED } from '../../../machines/pool/annotations.ts';
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

/** Puts one annotation on an object, or takes it off. */
function annotate(world: RoutedWorld, ref: ObjectRef, name: string, value: string | null): void {
  const { [name]: _, ...others } = world.cluster.pool(ref)?.marks?.annotations ?? {};
  world.cluster.annotate(ref, value === null ? others : { ...others, [name]: value });
}
function park(world: RoutedWorld, ref: ObjectRef, value: string | null): void {
  if (value !== null) world.invariants.unwanted.add(A);
  annotate(world, ref, UNASSIGNED, value);
}
const unassigns = (world: RoutedWorld): number => world.changes().filter((verb) => verb === 'unassignRoutedIP').length;

describe('an address that somebody wants on no node', () => {
  test('leaves its node and its ports are closed there; who asks stands in the condition; it is back once that is taken off', async ({
    open,
  }) => {
    const world = open();
    const ref = await shop(world);
    park(world, ref, 'true=alice@example.com');
    await world.clock.runUntil(() => world.holderOf(A) === null, 5 * SECOND);
    await world.clock.runUntil(() => world.messageOf(ref, 'Unassigned').includes('is on no node'), 5 * SECOND);
    await world.clock.runUntil(() => world.firewall().nodes.length === 0, 5 * SECOND);
    expect(world.firewall()).toEqual({ ports: ['tcp/22'], nodes: [] });
    expect(world.messageOf(ref, 'Unassigned')).toContain(`${A} (alice@example.com) is on no node`);
    expect(world.reasonOf(ref)).toBe('Unassigned');
    expect(world.eventsOf(ref)).toContain('Unassigned');
    await world.clock.advance(20 * MINUTE);
    expect([world.holderOf(A), unassigns(world)]).toEqual([null, 1]);
    park(world, ref, null);
    await world.stable(ref, 'c', 5 * SECOND);
    expect(world.eventsOf(ref)).toContain('TakenBack');
    expect(world.reasonOf(ref, 'Unassigned')).toBe('');
    expect(world.firewall().nodes).toEqual([providerIDOf('c')]);
  });

  test('of a pool leaves the others alone, and the node is free for another one', async ({ open }) => {
    const world = open();
    const ref = await pool(world);
    const [first, second] = [world.holderOf(A), world.holderOf(B)];
    park(world, ref, `${A}=night shift`);
    await world.clock.runUntil(() => world.holderOf(A) === null, 5 * SECOND);
    await world.clock.runUntil(() => world.messageOf(ref).includes('is on no node'), 5 * SECOND);
    expect(world.messageOf(ref)).toContain(`1 of 2 addresses are active: ${A} (night shift) is on no node`);
    world.cluster.setNode(...NODES.map(({ name, createdAt }) => node(name, { createdAt, ready: name === first })));
    await world.clock.runUntil(() => world.holderOf(B) === first, 10 * SECOND);
    expect([second, world.holderOf(A)]).not.toContain(first);
    world.cluster.setNode(...NODES);
    park(world, ref, null);
    await world.clock.runUntil(() => world.holderOf(A) !== null, 5 * SECOND);
  });

  test('stays where somebody puts it meanwhile, until it is taken back', async ({ open }) => {
    const world = open();
    const ref = await pool(world);
    park(world, ref, A);
    await world.clock.runUntil(() => world.holderOf(A) === null, 5 * SECOND);
    world.provider.cloud.addNode(providerIDOf('foreign'));
    world.provider.cloud.moveByHand(A, providerIDOf('foreign'));
    await world.clock.advance(20 * MINUTE);
    expect([world.holderOf(A), unassigns(world)]).toEqual(['foreign', 1]);
    park(world, ref, null);
    await world.clock.runUntil(() => NODES.some(({ name }) => name === world.holderOf(A)), 10 * MINUTE);
  });

  test('is let go once by whoever leads next, also when the call was not heard of', async ({ open }) => {
    for (const fault of ['loseReply', 'hang'] as const) {
      const world = open();
      const ref = await pool(world);
      world.provider.faults.next('unassignRoutedIP', fault === 'hang' ? { kind: 'hang', effectAfterMs: 4_000 } : { kind: fault });
      park(world, ref, A);
      await world.clock.runUntil(() => world.provider.calls.some(({ verb }) => verb === 'unassignRoutedIP'), 5 * SECOND);
      const [process] = world.processes;
      if (process) await world.restart(process);
      await world.clock.runUntil(() => world.holderOf(A) === null, 3 * MINUTE);
      await world.clock.advance(MINUTE);
      expect(world.holderOf(A)).toBeNull();
      park(world, ref, null);
      await world.clock.runUntil(() => world.holderOf(A) !== null, MINUTE);
      await world.clock.advance(5 * MINUTE);
      expect(world.holderOf(A), 'no call of before takes it off again').not.toBeNull();
    }
  });

  test('that is on its way somewhere ends that first; one without a node gets none; a new term leaves it so', async ({ open }) => {
    const world = open();
    const ref = await pool(world);
    const spare = NODES.map(({ name }) => name).find((name) => ![world.holderOf(A), world.holderOf(B)].includes(name));
    annotate(world, ref, MOVE_TO, `${A}=${spare}`);
    park(world, ref, A);
    await world.clock.runUntil(() => world.holderOf(A) === null, MINUTE);
    const [process] = world.processes;
    if (process) await world.restart(process);
    await world.clock.advance(5 * MINUTE);
    expect(world.holderOf(A)).toBeNull();
    expect(world.reasonOf(ref)).toBe('Unassigned');
  });

  test('is none while its pool is paused, and what is no address is said', async ({ open }) => {
    const world = open();
    const ref = await pool(world);
    annotate(world, ref, PAUSED, 'true');
    park(world, ref, A);
    await world.clock.advance(MINUTE);
    expect([world.holderOf(A) === null, unassigns(world)]).toEqual([false, 0]);
    annotate(world, ref, PAUSED, null);
    await world.clock.runUntil(() => world.holderOf(A) === null, 5 * SECOND);
    park(world, ref, 'everything');
    await world.untilReason(ref, 'InvalidAnnotation', 'Unassigned');
    expect(world.messageOf(ref, 'Unassigned')).toBe(`"everything" in ${UNASSIGNED} is not <address> or <address>=<who>`);
    await world.clock.runUntil(() => world.holderOf(A) !== null, 5 * SECOND);
  });

  test('is given up like any other', async ({ open }) => {
    const world = open();
    const ref = await shop(world);
    park(world, ref, 'true');
    await world.clock.runUntil(() => world.holderOf(A) === null, 5 * SECOND);
    world.cluster.markDeleting(ref);
    await world.clock.runUntil(() => world.cluster.pool(ref) === null, MINUTE);
  });
});
