import { describe, expect } from 'vitest';
import type { Address, ObjectRef } from '../../../machines/model/types.ts';
import { ingress, lose, untilAssigns } from '../../support/setups.ts';
import { test } from '../../support/sound.ts';
import { node, providerIDOf, type World } from '../../support/world.ts';

const A = '203.0.113.207';
const B = '203.0.113.208';
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const BOTH = { [A]: 'active', [B]: 'active' } as const;

const serving = async (world: World, spec: { readonly desiredIPs?: number } = {}): Promise<ObjectRef> => {
  const ref = ingress(world, { nodes: ['a', 'b', 'c'], addresses: { [A]: 'a', [B]: 'b' }, ...spec });
  await world.start();
  await world.untilStates(ref, BOTH);
  await world.clock.advance(20 * SECOND);
  return ref;
};

const goDown = (world: World): void => {
  world.store.goDown();
  world.queues.goDown();
};
const comeBack = (world: World): void => {
  world.store.comeBack();
  world.queues.comeBack();
};

describe('while Redis is away for ten minutes', () => {
  test('addresses go on to move, each by one assign, and nothing is sent again when it is back', async ({ open }) => {
    const world = open({ away: true });
    const ref = await serving(world);
    goDown(world);
    let [holder, spare] = ['a', 'c'];
    for (let minute = 1; minute <= 10; minute += 1) {
      lose(world, holder);
      await world.untilOn(A, spare, MINUTE);
      await world.untilStates(ref, BOTH);
      world.cluster.setNode(node(holder));
      [holder, spare] = [spare, holder];
      await world.clock.advance(MINUTE);
    }
    expect(world.assigns()).toHaveLength(10);
    comeBack(world);
    await world.clock.advance(2 * MINUTE);
    expect([world.holderOf(A), world.states(ref), world.assigns().length]).toEqual([holder, BOTH, 10]);
    expect(world.log.findLast(({ message }) => message === 'leads')?.fields).toMatchObject({ records: 'memory' });
    lose(world, holder);
    await world.untilOn(A, spare, 5 * SECOND);
    await world.untilStates(ref, BOTH);
    expect(world.assigns()).toHaveLength(11);
  });

  for (const seconds of [1, 3, 20, 40]) {
    test(`an assign that was under way when it went, and it is back after ${seconds} s, is not sent again`, async ({ open }) => {
      const world = open({ away: true, provider: { actionMs: 5_000 } });
      const ref = await serving(world);
      lose(world, 'a');
      await untilAssigns(world, 1, SECOND);
      goDown(world);
      await world.clock.advance(seconds * SECOND);
      comeBack(world);
      await world.untilStates(ref, BOTH, 2 * MINUTE);
      await world.clock.advance(2 * MINUTE);
      expect([world.holderOf(A), world.assigns().length]).toEqual(['c', 1]);
    });
  }

  test('the status says where an address goes, and under which term, before it is sent there', async ({ open }) => {
    const world = open({ away: true });
    const ref = await serving(world);
    goDown(world);
    await world.clock.runUntil(() => world.log.some(({ message }) => message === 'goes on without the store'), 10 * SECOND);
    await world.clock.advance(5 * SECOND);
    const term = world.status(ref).term ?? 0;
    // From now on nothing is written that is not waited for.
    world.cluster.lag();
    lose(world, 'a');
    await untilAssigns(world, 1, 5 * SECOND);
    const shown = world.status(ref).ips?.[A as Address];
    expect([world.states(ref)[A], shown?.electedNode, shown?.machineState, world.status(ref).term]).toEqual([
      'in-progress',
      'c',
      'Assigning',
      term,
    ]);
    world.cluster.catchUp();
    await world.untilStates(ref, BOTH);
  });

  test('an address that somebody has moved meanwhile is read before it is sent anywhere', async ({ open }) => {
    const world = open({ away: true });
    const ref = await serving(world);
    goDown(world);
    await world.clock.advance(10 * SECOND);
    world.provider.cloud.moveByHand(A as Address, providerIDOf('c'));
    await world.clock.advance(SECOND);
    lose(world, 'a');
    await world.untilStates(ref, BOTH);
    expect([world.holderOf(A), world.assigns()]).toEqual(['c', []]);
  });

  test('the journal goes on where it was when it is back, and tells nothing of the time between', async ({ open }) => {
    const world = open({ away: true });
    const ref = await serving(world);
    const times = async () => (await world.store.journal('pool/default/ingress', 1000)).map(({ at }) => at).reverse();
    const before = await times();
    goDown(world);
    await world.clock.advance(10 * SECOND);
    lose(world, 'a');
    await world.untilOn(A, 'c', 5 * SECOND);
    await world.untilStates(ref, BOTH);
    await world.clock.advance(5 * SECOND);
    comeBack(world);
    const backAt = world.clock.now();
    await world.clock.advance(MINUTE);
    world.cluster.setNode(node('a'));
    lose(world, 'c');
    await world.untilOn(A, 'a', 5 * SECOND);
    const after = await times();
    expect([before.length > 0, after.slice(0, before.length)]).toEqual([true, before]);
    expect([after.length > before.length, after.slice(before.length).every((at) => at >= backAt)]).toEqual([true, true]);
  });

  test('no address is created, and one is when it is back', async ({ open }) => {
    const world = open({ away: true });
    const ref = await serving(world);
    goDown(world);
    await world.clock.advance(10 * SECOND);
    world.nodes(node('d'));
    world.pool('ingress', { ips: [A, B], desiredIPs: 3 });
    await world.clock.advance(10 * MINUTE);
    expect(world.provider.writes()).toEqual([]);
    comeBack(world);
    await world.clock.runUntil(() => world.status(ref).activeIPs === 3, 2 * MINUTE);
    expect(world.provider.cloud.addresses()).toHaveLength(3);
  });
});
