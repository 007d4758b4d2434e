import { expect } from 'vitest';
import { aways, redisGoes, redisReturns } from '../../support/away-crash.ts';
import { leading } from '../../support/replicas.ts';
import { node, type World } from '../../support/world.ts';
import { A, B, led, MINUTE, SECOND, type Story, sent, serving, untilLeads } from './telling.ts';

const bears = (world: World): Readonly<Record<string, string>> => world.cluster.annotations();

/** Redis is away, the leader goes on in memory, and after that it ends. */
const goesOn = async (world: World): Promise<void> => {
  redisGoes(world);
  await world.clock.advance(5 * SECOND);
  expect([aways(world), bears(world)]).toEqual([1, { a: A, b: B }]);
};

/** Objects go while Redis is away, and nobody is left who has seen them. */
export const GONE: readonly Story[] = [
  {
    name: 'no node bears the addresses of a pool that was deleted when its leader had ended, with Redis back',
    play: async (open) => {
      const { world, ref, first, second } = await serving(open);
      await goesOn(world);
      first.kill();
      world.cluster.removePool(ref);
      redisReturns(world);
      await untilLeads(world, second);
      expect(led(world).at(-1)).toMatchObject({ records: 'store' });
      await world.clock.runUntil(() => Object.keys(bears(world)).length === 0, MINUTE);
      await world.clock.advance(MINUTE);
      expect([await second.store.load('pool/default/ingress'), bears(world), world.holderOf(A), sent(world)]).toEqual([null, {}, 'a', []]);
    },
  },
  {
    name: 'no node bears the addresses of a pool that was deleted when its leader had ended, with Redis back after another one leads',
    play: async (open) => {
      const { world, ref, first, second } = await serving(open);
      await goesOn(world);
      first.kill();
      world.invariants.forget();
      world.cluster.removePool(ref);
      await untilLeads(world, second);
      await world.clock.advance(MINUTE);
      expect([leading(world), bears(world)]).toEqual([[second], { a: A, b: B }]);
      redisReturns(world);
      await world.clock.runUntil(() => Object.keys(bears(world)).length === 0, MINUTE);
      await world.clock.advance(MINUTE);
      expect([await second.store.load('pool/default/ingress'), bears(world), world.holderOf(A), sent(world)]).toEqual([null, {}, 'a', []]);
    },
  },
  {
    name: 'another pool that has got an address of a deleted one meanwhile keeps it, and its nodes bear it all the time',
    play: async (open) => {
      const { world, ref, first, second } = await serving(open);
      await goesOn(world);
      world.cluster.removePool(ref);
      const next = world.pool('next', { ips: [A], match: { nodeLabel: 'pool=next' } });
      const labels = { pool: 'next' };
      world.nodes(node('e', { labels }), node('f', { labels }));
      await world.clock.runUntil(() => world.states(next)[A] === 'active', MINUTE);
      await world.clock.advance(SECOND);
      const holder = world.holderOf(A) ?? '';
      expect([['e', 'f'].includes(holder), bears(world)]).toEqual([true, { [holder]: A }]);
      first.kill();
      redisReturns(world);
      // It is seconds before anything is known of the other one.
      world.provider.faults.next('listRoutedIPs', { kind: 'refuse', error: 'Unavailable' }, 3);
      const borne = new Set<string>();
      await world.clock.runUntil(() => {
        borne.add(JSON.stringify(bears(world)));
        return second.supervisor.leading;
      }, MINUTE);
      for (let ms = 0; ms < MINUTE; ms += 100) {
        await world.clock.advance(100);
        borne.add(JSON.stringify(bears(world)));
      }
      expect([await second.store.load('pool/default/ingress'), [...borne], world.holderOf(A)]).toEqual([
        null,
        [JSON.stringify({ [holder]: A })],
        holder,
      ]);
      expect(sent(world)).toEqual([holder]);
    },
  },
];
