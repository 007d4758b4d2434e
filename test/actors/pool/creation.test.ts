import { describe, expect } from 'vitest';
import type { Json } from '../../../actors/ports/records.ts';
import type { Fault } from '../../../adapters/memory/faults.ts';
import type { Address } from '../../../machines/model/types.ts';
import { ingress, lose } from '../../support/setups.ts';
import { test } from '../../support/sound.ts';
import { node, type World } from '../../support/world.ts';
import { allActive, beforeCreation, creates, ipsOf } from './creation-steps.ts';

const A = '203.0.113.207' as Address;
const SECOND = 1000;

describe('a pool that wants more addresses than it lists', () => {
  test('creates them one at a time, lists them in its spec, and assigns them', async ({ open }) => {
    const world = open();
    const ref = ingress(world, { nodes: ['a', 'b', 'c'], addresses: { [A]: 'a' }, desiredIPs: 3 });
    await world.start();
    await world.clock.runUntil(allActive(world, ref, 3), 60 * SECOND);
    expect(ipsOf(world, ref)).toHaveLength(3);
    expect(ipsOf(world, ref)[0]).toBe(A);
    expect(
      world.provider.cloud
        .addresses()
        .map(({ address }) => address)
        .sort(),
    ).toEqual([...ipsOf(world, ref)].sort());
    await world.clock.advance(600 * SECOND);
    expect(creates(world)).toHaveLength(2);
    expect(world.holderOf(A)).toBe('a');
  });

  test('creates nothing when the status shows a later leader: its intent would stand in the way of that one', async ({ open }) => {
    const world = open();
    const ref = ingress(world, { nodes: ['a', 'b'], addresses: { [A]: 'a' } });
    const { supervisor } = await world.start();
    await world.clock.runUntil(allActive(world, ref, 1), 60 * SECOND);
    const later = supervisor.term + 1;
    const status = { ...world.status(ref), term: later } as unknown as Record<string, Json>;
    world.cluster.process().project({ ref, generation: 1, status, conditions: [], annotated: { a: A }, addresses: [A], events: [] });
    await world.clock.runUntil(() => world.status(ref).term === later, SECOND);
    const lists = () => world.provider.calls.filter(({ verb }) => verb === 'listRoutedIPs').length;
    const before = lists();
    world.pool('ingress', { ips: [A], desiredIPs: 2 });
    await world.clock.runUntil(() => lists() > before, 10 * SECOND);
    await world.clock.advance(10 * SECOND);
    expect([creates(world), world.status(ref).pendingCreate]).toEqual([[], undefined]);
  });

  test('writes its intent into the status before it calls, and the address into the spec before it uses it', async ({ open }) => {
    const world = open();
    const ref = ingress(world, { nodes: ['a'], desiredIPs: 1 });
    const { assign } = world.provider.cloud;
    let intent: unknown = null;
    let listed: readonly Address[] = [];
    beforeCreation(world, () => {
      intent = world.status(ref).pendingCreate;
    });
    world.provider.cloud.assign = (address, holder) => {
      listed = ipsOf(world, ref);
      return assign.call(world.provider.cloud, address, holder);
    };
    await world.start();
    await world.clock.runUntil(allActive(world, ref, 1), 60 * SECOND);
    expect(intent).toMatchObject({ region: 'nyc3', knownAddresses: [] });
    expect(listed).toHaveLength(1);
    await world.clock.advance(SECOND);
    expect(world.status(ref)).not.toHaveProperty('pendingCreate');
  });

  test('does not use an address before it stands in the spec, however long that takes', async ({ open }) => {
    const world = open();
    const ref = ingress(world, { nodes: ['a'], desiredIPs: 1 });
    beforeCreation(world, () => {
      world.cluster.failWrites();
    });
    await world.start();
    await world.clock.advance(60 * SECOND);
    expect(creates(world)).toHaveLength(1);
    expect(world.assigns()).toEqual([]);
    world.cluster.mendWrites();
    await world.clock.runUntil(allActive(world, ref, 1), 70 * SECOND);
    expect(creates(world)).toHaveLength(1);
  });

  test('keeps serving what it has while the quota is reached, says so, and goes on when there is room', async ({ open }) => {
    const world = open({ provider: { quota: 1 } });
    const ref = ingress(world, { nodes: ['a', 'b'], addresses: { [A]: null }, desiredIPs: 2 });
    await world.start();
    await world.untilStates(ref, { [A]: 'active' });
    await world.clock.runUntil(() => world.status(ref).error !== undefined, 10 * SECOND);
    expect(world.status(ref).error).toMatch(/^creating new ip with provider: .*quota/);
    expect(world.cluster.conditions(ref)).toContainEqual(expect.objectContaining({ type: 'Degraded', reason: 'CreateFailed' }));
    lose(world, 'a');
    await world.untilOn(A, 'b', SECOND);
    const tried = creates(world).length;
    await world.clock.advance(400 * SECOND);
    expect(creates(world).length - tried).toBeLessThanOrEqual(3);
    world.provider.cloud.setQuota(10);
    world.cluster.setNode(node('a'));
    await world.clock.runUntil(allActive(world, ref, 2), 700 * SECOND);
    expect(world.status(ref)).not.toHaveProperty('error');
    expect(world.provider.cloud.addresses()).toHaveLength(2);
  });

  test('stops creating when it wants no more', async ({ open }) => {
    const world = open({ provider: { quota: 0 } });
    const empty = ingress(world, { nodes: ['a'], desiredIPs: 1 });
    await world.start();
    await world.clock.runUntil(() => world.status(empty).error !== undefined, 10 * SECOND);
    world.provider.cloud.setQuota(10);
    world.address(A, 'a');
    const ref = world.pool('ingress', { ips: [A], desiredIPs: 1 });
    await world.untilStates(ref, { [A]: 'active' });
    await world.clock.advance(900 * SECOND);
    expect(creates(world)).toHaveLength(1);
    expect(world.status(ref)).not.toHaveProperty('error');
  });

  test('uses an address of its own again when a person reset the spec, and creates none', async ({ open }) => {
    const world = open();
    const ref = ingress(world, { nodes: ['a'], desiredIPs: 1 });
    await world.start();
    await world.clock.runUntil(allActive(world, ref, 1), 60 * SECOND);
    const [made] = ipsOf(world, ref);
    world.pool('ingress', { desiredIPs: 1 });
    await world.clock.runUntil(() => ipsOf(world, ref).length === 1, 10 * SECOND);
    expect(ipsOf(world, ref)).toEqual([made]);
    await world.clock.runUntil(allActive(world, ref, 1), 60 * SECOND);
    expect(creates(world)).toHaveLength(1);
    // What was created is read, and takes no creation's place in the budget of the provider.
    expect(world.provider.calls.filter(({ purpose }) => purpose === 'create').map(({ verb }) => verb)).toEqual(['createRoutedIP']);
    expect(world.assigns()).toHaveLength(1);
  });

  test('does not list an address of its own again that a person deleted at the provider, but creates another', async ({ open }) => {
    const world = open();
    world.nodes(node('a'));
    const ref = world.pool('ingress', { desiredIPs: 1 });
    await world.start();
    await world.clock.runUntil(allActive(world, ref, 1), 60 * SECOND);
    const [made = '' as Address] = ipsOf(world, ref);
    world.provider.cloud.removeByHand(made);
    world.pool('ingress', { desiredIPs: 1 });
    await world.clock.runUntil(() => ipsOf(world, ref).length === 1 && allActive(world, ref, 1)(), 60 * SECOND);
    await world.clock.advance(600 * SECOND);
    expect(ipsOf(world, ref)).toHaveLength(1);
    expect(ipsOf(world, ref)).not.toContain(made);
    expect(creates(world)).toHaveLength(2);
    expect(world.provider.cloud.addresses().map(({ address }) => address)).toEqual(ipsOf(world, ref));
  });

  test('waits while another pool creates, and both get their own', async ({ open }) => {
    const world = open({ provider: { callMs: 500 } });
    world.nodes(node('a'), node('b'));
    const one = world.pool('one', { desiredIPs: 1 });
    const two = world.pool('two', { desiredIPs: 1 });
    await world.start();
    await world.clock.runUntil(() => allActive(world, one, 1)() && allActive(world, two, 1)(), 60 * SECOND);
    expect(creates(world)).toHaveLength(2);
    expect(ipsOf(world, one)).not.toEqual(ipsOf(world, two));
    const [first, second] = creates(world);
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(500);
  });
});

describe('a creation under way when its pool is deleted', () => {
  const isGone = (world: World) => () => ![...world.invariants.records.keys()].some((actor) => actor.startsWith('pool/'));
  const deletedWhileCreating = async (world: World, fault?: Fault) => {
    world.nodes(node('a'));
    const ref = world.pool('ingress', { desiredIPs: 1 });
    if (fault) world.provider.faults.next('createRoutedIP', fault);
    await world.start();
    await world.clock.runUntil(() => creates(world).length === 1, 10 * SECOND);
    world.cluster.removePool(ref);
    return ref;
  };

  const made: Readonly<Record<string, Fault | undefined>> = {
    'is made': undefined,
    'is made without an answer': { kind: 'loseReply' },
    'is made 10 s later': { kind: 'hang', effectAfterMs: 10 * SECOND },
  };
  for (const [what, fault] of Object.entries(made)) {
    test(`keeps the pool until the address is known: one that ${what} is told by name, and stays`, async ({ open }) => {
      const world = open({ provider: { callMs: 500 } });
      const ref = await deletedWhileCreating(world, fault);
      await world.clock.runUntil(isGone(world), 30 * SECOND);
      const [left] = world.provider.cloud.addresses();
      expect(left).toMatchObject({ providerID: null });
      const event = expect.objectContaining({
        type: 'Warning',
        reason: 'AddressLeft',
        message: expect.stringContaining(`${left?.address}`),
      });
      expect(world.cluster.announced).toEqual([{ about: ref, event }]);
      await world.clock.advance(600 * SECOND);
      expect(creates(world)).toHaveLength(1);
    });
  }

  test('while a person makes some too is not said to be one of those before it can have no more effect, and nobody else creates', async ({
    open,
  }) => {
    const world = open();
    await deletedWhileCreating(world, { kind: 'hang', effectAfterMs: 10 * SECOND });
    const byHand = [world.address(A), world.address('203.0.113.208')];
    world.pool('other', { desiredIPs: 1 });
    await world.clock.advance(9 * SECOND);
    expect([creates(world).length, world.cluster.announced]).toEqual([1, []]);
    await world.clock.runUntil(() => world.cluster.announced.length === 1, 20 * SECOND);
    for (const address of ['203.0.113.1', ...byHand]) expect(world.cluster.announced[0]?.event.message).toContain(address);
  });

  test('ends with the pool once a list shows what a call within its deadline had made, when that is nothing, and nothing is told', async ({
    open,
  }) => {
    const world = open();
    await deletedWhileCreating(world, { kind: 'hang' });
    await world.clock.advance(24 * SECOND);
    expect(isGone(world)()).toBe(false);
    await world.clock.runUntil(isGone(world), 5 * SECOND);
    expect([world.cluster.announced, world.provider.cloud.addresses()]).toEqual([[], []]);
  });

  test('is told once the API server takes Events again', async ({ open }) => {
    const world = open({ provider: { callMs: 500 } });
    await deletedWhileCreating(world);
    world.cluster.failWrites();
    await world.clock.advance(120 * SECOND);
    expect([isGone(world)(), world.cluster.announced]).toEqual([false, []]);
    world.cluster.mendWrites();
    await world.clock.runUntil(isGone(world), 5 * SECOND);
    expect(world.cluster.announced).toHaveLength(1);
  });

  test('does not mix up the pool that gets its name next: that one makes an address of its own', async ({ open }) => {
    const world = open({ provider: { callMs: 500 } });
    await deletedWhileCreating(world);
    const next = world.pool('ingress', { desiredIPs: 1 });
    await world.clock.runUntil(allActive(world, next, 1), 60 * SECOND);
    expect(world.cluster.announced).toHaveLength(1);
    expect(world.provider.cloud.addresses()).toHaveLength(2);
    expect(world.cluster.announced[0]?.event.message).not.toContain(ipsOf(world, next)[0]);
  });

  test('is found out by the next leader, also when a pool has got its name meanwhile', async ({ open }) => {
    const world = open({ provider: { callMs: 500 } });
    world.nodes(node('a'));
    const former = world.pool('ingress', { desiredIPs: 1 });
    const first = await world.start();
    await world.clock.runUntil(() => creates(world).length === 1, 10 * SECOND);
    world.cluster.removePool(former);
    await world.clock.advance(50);
    first.kill();
    const next = world.pool('ingress', { desiredIPs: 1 });
    await world.start();
    await world.clock.runUntil(allActive(world, next, 1), 90 * SECOND);
    expect(world.cluster.announced.map(({ about }) => about)).toEqual([former]);
    expect([creates(world).length, world.provider.cloud.addresses().length]).toEqual([2, 2]);
  });
});
