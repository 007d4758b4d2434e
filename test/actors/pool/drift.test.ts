import { describe, expect } from 'vitest';
import type { Address } from '../../../machines/model/types.ts';
import { test } from '../../support/sound.ts';
import { node, providerIDOf, type World } from '../../support/world.ts';

const A = '203.0.113.7' as Address;
const B = '203.0.113.8' as Address;
const VERIFIED = 310_000;

/** A pool whose address sits on node a. */
const serving = async (world: World, ...names: readonly string[]) => {
  world.nodes(...names.map((name) => node(name)));
  world.address(A, 'a');
  const ref = world.pool('ingress', { ips: [A] });
  await world.start();
  await world.untilStates(ref, { [A]: 'active' });
  await world.clock.advance(20_000);
  return ref;
};

describe('an address that someone moves by hand', () => {
  test('is put back within a minute, for no more than a list a minute', async ({ open }) => {
    const world = open();
    await serving(world, 'a');
    await world.clock.advance(7_123);
    world.provider.cloud.moveByHand(A, null);
    await world.untilOn(A, 'a', 61_000);
    const lists = world.provider.calls.filter(({ verb }) => verb === 'listRoutedIPs').length;
    await world.clock.advance(3_600_000);
    expect(world.provider.calls.filter(({ verb }) => verb === 'listRoutedIPs').length - lists).toBeLessThanOrEqual(61);
  });

  test('is found by verifications alone where there are thousands: each page is a call', async ({ open }) => {
    const world = open({ provider: { quota: 10_000 } });
    for (let index = 0; index < 3_000; index += 1) world.address(`10.1.${index >> 8}.${index & 255}` as Address);
    await serving(world, 'a');
    const lists = world.provider.calls.filter(({ verb }) => verb === 'listRoutedIPs').length;
    await world.clock.advance(3_600_000);
    expect(world.provider.calls.filter(({ verb }) => verb === 'listRoutedIPs').length - lists).toBeLessThanOrEqual(12);
  });

  test('to a machine outside the cluster is brought back', async ({ open }) => {
    const world = open();
    const ref = await serving(world, 'a');
    world.provider.cloud.addNode(providerIDOf('foreign'));
    world.provider.cloud.moveByHand(A, providerIDOf('foreign'));
    await world.untilOn(A, 'a', VERIFIED);
    await world.untilStates(ref, { [A]: 'active' });
    expect(world.assigns().map(({ what }) => what)).toEqual([`${A} → a`]);
  });

  test('to another eligible node is left there', async ({ open }) => {
    const world = open();
    const ref = await serving(world, 'a', 'b');
    world.provider.cloud.moveByHand(A, providerIDOf('b'));
    await world.clock.runUntil(() => world.cluster.annotations().b === A, VERIFIED);
    expect(world.cluster.annotations()).toEqual({ b: A });
    expect(world.states(ref)).toEqual({ [A]: 'active' });
    expect(world.provider.writes()).toEqual([]);
  });

  test('to a node that matches no more is put back on one that does', async ({ open }) => {
    const world = open();
    const ref = await serving(world, 'a', 'b');
    world.cluster.setNode(node('b', { ready: false }));
    world.provider.cloud.moveByHand(A, providerIDOf('b'));
    await world.untilOn(A, 'a', VERIFIED);
    await world.untilStates(ref, { [A]: 'active' });
  });

  test('off its node is put back, without a spare node', async ({ open }) => {
    const world = open();
    const ref = await serving(world, 'a');
    world.provider.cloud.moveByHand(A, null);
    await world.untilOn(A, 'a', VERIFIED);
    await world.untilStates(ref, { [A]: 'active' });
    expect(world.assigns()).toHaveLength(1);
  });

  test('off its node is put back on the same node although others are free', async ({ open }) => {
    const world = open();
    await serving(world, 'a', 'b', 'c');
    world.provider.cloud.moveByHand(A, null);
    await world.untilOn(A, 'a', VERIFIED);
    expect(world.assigns().map(({ what }) => what)).toEqual([`${A} → a`]);
  });

  test('onto the node of another one: the two exchange nodes, and none is lost', async ({ open }) => {
    const world = open();
    world.nodes(node('a'), node('b'));
    world.address(A, 'a');
    world.address(B, 'b');
    const ref = world.pool('ingress', { ips: [A, B] });
    await world.start();
    await world.untilStates(ref, { [A]: 'active', [B]: 'active' });
    await world.clock.advance(20_000);
    world.provider.cloud.moveByHand(B, null);
    world.provider.cloud.moveByHand(A, providerIDOf('b'));
    await world.clock.runUntil(() => world.assigns().length > 0, VERIFIED);
    await world.clock.runUntil(() => world.holderOf(A) !== null && world.holderOf(B) !== null, 60_000);
    await world.untilStates(ref, { [A]: 'active', [B]: 'active' });
    expect([world.holderOf(A), world.holderOf(B)].sort()).toEqual(['a', 'b']);
  });

  test('to an eligible node while its assign fails is left there', async ({ open }) => {
    const world = open();
    const ref = await serving(world, 'a', 'b', 'c');
    world.provider.faults.next('assignRoutedIP', { kind: 'refuse', error: 'Invalid' }, 2);
    world.cluster.setNode(node('a', { ready: false }));
    await world.clock.runUntil(() => world.assigns().length === 2, 120_000);
    world.provider.cloud.moveByHand(A, providerIDOf('c'));
    await world.untilStates(ref, { [A]: 'active' }, 700_000);
    expect(world.holderOf(A)).toBe('c');
    expect(world.assigns()).toHaveLength(2);
  });

  test('is looked at once more before anything is done: a list that lags behind moves nothing', async ({ open }) => {
    const world = open();
    await serving(world, 'a', 'b');
    world.provider.cloud.moveByHand(A, null);
    world.provider.staleReads(45_000);
    world.provider.cloud.moveByHand(A, providerIDOf('a'));
    // The list is stale until the very moment at which the single read is made.
    await world.clock.advance(VERIFIED + 300_000);
    expect(world.provider.writes().length).toBeLessThanOrEqual(1);
    expect(world.holderOf(A)).toBe('a');
  });
});

describe('an address that someone deletes', () => {
  test('is an error, and its node is free for another one at once', async ({ open }) => {
    const world = open();
    world.nodes(node('a'));
    world.address(A, 'a');
    world.address(B);
    const ref = world.pool('ingress', { ips: [A, B] });
    await world.start();
    await world.untilStates(ref, { [A]: 'active', [B]: 'unassigned' });
    world.provider.cloud.removeByHand(A);
    await world.untilOn(B, 'a', VERIFIED);
    await world.untilStates(ref, { [A]: 'error', [B]: 'active' });
    expect(world.status(ref).ips?.[A]).toMatchObject({ error: expect.stringContaining('not found') });
    expect(world.cluster.annotations()).toEqual({ a: B });
  });

  test('is used again when it reappears', async ({ open }) => {
    const world = open();
    const ref = await serving(world, 'a');
    world.provider.cloud.removeByHand(A);
    await world.untilStates(ref, { [A]: 'error' }, VERIFIED);
    world.address(A);
    await world.untilOn(A, 'a', VERIFIED);
    await world.untilStates(ref, { [A]: 'active' });
  });

  test('is not an error while a list alone lacks it', async ({ open }) => {
    const world = open();
    const ref = await serving(world, 'a');
    world.provider.cloud.removeByHand(A);
    const lacking = world.provider.cloud.list();
    world.address(A, 'a');
    const { list } = world.provider.cloud;
    world.provider.cloud.list = () => lacking;
    const find = world.provider.cloud.find.bind(world.provider.cloud);
    expect(find(A).providerID).toBe(providerIDOf('a'));
    await world.clock.advance(30_000);
    world.provider.cloud.list = list;
    expect(world.states(ref)).toEqual({ [A]: 'active' });
    expect(world.provider.writes()).toEqual([]);
  });

  test('before the pool starts is an error, tried again slowly', async ({ open }) => {
    const world = open();
    world.nodes(node('a'));
    const ref = world.pool('ingress', { ips: [A] });
    await world.start();
    await world.untilStates(ref, { [A]: 'error' });
    const found = () => world.provider.calls.filter(({ verb }) => verb === 'findRoutedIP').length;
    const before = found();
    await world.clock.advance(59_000);
    expect(found()).toBe(before);
    world.address(A);
    await world.untilStates(ref, { [A]: 'active' }, 5_000);
  });
});

describe('a verification', () => {
  test('that fails changes nothing: unknown is not empty', async ({ open }) => {
    const world = open();
    const ref = await serving(world, 'a', 'b');
    world.provider.faults.always('listRoutedIPs', { kind: 'refuse', error: 'Unavailable' });
    await world.clock.advance(1_200_000);
    expect(world.states(ref)).toEqual({ [A]: 'active' });
    expect(world.provider.writes()).toEqual([]);
  });

  test('and each look for edits costs one list call for all addresses', async ({ open }) => {
    const world = open();
    await serving(world, 'a');
    const before = world.provider.calls.length;
    await world.clock.advance(600_000);
    const verbs = world.provider.calls.slice(before).map(({ verb }) => verb);
    expect(new Set(verbs)).toEqual(new Set(['listRoutedIPs']));
    expect(verbs.length).toBeLessThanOrEqual(11);
  });
});
