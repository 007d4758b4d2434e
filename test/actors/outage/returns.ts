import { expect } from 'vitest';
import { wrongVips } from '../../simulation/domains/vips-end.ts';
import { aways, redisGoes, redisReturns } from '../../support/away-crash.ts';
import { lose, untilAssigns } from '../../support/setups.ts';
import { node } from '../../support/world.ts';
import { one, stable } from '../crash/routed-scenarios.ts';
import { RoutedWorld } from '../routedip/world.ts';
import { VipWorld } from '../vip/world.ts';
import { A, B, ends, LATE, led, MINUTE, SECOND, type Story, sent, serving, untilLeads } from './telling.ts';

/** Redis returns, with what it had or with nothing; and what is not done without it. */
export const RETURNS: readonly Story[] = [
  {
    name: 'the leader ends with an assign on its way, and Redis is back with what it had before',
    play: async (open) => {
      const served = await serving(open);
      const { world, first, second } = served;
      second.kill();
      redisGoes(world);
      await world.clock.advance(8 * SECOND);
      expect(aways(world)).toBe(1);
      world.cluster.lag();
      world.provider.faults.next('assignRoutedIP', LATE);
      lose(world, 'a');
      await untilAssigns(world, 1, 2 * SECOND);
      first.kill();
      lose(world, 'c');
      redisReturns(world);
      world.invariants.forget();
      world.lease.delete();
      const next = await world.start();
      await untilLeads(world, next);
      world.cluster.catchUp();
      await ends(served, 'd', ['c', 'd']);
    },
  },
  {
    name: 'Redis returns while an assign of unknown outcome is on its way, and its node fails',
    play: async (open) => {
      const served = await serving(open);
      const { world } = served;
      redisGoes(world);
      await world.clock.advance(8 * SECOND);
      world.cluster.lag();
      world.provider.faults.next('assignRoutedIP', LATE);
      lose(world, 'a');
      await untilAssigns(world, 1, 2 * SECOND);
      await world.clock.advance(SECOND);
      redisReturns(world);
      lose(world, 'c');
      await world.clock.advance(20 * SECOND);
      world.cluster.catchUp();
      await ends(served, 'd', ['c', 'd']);
      expect(led(world).at(-1)).toMatchObject({ records: 'memory' });
    },
  },
  {
    name: 'Redis returns with a job of before that waits for its turn, while the address has moved on',
    play: async (open) => {
      const served = await serving(open, { provider: { actionMs: 3_000 } });
      const { world } = served;
      world.provider.faults.next('assignRoutedIP', { kind: 'refuse', error: 'RateLimited', retryAfterMs: 100_000 });
      lose(world, 'a');
      await untilAssigns(world, 1, SECOND);
      redisGoes(world);
      await world.clock.runUntil(() => world.holderOf(A) === 'c', MINUTE);
      lose(world, 'c');
      await world.untilOn(A, 'd', MINUTE);
      redisReturns(world);
      await ends(served, 'd', ['c', 'c', 'd']);
    },
  },
  {
    name: 'Redis goes and returns five times while nodes fail',
    play: async (open) => {
      const served = await serving(open, { provider: { actionMs: 1_500 } });
      const { world } = served;
      lose(world, 'd');
      let [holder, spare] = ['a', 'c'];
      const all: string[] = [];
      for (let time = 1; time <= 5; time += 1) {
        redisGoes(world);
        await world.clock.advance(1_000 + 700 * time);
        lose(world, holder);
        all.push(spare);
        await world.clock.advance(400 * time);
        redisReturns(world);
        await world.clock.advance(1_300 * (5 - time));
        redisGoes(world);
        await world.clock.advance(2_500);
        redisReturns(world);
        await ends(served, spare, all);
        world.cluster.setNode(node(holder));
        [holder, spare] = [spare, holder];
      }
      expect(led(world).length).toBeGreaterThan(10);
    },
  },
  {
    name: 'each time that Redis goes or returns what is decided from then on bears a term of its own, which everybody sees',
    play: async (open) => {
      const served = await serving(open);
      const { world, ref, first } = served;
      const terms = [first.supervisor.term];
      for (let time = 0; time < 3; time += 1) {
        for (const change of [redisGoes, redisReturns]) {
          const before = led(world).length;
          change(world);
          await world.clock.runUntil(() => led(world).length > before, 10 * SECOND);
          terms.push(first.supervisor.term);
          expect(world.lease.term()).toBe(first.supervisor.term);
        }
        expect((await world.store.state()).term).toBe(first.supervisor.term);
      }
      expect(terms).toEqual([...new Set(terms)].sort((a, b) => a - b));
      await world.clock.runUntil(() => world.status(ref).term === first.supervisor.term, 10 * SECOND);
      expect(world.assigns()).toEqual([]);
    },
  },
  {
    name: 'nothing is created without Redis, not even by one process after the other',
    play: async (open) => {
      const { world, ref, first, second } = await serving(open);
      redisGoes(world);
      await world.clock.advance(10 * SECOND);
      world.pool('ingress', { ips: [A, B], desiredIPs: 3 });
      await world.clock.advance(MINUTE);
      first.kill();
      world.invariants.forget();
      await untilLeads(world, second);
      await world.clock.advance(2 * MINUTE);
      expect(world.provider.writes()).toEqual([]);
      redisReturns(world);
      await world.clock.runUntil(() => world.status(ref).activeIPs === 3, 3 * MINUTE);
      expect(world.provider.cloud.addresses()).toHaveLength(3);
    },
  },
  {
    name: 'a node to which an address is under way is given to no other by whoever comes next',
    play: async (open) => {
      // The provider would have put both on it.
      const served = await serving(open, { provider: { addressesPerNode: 2 } });
      const { world, first, second } = served;
      second.kill();
      redisGoes(world);
      await world.clock.advance(8 * SECOND);
      lose(world, 'd');
      world.provider.faults.next('assignRoutedIP', LATE);
      lose(world, 'a');
      await untilAssigns(world, 1, 2 * SECOND);
      await world.clock.advance(100);
      first.kill();
      lose(world, 'b');
      redisReturns(world);
      world.invariants.forget();
      world.lease.delete();
      const next = await world.start();
      await untilLeads(world, next);
      await world.clock.advance(MINUTE);
      expect(world.assigns().map(({ what }) => what)).toEqual([`${A} → c`]);
      world.cluster.setNode(node('d'));
      await world.untilOn(B, 'd', MINUTE);
      await ends(served, 'c', ['c', 'd']);
    },
  },
  {
    name: 'an address is looked at before it is sent elsewhere',
    play: async (open) => {
      const served = await serving(open);
      const { world } = served;
      redisGoes(world);
      await world.clock.advance(8 * SECOND);
      const since = world.provider.calls.length;
      lose(world, 'a');
      await ends(served, 'c', ['c']);
      const about = world.provider.calls.slice(since).filter(({ args }) => args[0] === A);
      expect(about.slice(0, 2).map(({ verb }) => verb)).toEqual(['findRoutedIP', 'assignRoutedIP']);
    },
  },
  {
    name: 'a job of the next leader is not lost on a former one that gets Redis back',
    play: async (open) => {
      const served = await serving(open);
      const { world, first, second } = served;
      first.store.cut();
      await untilLeads(world, second);
      await world.clock.advance(10 * SECOND);
      first.store.mend();
      lose(world, 'a');
      await ends(served, 'c', ['c']);
    },
  },
  {
    name: 'an address is given back, and what was opened for it closed, only when Redis is back',
    play: async (open) => {
      const world = open({ away: true }, RoutedWorld);
      const ref = one({ routedIPReclaimPolicy: 'Delete' })(world);
      await world.start();
      await world.clock.runUntil(() => stable(world, ref, 'young'), MINUTE);
      redisGoes(world);
      await world.clock.advance(8 * SECOND);
      const done = world.changes().length;
      world.cluster.markDeleting(ref);
      await world.clock.advance(10 * MINUTE);
      expect(world.changes().slice(done)).toEqual([]);
      redisReturns(world);
      await world.clock.runUntil(() => world.cluster.pool(ref) === null, 3 * MINUTE);
      expect([world.provider.cloud.addresses(), world.firewall().nodes]).toEqual([[], []]);
    },
  },
  {
    name: 'Services get addresses and free them, and a job of before is not carried out when Redis is back',
    play: async (open) => {
      const world = open({ away: true, vips: { callMs: 10, watchMs: 20 } }, VipWorld);
      world.k8s.setGroup('g', { segment: '1.1.1.1/32', excludedIPs: [] });
      const ref = world.k8s.setService({ name: 'web' });
      await world.start();
      await world.untilListed({ web: '1.1.1.1' });
      world.k8s.deleteService(ref);
      redisGoes(world);
      world.k8s.setService({ name: 'next' });
      await world.untilListed({ next: '1.1.1.1' }, 3 * MINUTE);
      expect(world.reserved()).toEqual({ '1.1.1.1': 'default/next' });
      redisReturns(world);
      await world.clock.advance(5 * MINUTE);
      expect([world.listed('next'), world.reserved()]).toEqual([['1.1.1.1'], { '1.1.1.1': 'default/next' }]);
      const { services, ips, groups } = world.k8s;
      expect([wrongVips({ services: services(), ips: ips(), groups: groups() }), world.rules.violations]).toEqual([[], []]);
    },
  },
  {
    name: 'of a pool that was deleted meanwhile nothing is left in Redis',
    play: async (open) => {
      const { world, ref, first } = await serving(open);
      redisGoes(world);
      await world.clock.advance(8 * SECOND);
      world.cluster.removePool(ref);
      await world.clock.advance(5 * SECOND);
      redisReturns(world);
      await world.clock.advance(20 * SECOND);
      expect([await first.store.load('pool/default/ingress'), world.holderOf(A), sent(world)]).toEqual([null, 'a', []]);
    },
  },
];
