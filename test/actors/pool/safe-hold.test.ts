import { describe, expect } from 'vitest';
import type { Address, ObjectRef, ObservedNode } from '../../../machines/model/types.ts';
import { test } from '../../support/sound.ts';
import { node, providerIDOf, type World } from '../../support/world.ts';

const MINUTE = 60_000;
const NAMES = ['a', 'b', 'c', 'd'];
const IPS = ['203.0.113.1', '203.0.113.2', '203.0.113.3', '203.0.113.4'] as Address[];
const HOLD = { safeHold: { maxUnavailable: 2, windowSeconds: 60 } };

const notReady = (name: string, change: Partial<ObservedNode> = {}): ObservedNode => node(name, { ready: false, ...change });
const condition = (world: World, ref: ObjectRef, type: string) => world.cluster.conditions(ref).find((each) => each.type === type);
const events = (world: World) => world.cluster.projections.flatMap((each) => each.events).filter(({ reason }) => reason === 'SafeHold');
const asked = (world: World): readonly string[] =>
  world.provider.calls.filter(({ verb }) => verb === 'findNode').map(({ args }) => String(args[0]).replace('digitalocean://', ''));
const placed = (world: World): string => IPS.map((address) => world.holderOf(address) ?? '-').join('');
const active = (count: number) =>
  Object.fromEntries(IPS.map((address, index) => [address, index < count ? 'active' : 'no-match'])) as never;

/** Four addresses on the nodes a to d; e to h are spare. */
async function served(
  world: World,
  spec: Parameters<World['pool']>[1] = HOLD,
  spare: readonly string[] = ['e', 'f', 'g', 'h'],
): Promise<ObjectRef> {
  world.nodes(...[...NAMES, ...spare].map((name) => node(name)));
  for (const [index, address] of IPS.entries()) world.address(address, NAMES[index]);
  const ref = world.pool('ingress', { ips: IPS, ...spec });
  await world.start();
  await world.untilStates(ref, active(4));
  await world.clock.advance(5_000);
  expect(placed(world)).toBe('abcd');
  return ref;
}

describe('nodes that stop matching', () => {
  test('no more than allowed lose their addresses at once, and nobody is asked for their machines', async ({ open }) => {
    const world = open();
    await served(world);
    world.cluster.setNode(notReady('a'), notReady('b'));
    await world.clock.runUntil(() => placed(world) === 'efcd', 1_000);
    await world.clock.advance(5 * MINUTE);
    expect([asked(world), events(world)]).toEqual([[], []]);
  });

  test('more than allowed keep them: nothing is moved, and DNS and annotations stay', async ({ open }) => {
    const world = open();
    world.provider.cloud.addZone('example.com');
    const ref = await served(world, { ...HOLD, dnsRecordSet: { zone: 'example.com', recordName: 'web' } });
    await world.clock.runUntil(() => world.provider.cloud.zone('example.com').records.length === 4, 30_000);
    const writes = world.provider.writes().length;
    world.cluster.setNode(...['a', 'b', 'c'].map((name) => notReady(name)));
    await world.clock.advance(60 * MINUTE);
    expect([placed(world), world.provider.writes().length]).toEqual(['abcd', writes]);
    expect(world.cluster.annotations()).toEqual(Object.fromEntries(IPS.map((address, index) => [NAMES[index], address])));
    expect(world.states(ref)).toEqual(active(4));
  });

  test('are named: Degraded and not Ready by SafeHold, in the status, and in one Event', async ({ open }) => {
    const world = open();
    const ref = await served(world);
    world.cluster.setNode(...['a', 'b', 'c'].map((name) => notReady(name)));
    await world.clock.advance(1_000);
    const message = expect.stringMatching(
      /^a, b, c do not match any more, 3 nodes where maxUnavailable is 2, and the provider does not say /,
    );
    expect(condition(world, ref, 'Degraded')).toMatchObject({ status: 'True', reason: 'SafeHold', message });
    expect(condition(world, ref, 'Ready')).toMatchObject({ status: 'False', reason: 'SafeHold' });
    expect(world.status(ref).safeHold?.nodes.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
    expect(IPS.map((address) => world.status(ref).ips?.[address]?.held)).toEqual([true, true, true, undefined]);
    expect(world.status(ref).activeIPs, 'those that are held serve nobody').toBe(1);
    await world.clock.advance(30 * MINUTE);
    expect(events(world).map(({ type }) => type)).toEqual(['Warning']);
  });

  test('one after the other within the window: those that went before the hold have moved, the rest stays', async ({ open }) => {
    const world = open();
    await served(world);
    for (const name of NAMES) {
      world.cluster.setNode(notReady(name));
      await world.clock.advance(10_000);
    }
    expect(placed(world)).toBe('efcd');
    await world.clock.advance(10 * MINUTE);
    expect(placed(world)).toBe('efcd');
  });

  test('one after the other, further apart than the window allows, each lose their address', async ({ open }) => {
    const world = open();
    await served(world);
    for (const name of NAMES) {
      world.cluster.setNode(notReady(name));
      await world.clock.advance(31_000);
    }
    expect([placed(world), events(world)]).toEqual(['efgh', []]);
  });

  test('in whatever way count alike: gone, without a label, tainted, not Ready', async ({ open }) => {
    const world = open();
    const ref = await served(world);
    world.provider.faults.always('findNode', { kind: 'refuse', error: 'Unavailable' });
    const { cluster } = world;
    cluster.removeNode('d');
    cluster.setNode(node('c', { labels: {} }), node('b', { taints: [{ key: 'x', effect: 'NoSchedule' }] }), notReady('a'));
    await world.clock.advance(5 * MINUTE);
    // The first of them was told alone, and moved.
    expect([placed(world), condition(world, ref, 'Degraded')?.reason]).toEqual(['abce', 'SafeHold']);
  });

  test('count also when they hold no address', async ({ open }) => {
    const world = open();
    await served(world);
    world.cluster.setNode(...['a', 'e', 'f'].map((name) => notReady(name)));
    await world.clock.advance(5 * MINUTE);
    expect([placed(world), asked(world).slice(0, 3).toSorted()]).toEqual(['abcd', ['a', 'e', 'f']]);
  });

  test('without the rule all lose their addresses at once', async ({ open }) => {
    const world = open();
    await served(world, {});
    world.cluster.setNode(...NAMES.map((name) => notReady(name)));
    await world.clock.runUntil(() => placed(world) === 'efgh', 1_000);
    expect(asked(world)).toEqual([]);
  });
});

describe('a pool that holds', () => {
  const held = async (world: World, spec: Parameters<World['pool']>[1] = HOLD): Promise<ObjectRef> => {
    const ref = await served(world, spec);
    world.cluster.setNode(...['a', 'b', 'c'].map((name) => notReady(name)));
    await world.clock.advance(2_000);
    expect([placed(world), condition(world, ref, 'Degraded')?.reason]).toEqual(['abcd', 'SafeHold']);
    return ref;
  };

  test('goes on without a move when all nodes are back', async ({ open }) => {
    const world = open();
    const ref = await held(world);
    await world.clock.advance(20 * MINUTE);
    world.cluster.setNode(...['a', 'b', 'c'].map((name) => node(name)));
    await world.clock.advance(1_000);
    expect(condition(world, ref, 'Degraded')?.status).toBe('False');
    expect(world.status(ref)).not.toHaveProperty('safeHold');
    await world.clock.advance(20 * MINUTE);
    expect([placed(world), world.assigns()]).toEqual(['abcd', []]);
  });

  test('moves the rest once so many are back that no more than allowed are absent', async ({ open }) => {
    const world = open();
    await held(world);
    await world.clock.advance(5 * MINUTE);
    world.cluster.setNode(node('b'));
    await world.clock.runUntil(() => placed(world) === 'ebfd', 1_000);
  });

  test('keeps what fails besides: the newest facts count', async ({ open }) => {
    const world = open();
    await held(world);
    await world.clock.advance(10 * MINUTE);
    world.cluster.setNode(node('a'), notReady('d'));
    await world.clock.advance(5 * MINUTE);
    expect(placed(world)).toBe('abcd');
  });

  test('moves only the addresses of machines of which the provider says that they are gone', async ({ open }) => {
    const world = open();
    const ref = await served(world, { safeHold: { maxUnavailable: 1, windowSeconds: 60 } });
    world.provider.cloud.removeNode(providerIDOf('b'));
    world.cluster.setNode(...['a', 'b', 'c'].map((name) => notReady(name)));
    await world.clock.runUntil(() => world.holderOf(IPS[1] ?? '') === 'e', 2_000);
    await world.clock.advance(5_000);
    expect([placed(world), condition(world, ref, 'Degraded')?.reason]).toEqual(['aecd', 'SafeHold']);
    expect(world.status(ref).safeHold?.nodes.map(({ name }) => name)).toEqual(['a', 'c']);
  });

  test('holds no more when the provider has said that so many are gone, and moves all', async ({ open }) => {
    const world = open();
    const ref = await served(world);
    for (const name of ['a', 'b']) world.provider.cloud.removeNode(providerIDOf(name));
    world.cluster.setNode(...['a', 'b', 'c'].map((name) => notReady(name)));
    await world.clock.runUntil(() => world.assigns().length === 3, 2_000);
    await world.untilStates(ref, active(4));
    await world.clock.advance(2_000);
    expect(placed(world)).toBe('efgd');
    expect(condition(world, ref, 'Degraded')?.status).toBe('False');
  });

  test('asks again, ever more seldom, and moves the address of a machine that is gone by then', async ({ open }) => {
    const world = open();
    await held(world, { safeHold: { maxUnavailable: 1, windowSeconds: 60 } });
    const calls = world.provider.calls.filter(({ verb }) => verb === 'findNode');
    const began = calls[0]?.at ?? 0;
    await world.clock.advance(40 * MINUTE);
    const times = world.provider.calls.filter(({ verb, args }) => verb === 'findNode' && args[0] === providerIDOf('a'));
    expect(times.map(({ at }) => Math.round((at - began) / MINUTE))).toEqual([0, 1, 6, 16, 26, 36]);
    world.provider.cloud.removeNode(providerIDOf('a'));
    await world.untilOn(IPS[0] ?? '', 'e', 11 * MINUTE);
    expect(placed(world)).toBe('ebcd');
  });

  test('moves all when a person raises the number, or takes the rule out', async ({ open }) => {
    for (const spec of [{ safeHold: { maxUnavailable: 3, windowSeconds: 60 } }, {}]) {
      const world = open();
      const ref = await held(world);
      await world.clock.advance(5 * MINUTE);
      world.pool('ingress', { ips: IPS, ...spec });
      await world.clock.runUntil(() => placed(world) === 'efgd', 1_000);
      await world.untilStates(ref, active(4));
    }
  });

  test('does not drain meanwhile, and does so afterwards', async ({ open }) => {
    const world = open();
    await held(world, { ...HOLD, drainPolicy: 'OnCordon' });
    world.cluster.setNode(node('d', { unschedulable: true }));
    await world.clock.advance(5 * MINUTE);
    expect(placed(world)).toBe('abcd');
    world.cluster.setNode(...['a', 'b', 'c'].map((name) => node(name)));
    await world.clock.runUntil(() => placed(world) === 'abce', 1_000);
  });

  test('gives an address that has no node a node that matches', async ({ open }) => {
    const world = open();
    await held(world);
    const fifth = world.address('203.0.113.5');
    world.pool('ingress', { ips: [...IPS, fifth], ...HOLD });
    await world.untilOn(fifth, 'e', 1_000);
    expect(placed(world)).toBe('abcd');
  });

  test('holds on after the window and after the grace', async ({ open }) => {
    const world = open();
    await held(world, { ...HOLD, recoveryGraceSeconds: 30 });
    await world.clock.advance(10 * MINUTE);
    expect(placed(world)).toBe('abcd');
    world.cluster.setNode(node('a'));
    await world.clock.runUntil(() => placed(world) === 'aefd', 1_000);
  });

  test('holds on under another leader, which counts what it finds', async ({ open }) => {
    const world = open();
    const ref = await held(world);
    for (const process of world.processes) process.kill();
    world.lease.delete();
    await world.clock.advance(5 * MINUTE);
    await world.start();
    await world.clock.advance(5 * MINUTE);
    expect([placed(world), condition(world, ref, 'Degraded')?.reason, world.assigns()]).toEqual(['abcd', 'SafeHold', []]);
    world.cluster.setNode(node('a'));
    await world.clock.runUntil(() => placed(world) === 'aefd', 1_000);
  });

  test('holds on when all records are lost: the status of the pool remembers', async ({ open }) => {
    const world = open();
    const ref = await held(world);
    for (const process of world.processes) process.kill();
    world.lease.delete();
    world.store.wipe();
    world.queues.wipe();
    world.invariants.forget();
    await world.start();
    await world.clock.advance(20 * MINUTE);
    expect([placed(world), condition(world, ref, 'Degraded')?.reason, world.assigns()]).toEqual(['abcd', 'SafeHold', []]);
    world.cluster.setNode(...['a', 'b', 'c'].map((name) => node(name)));
    await world.clock.advance(1_000);
    expect([condition(world, ref, 'Degraded')?.status, world.assigns()]).toEqual(['False', []]);
  });

  test('counts nodes that were lost while nobody led as lost when they are found', async ({ open }) => {
    const world = open();
    const ref = await served(world);
    for (const process of world.processes) process.kill();
    world.lease.delete();
    world.cluster.setNode(notReady('a'));
    await world.clock.advance(5 * MINUTE);
    world.cluster.setNode(notReady('b'), notReady('c'));
    await world.start();
    await world.clock.advance(5 * MINUTE);
    expect([placed(world), condition(world, ref, 'Degraded')?.reason]).toEqual(['abcd', 'SafeHold']);
  });
});

describe('a change of the selectors', () => {
  test('is no loss of nodes: those that the new ones let through are the pool’s', async ({ open }) => {
    const world = open();
    await served(world, HOLD, []);
    world.nodes(...['w', 'x', 'y', 'z'].map((name) => node(name, { labels: { pool: 'other' } })));
    world.pool('ingress', { ips: IPS, ...HOLD, match: { nodeLabel: 'pool=other' } });
    await world.clock.runUntil(() => placed(world) === 'wxyz', 2_000);
    expect(events(world)).toEqual([]);
  });

  test('ends a hold: a person has decided', async ({ open }) => {
    const world = open();
    await served(world);
    world.cluster.setNode(...['a', 'b', 'c'].map((name) => notReady(name)));
    await world.clock.advance(MINUTE);
    expect(placed(world)).toBe('abcd');
    world.pool('ingress', { ips: IPS, ...HOLD, match: { nodeLabel: 'pool in (work)' } });
    await world.clock.runUntil(() => placed(world) === 'efgd', 2_000);
  });
});

describe('many nodes that stop matching at once', () => {
  test('cost a question each, those with addresses first and before the reserve of the budget', async ({ open }) => {
    const world = open({ provider: { callMs: 20 } });
    const spare = Array.from({ length: 60 }, (_, index) => `s${String(index).padStart(2, '0')}`);
    await served(world, { safeHold: { maxUnavailable: 5, windowSeconds: 60 } }, spare);
    world.cluster.setNode(...[...spare, ...NAMES].map((name) => notReady(name)));
    await world.clock.advance(30_000);
    expect(asked(world)).toHaveLength(64);
    expect(asked(world).slice(0, 4).toSorted()).toEqual(NAMES);
    const purposes = world.provider.calls.filter(({ verb }) => verb === 'findNode').map(({ purpose }) => purpose);
    expect(new Set(purposes.slice(0, 4))).toEqual(new Set(['failover']));
    expect(new Set(purposes.slice(4))).toEqual(new Set(['verify']));
    expect(placed(world)).toBe('abcd');
  });
});
