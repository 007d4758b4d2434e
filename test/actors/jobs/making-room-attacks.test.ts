import { describe, expect, vi } from 'vitest';
import type { Address, ObservedAddress } from '../../../machines/model/types.ts';
import { test } from '../../support/sound.ts';
import { node, providerIDOf, type World } from '../../support/world.ts';

const A = '203.0.113.7' as Address;
const B = '203.0.113.8' as Address;
const C = '203.0.113.9' as Address;
const X = '203.0.113.10' as Address;

const serving = async (world: World, held: Readonly<Record<string, string>>, ...free: readonly Address[]) => {
  world.nodes(...Object.values(held).map((name) => node(name)));
  for (const [address, name] of Object.entries(held)) world.address(address, name);
  for (const address of free) world.address(address);
  const ref = world.pool('ingress', { ips: Object.keys(held) });
  await world.start();
  await world.untilStates(ref, Object.fromEntries(Object.keys(held).map((address) => [address, 'active'])));
  return ref;
};
const told = (world: World) => [
  ...world.cluster.projections.flatMap(({ events }) => events.map(({ message }) => message)),
  ...world.cluster.announced.map(({ event }) => event.message),
];
const takenOff = (world: World) => told(world).filter((message) => message.startsWith(`${A} leaves a to make room`));
const unassigns = (world: World) => world.provider.writes().filter(({ verb }) => verb === 'unassignRoutedIP');
const isUnassignSent = (world: World) => unassigns(world).length > 0;

describe('an endless loop of calls', () => {
  test('does not come of an unassign that is always answered by 404', async ({ open }) => {
    const world = open();
    await serving(world, { [A]: 'a' }, B);
    world.provider.faults.always('unassignRoutedIP', { kind: 'refuse', error: 'NotFound' });
    world.pool('ingress', { ips: [B] });
    const before = world.provider.calls.length;
    await world.clock.advance(60_000);
    expect(world.provider.calls.length - before).toBeLessThan(100);
  });

  test('does not come of a list that lags behind the reads of single addresses while the node is refused', async ({ open }) => {
    const world = open();
    let former: readonly ObservedAddress[] | null = null;
    const make = world.provider.process;
    vi.spyOn(world.provider, 'process').mockImplementation((options) => {
      const one = make(options);
      return { ...one, listRoutedIPs: async (call) => former ?? (await one.listRoutedIPs(call)) };
    });
    await serving(world, { [A]: 'a' }, B);
    former = world.provider.cloud.list();
    world.pool('ingress', { ips: [B] });
    await world.untilOn(A, null, 5_000);
    world.provider.faults.always('assignRoutedIP', { kind: 'refuse', error: 'NodeInUse' });
    const before = world.provider.calls.length;
    await world.clock.advance(60_000);
    expect(world.provider.calls.length - before).toBeLessThan(100);
  });

  test('does not come of somebody who puts the address back each time', async ({ open }) => {
    const world = open();
    await serving(world, { [A]: 'a' }, B);
    world.pool('ingress', { ips: [B] });
    const from = world.clock.monotonic();
    while (world.clock.monotonic() - from < 30_000) {
      await world.clock.advance(3);
      const isFree = world.holderOf(A) === null && world.holderOf(B) === null;
      if (isFree && world.provider.calls.at(-1)?.args[0] === B) world.provider.cloud.moveByHand(A, providerIDOf('a'));
    }
    expect(unassigns(world).length).toBeLessThan(10);
  });
});

describe('an address is not taken off', () => {
  test('that an object lists while the look before the unassign goes on', async ({ open }) => {
    const world = open({ provider: { callMs: 2_000 } });
    await serving(world, { [A]: 'a' }, B);
    world.pool('ingress', { ips: [B] });
    const isLookedAt = () =>
      world.provider.calls.some(({ verb, args }) => verb === 'findRoutedIP' && args[0] === A) && world.assigns().length > 0;
    await world.clock.runUntil(isLookedAt, 30_000);
    await world.clock.advance(100);
    expect(isUnassignSent(world)).toBe(false);
    world.pool('q', { ips: [A] });
    await world.clock.advance(30_000);
    expect(unassigns(world)).toEqual([]);
  });

  test('that was never the pool’s own, and was given up as one of more than a hundred', async ({ open }) => {
    const world = open({ settings: { adopt: 'unassigned' }, provider: { quota: 400 } });
    const many = Array.from({ length: 104 }, (_, index) => `198.51.100.${index + 1}` as Address);
    world.provider.cloud.addNode(providerIDOf('stranger'));
    world.nodes(node('a'));
    for (const address of many) world.address(address, 'stranger');
    world.address(B);
    const ref = world.pool('ingress', { ips: many });
    await world.start();
    await world.clock.advance(10_000);
    for (const [index] of many.entries()) {
      world.pool('ingress', { ips: [...many.slice(index + 1), B] });
      await world.clock.advance(1_000);
    }
    await world.untilStates(ref, { [B]: 'active' });
    for (const stranger of many.slice(0, 4)) {
      world.provider.cloud.moveByHand(B, null);
      await world.clock.advance(20);
      world.provider.cloud.moveByHand(stranger, providerIDOf('a'));
      await world.clock.advance(700_000);
      expect([stranger, world.holderOf(stranger)]).toEqual([stranger, 'a']);
      world.provider.cloud.moveByHand(stranger, null);
      await world.untilOn(B, 'a', 700_000);
    }
  });

  test('that somebody has put on another node since, long after it was given up', async ({ open }) => {
    const world = open();
    const ref = await serving(world, { [A]: 'a', [C]: 'c' }, B, X);
    world.pool('ingress', { ips: [X, C] });
    await world.untilStates(ref, { [X]: 'active', [C]: 'active' });
    await world.clock.advance(3_600_000);
    world.nodes(node('d'));
    world.provider.cloud.moveByHand(A, providerIDOf('d'));
    await world.clock.advance(600_000);
    world.pool('ingress', { ips: [X, C, B] });
    await world.clock.advance(120_000);
    expect(world.holderOf(A)).toBe('d');
  });

  test('that a tenant of another namespace had last, whose pool is made anew', async ({ open }) => {
    const world = open();
    const p = await serving(world, { [A]: 'a', [C]: 'c' }, B);
    const spec = { provider: 'digitalocean', region: 'nyc3', match: { nodeLabel: 'pool=work' }, ips: [A] };
    world.pool('ingress', { ips: [C] });
    const q = world.cluster.setPool({ namespace: 'tenant', name: 'q', spec });
    await world.untilStates(q, { [A]: 'active' });
    await world.clock.advance(3_600_000);
    world.pool('ingress', { ips: [C, B] });
    await world.clock.advance(60_000);
    expect(world.states(p)).toEqual({ [B]: 'unassigned', [C]: 'active' });
    world.cluster.removePool(q);
    await world.clock.advance(120_000);
    world.cluster.setPool({ namespace: 'tenant', name: 'q', spec });
    await world.clock.advance(10_000);
    expect(unassigns(world)).toEqual([]);
  });

  test('that is reserved for a Service as an IP of an IPGroup', async ({ open }) => {
    const world = open({ vips: {} });
    world.vips?.setGroup('g', { segment: '203.0.113.0/28', excludedIPs: [] });
    await serving(world, { [A]: 'a' }, B);
    world.vips?.setService({ name: 'web', requestedIP: A });
    await world.clock.advance(10_000);
    expect(world.vips?.ips().map(({ address }) => address)).toEqual([A]);
    world.pool('ingress', { ips: [B] });
    await world.clock.advance(30_000);
    expect(world.holderOf(A)).toBe('a');
  });

  for (const what of ['deleted', 'paused', 'edited again'] as const)
    test(`for a successor whose pool is ${what} before the unassign is sent`, async ({ open }) => {
      const world = open();
      const ref = await serving(world, { [A]: 'a', [C]: 'c' }, B);
      world.provider.faults.next('unassignRoutedIP', { kind: 'refuse', error: 'RateLimited', retryAfterMs: 30_000 });
      world.pool('ingress', { ips: [B, C] });
      await world.clock.advance(3_000);
      if (what === 'deleted') world.cluster.markDeleting(ref);
      if (what === 'paused') world.cluster.annotate(ref, { 'routedip.io/paused': 'true' });
      if (what === 'edited again') world.pool('ingress', { ips: [C] });
      await world.clock.advance(60_000);
      expect(world.holderOf(A)).toBe('a');
    });
});

describe('that an address is taken off is told', () => {
  const faults = [
    { kind: 'refuse', error: 'Unavailable' },
    { kind: 'refuse', error: 'NodeInUse' },
    { kind: 'refuse', error: 'Invalid' },
    { kind: 'loseReply' },
    { kind: 'hang' },
  ] as const;
  for (const fault of faults)
    test(`when the assign after it fails once: ${Object.values(fault).join(' ')}`, async ({ open }) => {
      const world = open();
      const ref = await serving(world, { [A]: 'a' }, B);
      world.pool('ingress', { ips: [B] });
      await world.untilOn(A, null, 5_000);
      world.provider.faults.next('assignRoutedIP', fault);
      await world.untilStates(ref, { [B]: 'active' }, 300_000);
      expect(takenOff(world)).toHaveLength(1);
    });

  for (const fault of [{ kind: 'loseReply' }, { kind: 'hang', effectAfterMs: 14_900 }] as const)
    test(`when the reply of the unassign is not heard: ${fault.kind}`, async ({ open }) => {
      const world = open();
      const ref = await serving(world, { [A]: 'a' }, B);
      world.provider.faults.next('unassignRoutedIP', fault);
      world.pool('ingress', { ips: [B] });
      await world.untilStates(ref, { [B]: 'active' }, 300_000);
      expect(takenOff(world)).toHaveLength(1);
    });

  for (const point of ['beforeReplyRead', 'afterReply'] as const)
    test(`when the process dies ${point} of the unassign`, async ({ open }) => {
      const world = open({ provider: { actionMs: 1_000 } });
      world.nodes(node('a'));
      world.address(A, 'a');
      world.address(B);
      const ref = world.pool('ingress', { ips: [A] });
      await world.start((at, about) => at === point && about.startsWith('unassign'));
      await world.untilStates(ref, { [A]: 'active' });
      world.pool('ingress', { ips: [B] });
      await world.clock.advance(26_000);
      expect(world.processes).toEqual([]);
      await world.start();
      await world.untilStates(ref, { [B]: 'active' }, 120_000);
      expect(takenOff(world)).toHaveLength(1);
    });

  for (const away of [false, true])
    test(`when the store is cut off while the unassign goes on${away ? ', and the operator goes on in memory' : ''}`, async ({ open }) => {
      const world = open({ away, provider: { actionMs: 2_000 } });
      const ref = await serving(world, { [A]: 'a' }, B);
      world.pool('ingress', { ips: [B] });
      await world.clock.runUntil(() => isUnassignSent(world), 20_000);
      for (const { store } of world.processes) store.cut();
      await world.clock.advance(40_000);
      for (const { store } of world.processes) store.mend();
      await world.untilStates(ref, { [B]: 'active' }, 120_000);
      expect(takenOff(world)).toHaveLength(1);
    });

  test('when the unassign takes so long that too little time is left for the assign', async ({ open }) => {
    const actionMs: [number, number] = [100_000, 100_000];
    const world = open({ provider: { actionMs } });
    const ref = await serving(world, { [A]: 'a' }, B);
    world.pool('ingress', { ips: [B] });
    await world.clock.runUntil(() => isUnassignSent(world), 10_000);
    await world.clock.advance(1_000);
    actionMs.fill(30_000);
    await world.untilStates(ref, { [B]: 'active' }, 300_000);
    expect(told(world)).not.toContain(`assign ${B} to a: not confirmed within 120 s`);
    expect(takenOff(world)).toHaveLength(1);
  });

  test('when the machine is gone before the assign', async ({ open }) => {
    const world = open({ provider: { actionMs: 3_000 } });
    const ref = await serving(world, { [A]: 'a' }, B);
    world.pool('ingress', { ips: [B] });
    await world.untilOn(A, null, 20_000);
    world.cluster.removeNode('a');
    world.provider.cloud.removeNode(providerIDOf('a'));
    world.nodes(node('b'));
    await world.untilStates(ref, { [B]: 'active' });
    expect(takenOff(world)).toHaveLength(1);
  });

  test('when the successor is no longer listed by the time it is assigned', async ({ open }) => {
    const world = open({ provider: { actionMs: 3_000 } });
    const ref = await serving(world, { [A]: 'a', [C]: 'c' }, B);
    world.pool('ingress', { ips: [B, C] });
    await world.untilOn(A, null, 20_000);
    world.pool('ingress', { ips: [C] });
    await world.clock.advance(60_000);
    expect(world.states(ref)).toEqual({ [C]: 'active' });
    expect(takenOff(world)).toHaveLength(1);
  });
});
