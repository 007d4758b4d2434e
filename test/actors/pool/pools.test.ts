import { describe, expect } from 'vitest';
import type { Address } from '../../../machines/model/types.ts';
import { test } from '../../support/sound.ts';
import { node } from '../../support/world.ts';

const A = '203.0.113.7' as Address;
const B = '203.0.113.8' as Address;
const C = '203.0.113.9' as Address;

describe('a pool that is deleted', () => {
  test('leaves its addresses where they are, takes its annotations off, and leaves no record', async ({ open }) => {
    const world = open();
    world.nodes(node('a'), node('b'));
    world.address(A, 'a');
    world.address(B);
    const ref = world.pool('ingress', { ips: [A, B] });
    await world.start();
    await world.untilStates(ref, { [A]: 'active', [B]: 'active' });
    const writes = world.provider.writes().length;
    world.cluster.removePool(ref);
    await world.clock.advance(10_000);
    expect(world.cluster.annotations()).toEqual({});
    expect([world.holderOf(A), world.holderOf(B)]).toEqual(['a', 'b']);
    expect(world.provider.writes()).toHaveLength(writes);
    expect((await world.store.cells()).filter((cell) => cell.startsWith('pool/'))).toEqual([]);
  });

  test('while an assign is under way lets it end, and is gone after that', async ({ open }) => {
    const world = open({ provider: { actionMs: 5_000 } });
    world.nodes(node('a'));
    world.address(A);
    const ref = world.pool('ingress', { ips: [A] });
    await world.start();
    await world.clock.runUntil(() => world.assigns().length === 1, 5_000);
    world.cluster.removePool(ref);
    await world.clock.advance(1_000);
    expect(await world.store.cells()).toContain('pool/default/ingress');
    await world.clock.advance(20_000);
    expect(world.holderOf(A)).toBe('a');
    expect((await world.store.cells()).filter((cell) => cell.startsWith('pool/'))).toEqual([]);
    expect(world.cluster.annotations()).toEqual({});
  });

  test('while nobody leads is gone once somebody does', async ({ open }) => {
    const world = open();
    world.nodes(node('a'));
    world.address(A, 'a');
    const ref = world.pool('ingress', { ips: [A] });
    const first = await world.start();
    await world.untilStates(ref, { [A]: 'active' });
    first.kill();
    world.cluster.removePool(ref);
    await world.start();
    await world.clock.advance(60_000);
    expect((await world.store.cells()).filter((cell) => cell.startsWith('pool/'))).toEqual([]);
    expect(world.cluster.annotations()).toEqual({});
    expect(world.provider.writes()).toEqual([]);
  });

  test('and made again under the same name takes its addresses over, each time', async ({ open }) => {
    const world = open();
    world.nodes(node('a'), node('b'));
    world.address(A);
    let ref = world.pool('ingress', { ips: [A] });
    await world.start();
    await world.untilStates(ref, { [A]: 'active' });
    for (let round = 0; round < 3; round += 1) {
      world.cluster.removePool(ref);
      ref = world.pool('ingress', { ips: [A] });
      await world.untilStates(ref, { [A]: 'active' });
      await world.clock.advance(1_000);
    }
    expect(world.assigns()).toHaveLength(1);
    expect(world.cluster.annotations()).toEqual({ a: A });
  });

  test('and made again while nobody leads is replaced, although what it waited for is not done any more', async ({ open }) => {
    const world = open();
    world.nodes(node('a'));
    world.address(A);
    const former = world.pool('ingress', { ips: [A] });
    await world.start((point, about) => point === 'beforeSend' && about.startsWith('assign'));
    await world.clock.runUntil(() => world.processes.length === 0, 5_000);
    expect(world.assigns()).toEqual([]);
    world.cluster.removePool(former);
    const ref = world.pool('ingress', { ips: [A] });
    world.lease.delete();
    await world.start();
    await world.untilStates(ref, { [A]: 'active' }, 90_000);
    expect(world.assigns()).toHaveLength(1);
  });

  test('and made again under the same name fails over like the first', async ({ open }) => {
    const world = open();
    world.nodes(node('a'), node('b'));
    world.address(A);
    const ref = world.pool('ingress', { ips: [A] });
    await world.start();
    await world.untilStates(ref, { [A]: 'active' });
    world.cluster.removePool(ref);
    await world.clock.advance(5_000);
    const again = world.pool('ingress', { ips: [A] });
    await world.untilStates(again, { [A]: 'active' });
    world.cluster.setNode(node('a', { ready: false }));
    await world.untilOn(A, 'b', 1_000);
    await world.untilStates(again, { [A]: 'active' });
  });
});

describe('two pools that name one address', () => {
  test('the older one has it; the newer one says so, and serves the rest', async ({ open }) => {
    const world = open();
    world.nodes(node('a'), node('b'));
    world.address(A);
    world.address(B);
    const older = world.pool('older', { ips: [A] });
    const newer = world.pool('newer', { ips: [A, B] });
    await world.start();
    await world.untilStates(older, { [A]: 'active' });
    await world.untilStates(newer, { [A]: 'error', [B]: 'active' });
    expect(world.status(newer).ips?.[A]).toMatchObject({ error: expect.stringContaining('default/older') });
    expect(world.cluster.conditions(newer)).toContainEqual(expect.objectContaining({ type: 'Degraded', reason: 'AddressConflict' }));
    expect(world.assigns()).toHaveLength(2);
  });

  test('the newer one takes it over where it is when the older one goes', async ({ open }) => {
    const world = open();
    world.nodes(node('a'), node('b'));
    world.address(A);
    const older = world.pool('older', { ips: [A] });
    const newer = world.pool('newer', { ips: [A] });
    await world.start();
    await world.untilStates(older, { [A]: 'active' });
    world.cluster.removePool(older);
    await world.untilStates(newer, { [A]: 'active' }, 10_000);
    await world.clock.advance(30_000);
    expect(world.cluster.annotations()).toEqual({ a: A });
    expect(world.assigns()).toHaveLength(1);
  });

  test('an address that moves from one spec to another is taken over where it is', async ({ open }) => {
    const world = open();
    world.nodes(node('a'), node('b'), node('c'));
    for (const [address, holder] of [
      [A, 'a'],
      [B, 'b'],
      [C, 'c'],
    ] as const)
      world.address(address, holder);
    const older = world.pool('older', { ips: [A, B] });
    const newer = world.pool('newer', { ips: [C] });
    await world.start();
    await world.untilStates(older, { [A]: 'active', [B]: 'active' });
    await world.untilStates(newer, { [C]: 'active' });
    world.pool('older', { ips: [A] });
    world.pool('newer', { ips: [C, B] });
    await world.untilStates(newer, { [B]: 'active', [C]: 'active' });
    expect(world.provider.writes()).toEqual([]);
    expect(world.cluster.annotations()).toEqual({ a: A, b: B, c: C });
  });

  test('an older pool that names an address of a newer one later does not get it, and says whose it is', async ({ open }) => {
    const world = open();
    world.nodes(node('a'), node('b'));
    world.address(A, 'a');
    world.address(B, 'b');
    const older = world.pool('older', { ips: [A] });
    const newer = world.pool('newer', { ips: [B] });
    await world.start();
    await world.untilStates(newer, { [B]: 'active' });
    world.pool('older', { ips: [A, B] });
    await world.untilStates(older, { [A]: 'active', [B]: 'error' });
    await world.clock.advance(30_000);
    await world.untilStates(newer, { [B]: 'active' });
    expect(world.provider.writes()).toEqual([]);
    expect(world.cluster.annotations()).toEqual({ a: A, b: B });
  });

  test('one that is being assigned for the newer pool stays with it, though an older one names it meanwhile', async ({ open }) => {
    const world = open({ provider: { actionMs: 5_000 } });
    world.nodes(node('a'), node('b'), node('c'));
    world.address(A, 'a');
    world.address(B);
    const older = world.pool('older', { ips: [A] });
    const newer = world.pool('newer', { ips: [B] });
    await world.start();
    await world.clock.runUntil(() => world.assigns().length === 1, 5_000);
    const [assign] = world.assigns().map(({ what }) => what);
    world.pool('older', { ips: [A, B] });
    await world.untilStates(newer, { [B]: 'active' });
    await world.untilStates(older, { [A]: 'active', [B]: 'error' });
    await world.clock.advance(30_000);
    expect(world.assigns().map(({ what }) => what)).toEqual([assign]);
    expect(`${B} → ${world.holderOf(B)}`).toBe(assign);
  });

  test('each keeps the annotations of its own addresses, whatever the other one shows', async ({ open }) => {
    const world = open();
    world.nodes(node('a'), node('b'), node('c'), node('d'));
    for (const address of [A, B, C]) world.address(address);
    const older = world.pool('older', { ips: [A, B] });
    const newer = world.pool('newer', { ips: [B, C] });
    await world.start();
    await world.untilStates(older, { [A]: 'active', [B]: 'active' });
    await world.untilStates(newer, { [B]: 'error', [C]: 'active' });
    const annotated = () => Object.values(world.cluster.annotations()).sort();
    await world.clock.advance(1_000);
    expect(annotated()).toEqual([A, B, C]);
    world.pool('older', { ips: [A] });
    await world.untilStates(newer, { [B]: 'active', [C]: 'active' });
    world.cluster.setNode(node(world.holderOf(A) ?? '', { ready: false }));
    await world.untilOn(A, 'd');
    await world.untilStates(older, { [A]: 'active' });
    await world.clock.advance(1_000);
    expect(annotated()).toEqual([A, B, C]);
    world.cluster.removePool(older);
    await world.clock.advance(1_000);
    expect(annotated()).toEqual([B, C]);
  });

  test('two assigns of it are never under way at once, whichever pool they are for', async ({ open }) => {
    const world = open({ provider: { actionMs: 5_000 } });
    world.nodes(node('a'), node('b'));
    world.address(A);
    const older = world.pool('older', { ips: [A] });
    const newer = world.pool('newer', { ips: [A] });
    await world.start();
    await world.clock.runUntil(() => world.assigns().length === 1, 5_000);
    world.cluster.removePool(older);
    await world.untilStates(newer, { [A]: 'active' }, 90_000);
    await world.clock.advance(30_000);
    expect(world.assigns()).toHaveLength(1);
    expect(world.cluster.annotations()).toEqual({ a: A });
  });
});

describe('two pools on the same nodes', () => {
  test('never grant one node twice, and each uses the whole line', async ({ open }) => {
    const world = open();
    world.nodes(node('a'), node('b'), node('c'), node('d'));
    for (const address of [A, B, C]) world.address(address);
    const one = world.pool('one', { ips: [A, B] });
    const two = world.pool('two', { ips: [C] });
    await world.start();
    await world.untilStates(one, { [A]: 'active', [B]: 'active' });
    await world.untilStates(two, { [C]: 'active' });
    expect(new Set([A, B, C].map((address) => world.holderOf(address))).size).toBe(3);
    expect(world.assigns()).toHaveLength(3);
  });

  test('a pool that found no node is woken when the other one frees one', async ({ open }) => {
    const world = open();
    world.nodes(node('a'));
    world.address(A);
    world.address(B);
    const one = world.pool('one', { ips: [A] });
    const two = world.pool('two', { ips: [B] });
    await world.start();
    await world.untilStates(one, { [A]: 'active' });
    await world.untilStates(two, { [B]: 'unassigned' });
    await world.clock.advance(5_000);
    world.cluster.removePool(one);
    world.provider.cloud.moveByHand(A, null);
    await world.untilOn(B, 'a', 5_000);
    await world.untilStates(two, { [B]: 'active' });
  });

  test('a node that fails over from one pool to the other is used by one only', async ({ open }) => {
    const world = open();
    world.nodes(node('a'), node('b'), node('c'));
    world.address(A, 'a');
    world.address(B, 'b');
    const one = world.pool('one', { ips: [A] });
    const two = world.pool('two', { ips: [B] });
    await world.start();
    await world.untilStates(one, { [A]: 'active' });
    await world.untilStates(two, { [B]: 'active' });
    world.cluster.setNode(node('a', { ready: false }), node('b', { ready: false }));
    await world.clock.runUntil(() => world.holderOf(A) === 'c' || world.holderOf(B) === 'c', 5_000);
    await world.clock.advance(5_000);
    expect(world.assigns()).toHaveLength(1);
    world.cluster.setNode(node('a'), node('b'));
    await world.untilStates(one, { [A]: 'active' });
    await world.untilStates(two, { [B]: 'active' });
    expect(world.assigns()).toHaveLength(1);
  });
});
