import { expect } from 'vitest';
import type { Address } from '../../../machines/model/types.ts';
import { aways, redisGoes, redisReturns } from '../../support/away-crash.ts';
import { cutOff, leading } from '../../support/replicas.ts';
import { lose, untilAssigns } from '../../support/setups.ts';
import { node, providerIDOf } from '../../support/world.ts';
import { A, ends, LATE, MINUTE, SECOND, type Story, sent, serving, untilLeads } from './telling.ts';

/** One replica is without Redis, or all are, and leaders end or make room. */
export const REPLICAS: readonly Story[] = [
  {
    name: 'a leader without Redis makes room for a replica that has it, which goes by what was decided meanwhile',
    play: async (open) => {
      const served = await serving(open);
      const { world, first, second } = served;
      cutOff(first);
      lose(world, 'a');
      await world.untilOn(A, 'c', 10 * SECOND);
      await untilLeads(world, second);
      expect(leading(world)).toEqual([second]);
      world.cluster.setNode(node('a'));
      await ends(served, 'c', ['c']);
      lose(world, 'c');
      await ends(served, 'a', ['c', 'a']);
      first.store.mend();
      await world.clock.advance(MINUTE);
      expect([leading(world), sent(world)]).toEqual([[second], ['c', 'a']]);
    },
  },
  {
    name: 'who takes over from a leader in memory sends nothing while an assign of that one may be on its way',
    play: async (open) => {
      const served = await serving(open);
      const { world, first, second } = served;
      cutOff(first);
      await world.clock.advance(13 * SECOND);
      expect(aways(world)).toBe(1);
      world.provider.faults.next('assignRoutedIP', LATE);
      lose(world, 'a');
      await untilAssigns(world, 1, SECOND);
      lose(world, 'c');
      const after = await untilLeads(world, second);
      expect(after).toBeLessThan(10 * SECOND);
      await ends(served, 'd', ['c', 'd']);
    },
  },
  {
    name: 'who takes over from a leader that has shown nothing yet finds in Redis which assign of before may be on its way',
    play: async (open) => {
      const deadlineMs = 40 * SECOND;
      const served = await serving(open, { settings: { callDeadlineMs: deadlineMs }, provider: { deadlineMs } });
      const { world, ref, first, second } = served;
      // What the status says is what was true before the node failed.
      world.cluster.lag();
      world.provider.faults.next('assignRoutedIP', { kind: 'hang', effectAfterMs: deadlineMs - 100 });
      lose(world, 'a');
      await untilAssigns(world, 1, SECOND);
      cutOff(first);
      await world.clock.runUntil(() => aways(world) === 1 && first.supervisor.leading, 5 * SECOND);
      await world.clock.advance(100);
      first.kill();
      world.invariants.forget();
      lose(world, 'c');
      await untilLeads(world, second);
      expect([world.states(ref)[A], world.holderOf(A)]).toEqual(['active', 'a']);
      world.cluster.catchUp();
      await ends(served, 'd', ['c', 'd']);
    },
  },
  {
    name: 'a job of the term before is not sent by a replica that still has Redis',
    play: async (open) => {
      const served = await serving(open, { provider: { actionMs: 1_500 } });
      const { world, first } = served;
      // It waits in Redis for its turn, which comes when the leader is in its memory already.
      world.provider.faults.next('assignRoutedIP', { kind: 'refuse', error: 'RateLimited', retryAfterMs: 6_000 });
      lose(world, 'a');
      await untilAssigns(world, 1, SECOND);
      cutOff(first);
      await world.clock.advance(5 * SECOND);
      expect([aways(world), sent(world)]).toEqual([1, ['c']]);
      await world.clock.advance(8 * SECOND);
      expect(sent(world)).toEqual(['c']);
      await ends(served, 'c', ['c', 'c']);
    },
  },
  {
    name: 'an assign in doubt is not sent as long as a replica that sees no Lease may send it',
    play: async (open) => {
      const served = await serving(open, { settings: { callDeadlineMs: 5_000 }, provider: { deadlineMs: 5_000 } });
      const { world, first, second } = served;
      world.provider.faults.next('assignRoutedIP', { kind: 'refuse', error: 'RateLimited', retryAfterMs: 11_000 });
      lose(world, 'a');
      await untilAssigns(world, 1, SECOND);
      await world.clock.advance(100);
      cutOff(first);
      second.lease.cut();
      await world.clock.advance(4 * SECOND);
      expect(aways(world)).toBe(1);
      lose(world, 'c');
      world.provider.faults.next('assignRoutedIP', { kind: 'hang', effectAfterMs: 4_900 });
      await untilAssigns(world, 2, 9 * SECOND);
      expect(sent(world)).toEqual(['c', 'c']);
      await ends(served, 'd', ['c', 'c', 'd']);
    },
  },
  {
    name: 'an address that somebody has moved is not sent anywhere either as long as a replica that sees no Lease may send it',
    play: async (open) => {
      const served = await serving(open, { settings: { callDeadlineMs: 5_000 }, provider: { deadlineMs: 5_000 } });
      const { world, first, second } = served;
      world.provider.cloud.addNode(providerIDOf('foreign'));
      world.provider.faults.next('assignRoutedIP', { kind: 'refuse', error: 'RateLimited', retryAfterMs: 11_000 });
      lose(world, 'a');
      await untilAssigns(world, 1, SECOND);
      await world.clock.advance(100);
      cutOff(first);
      second.lease.cut();
      world.provider.cloud.moveByHand(A as Address, providerIDOf('foreign'));
      await world.clock.advance(4 * SECOND);
      expect(aways(world)).toBe(1);
      lose(world, 'c');
      await world.clock.advance(5 * SECOND);
      expect(sent(world)).toEqual(['c']);
      world.provider.faults.next('assignRoutedIP', { kind: 'hang', effectAfterMs: 4_900 });
      await untilAssigns(world, 2, 3 * SECOND);
      expect(sent(world)).toEqual(['c', 'c']);
      await ends(served, 'd', ['c', 'c', 'd']);
    },
  },
  {
    name: 'nobody has Redis, and the leader ends with an assign on its way',
    play: async (open) => {
      const served = await serving(open, { lagMs: 700 });
      const { world, first, second } = served;
      redisGoes(world);
      await world.clock.advance(5 * SECOND);
      expect(aways(world)).toBe(1);
      world.provider.faults.next('assignRoutedIP', LATE);
      lose(world, 'a');
      await untilAssigns(world, 1, 2 * SECOND);
      first.kill();
      world.invariants.forget();
      lose(world, 'c');
      await untilLeads(world, second);
      expect(second.supervisor.term).toBeGreaterThan(2);
      await ends(served, 'd', ['c', 'd']);
      redisReturns(world);
      await ends(served, 'd', ['c', 'd']);
      world.cluster.setNode(node('a'));
      lose(world, 'd');
      await ends(served, 'a', ['c', 'd', 'a']);
    },
  },
  {
    name: 'whoever rebuilds without Redis waits for what others may have had of it',
    play: async (open) => {
      const served = await serving(open);
      const { world, first, second } = served;
      const third = await world.start();
      await world.clock.advance(3 * SECOND);
      world.cluster.lag();
      world.provider.faults.next('assignRoutedIP', { kind: 'refuse', error: 'RateLimited', retryAfterMs: 11_000 });
      lose(world, 'a');
      await untilAssigns(world, 1, SECOND);
      // The leader ends, and another one is without Redis. A third one has it, but does not see that the Lease is gone.
      cutOff(second);
      third.lease.cut();
      first.kill();
      world.lease.delete();
      world.provider.faults.next('assignRoutedIP', LATE);
      await untilAssigns(world, 2, 15 * SECOND);
      expect(sent(world)).toEqual(['c', 'c']);
      world.invariants.forget();
      lose(world, 'c');
      await world.clock.runUntil(() => world.holderOf(A) === 'd', 3 * MINUTE);
      world.cluster.catchUp();
      expect([second.supervisor.leading, sent(world)]).toEqual([true, ['c', 'c', 'd']]);
    },
  },
  {
    name: 'a replica without Redis leaves the Lease to one that has it, whoever looks first',
    play: async (open) => {
      for (const offsetMs of [0, 400, 800, 1_200, 1_600]) {
        const served = await serving(open);
        const { world, first, second } = served;
        await world.clock.advance(offsetMs);
        const third = await world.start();
        cutOff(second);
        await world.clock.advance(3 * SECOND);
        first.kill();
        const holders = new Set<string | null>();
        await world.clock.runUntil(() => {
          holders.add(world.lease.holder());
          return leading(world).length > 0;
        }, MINUTE);
        expect([leading(world), holders]).toEqual([[third], new Set(['process-1', 'process-3'])]);
        third.kill();
        await untilLeads(world, second);
        second.kill();
      }
    },
  },
  {
    name: 'a leader that neither has Redis nor sees the Lease sends and shows nothing once another one leads',
    play: async (open) => {
      const served = await serving(open);
      const { world, ref, first, second } = served;
      cutOff(first);
      await world.clock.advance(5 * SECOND);
      expect(aways(world)).toBe(1);
      world.provider.faults.next('assignRoutedIP', { kind: 'refuse', error: 'RateLimited', retryAfterMs: 16_000 });
      lose(world, 'a');
      await untilAssigns(world, 1, SECOND);
      first.lease.cut();
      lose(world, 'c');
      await untilLeads(world, second);
      expect(leading(world)).toEqual([second]);
      await ends(served, 'd', ['c', 'd']);
      expect(world.status(ref).term).toBe(second.supervisor.term);
      first.lease.mend();
      await world.clock.advance(MINUTE);
      expect([leading(world), sent(world)]).toEqual([[second], ['c', 'd']]);
    },
  },
];
