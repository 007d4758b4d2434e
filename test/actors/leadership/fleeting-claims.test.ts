import { describe, expect } from 'vitest';
import { ProviderError } from '../../../actors/ports/errors.ts';
import type { ObjectRef } from '../../../machines/model/types.ts';
import { killAll, untilAssigns } from '../../support/setups.ts';
import { test } from '../../support/sound.ts';
import { node, type OperatorProcess, PROVIDER, type World } from '../../support/world.ts';

const A = '203.0.113.207';
const B = '203.0.113.208';
const SECOND = 1000;

const both = { pool: 'work', one: 'yes', two: 'yes' };
const ofOne = { pool: 'work', one: 'yes' };
const ofTwo = { pool: 'work', two: 'yes' };

/** Nodes a of pool `one`, b of pool `two`, and c of both. A is on a, B on b; an assign of A to c is under way and its outcome is unknown when every process ends. */
const cutOff = async (world: World, first: 'one' | 'two' = 'one'): Promise<{ readonly one: ObjectRef; readonly two: ObjectRef }> => {
  world.nodes(node('a', { labels: ofOne }), node('b', { labels: ofTwo }), node('c', { labels: both }));
  world.address(A, 'a');
  world.address(B, 'b');
  const make = {
    one: () => world.pool('one', { ips: [A], match: { nodeLabel: 'one=yes' } }),
    two: () => world.pool('two', { ips: [B], match: { nodeLabel: 'two=yes' } }),
  };
  const earlier = make[first]();
  const later = make[first === 'one' ? 'two' : 'one']();
  const [one, two] = first === 'one' ? [earlier, later] : [later, earlier];
  await world.start();
  await world.untilStates(one, { [A]: 'active' });
  await world.untilStates(two, { [B]: 'active' });
  await world.clock.advance(20 * SECOND);
  expect(world.assigns()).toEqual([]);
  world.provider.faults.next('assignRoutedIP', { kind: 'hang' });
  world.cluster.setNode(node('a', { labels: ofOne, ready: false }));
  await untilAssigns(world, 1, 5 * SECOND);
  expect(world.status(one).ips?.[A as never]).toMatchObject({ machineState: 'Assigning', electedNode: 'c' });
  await world.clock.advance(SECOND);
  killAll(world);
  world.lease.delete();
  return { one, two };
};

/** A process to which the provider does not tell where the address is, whenever it is asked for that one alone. */
const without = async (world: World, address: string): Promise<OperatorProcess> => {
  const process = await world.start();
  const provider = world.provider.process();
  process.providers.set(PROVIDER, {
    facts: world.facts,
    provider: {
      ...provider,
      findRoutedIP: (asked, call) =>
        asked === address ? Promise.reject(new ProviderError('Unauthorized', `find ${asked}: 403`)) : provider.findRoutedIP(asked, call),
    },
  });
  return process;
};

describe('the node to which an assign may be under way', () => {
  test('is free for others once the doubt is over, even when nobody can read the address', async ({ open }) => {
    const world = open({ fleeting: true });
    const { two } = await cutOff(world);
    world.cluster.setNode(node('b', { labels: ofTwo, ready: false }));
    await without(world, A);
    await world.clock.advance(14 * SECOND);
    expect(world.assigns(), 'the node is kept while the first call may take effect').toHaveLength(1);
    await world.untilOn(B, 'c', 60 * SECOND);
    await world.untilStates(two, { [B]: 'active' });
  });

  test.for(['one', 'two'] as const)(
    'that another address holds by now is left to that one, and both are served, whoever comes first: %s',
    async (first, { open }) => {
      const world = open({ fleeting: true });
      const { one, two } = await cutOff(world, first);
      world.provider.cloud.assign(B as never, node('c').providerID as never);
      await world.clock.advance(SECOND);
      expect(world.holderOf(B)).toBe('c');
      world.cluster.setNode(node('a', { labels: ofOne }), node('b', { labels: ofTwo, ready: false }));
      await world.start();
      await world.untilStates(two, { [B]: 'active' }, 60 * SECOND);
      await world.untilStates(one, { [A]: 'active' }, 60 * SECOND);
      expect([world.holderOf(A), world.holderOf(B)]).toEqual(['a', 'c']);
    },
  );

  test('is free for another address of the pool, too', async ({ open }) => {
    const world = open({ fleeting: true });
    world.nodes(node('a'), node('b'), node('c'));
    world.address(A, 'a');
    world.address(B, 'b');
    const ref = world.pool('ingress', { ips: [A, B] });
    await world.start();
    await world.untilStates(ref, { [A]: 'active', [B]: 'active' });
    await world.clock.advance(20 * SECOND);
    world.provider.faults.next('assignRoutedIP', { kind: 'hang' });
    world.cluster.setNode(node('a', { ready: false }));
    await untilAssigns(world, 1, 5 * SECOND);
    await world.clock.advance(SECOND);
    killAll(world);
    world.lease.delete();
    world.cluster.setNode(node('b', { ready: false }));
    await without(world, A);
    await world.clock.advance(14 * SECOND);
    expect(world.assigns()).toHaveLength(1);
    await world.untilOn(B, 'c', 60 * SECOND);
    expect(world.assigns().map(({ what }) => what)).toEqual([`${A} → c`, `${B} → c`]);
  });
});
