import { expect } from 'vitest';
import type { ObjectRef } from '../../../machines/model/types.ts';
import { aways } from '../../support/away-crash.ts';
import { cutOff, withoutHands } from '../../support/replicas.ts';
import type { OperatorProcess, WorldOptions } from '../../support/world.ts';
import { one, stable } from '../crash/routed-scenarios.ts';
import { MINUTE, RoutedWorld, SECOND, service, servicePort } from '../routedip/world.ts';
import { led, type Opens, type Story, untilLeads } from './telling.ts';

/** Calls last shorter than the Lease: a firewall in doubt by its own time is settled before others have to know of a new term. */
const SHORT: WorldOptions = { settings: { callDeadlineMs: 5 * SECOND }, provider: { deadlineMs: 5 * SECOND } };
/** Calls last longer than it takes another one to lead. */
const LONG: WorldOptions = { settings: { callDeadlineMs: 40 * SECOND }, provider: { deadlineMs: 40 * SECOND } };

/** The request budget has the job wait in Redis for so long. */
const LATER = { kind: 'refuse', error: 'RateLimited', retryAfterMs: 11 * SECOND } as const;

type Change = 'addRoutedIPFirewallPort' | 'deleteRoutedIPFirewallPort';

interface Served {
  readonly world: RoutedWorld;
  readonly ref: ObjectRef;
  readonly first: OperatorProcess;
  readonly second: OperatorProcess;
}

/** A RoutedIP with an open port. The first process leads, the second one runs the jobs that are in Redis. */
async function served(open: Opens, options: WorldOptions): Promise<Served> {
  const world = open({ away: true, ...options }, RoutedWorld);
  const ref = one()(world);
  const first = await withoutHands(world, () => world.start());
  const second = await world.start();
  await world.clock.runUntil(() => stable(world, ref, 'young'), MINUTE);
  await world.clock.advance(20 * SECOND);
  expect([first.supervisor.leading, world.firewall().ports]).toEqual([true, ['tcp/22', 'tcp/8080']]);
  return { world, ref, first, second };
}

const listensOn = (world: RoutedWorld, port: number): void =>
  world.cluster.setService('web', 'shop', service(['old', 'young'], { ports: [servicePort(port)] }));
const sent = ({ provider }: RoutedWorld, verb: Change): number => provider.calls.filter((call) => call.verb === verb).length;
const untilSent = (world: RoutedWorld, verb: Change, count: number, withinMs: number): Promise<number> =>
  world.clock.runUntil(() => sent(world, verb) === count, withinMs);

/** Somebody was told that it is open. */
const countsAsOpen = (world: RoutedWorld, port: string): boolean =>
  Object.values(world.firewallRecord()?.claims ?? {}).some(({ isOpen, ports }) => isOpen && ports.includes(port));

/** The job has to wait, the leader is without Redis, and who is to run the job sees no Lease any more. */
async function leftToOne({ world, first, second }: Served, verb: Change): Promise<void> {
  world.provider.faults.next(verb, LATER);
  listensOn(world, 9090);
  await untilSent(world, verb, sent(world, verb) + 1, 5 * SECOND);
  await world.clock.advance(100);
  first.store.cut();
  second.lease.cut();
  await world.clock.runUntil(() => aways(world) === 1, 5 * SECOND);
}

/** Redis and the Lease are there for both, and only what is needed is open. */
async function ends({ world, ref, first, second }: Served, ports: readonly string[]): Promise<void> {
  first.store.mend();
  second.lease.mend();
  await world.clock.advance(2 * MINUTE);
  expect([stable(world, ref, 'young'), world.firewall().ports, world.rules.wrongs()]).toEqual([true, ports, []]);
  expect(world.rules.violations).toEqual([]);
}

/** What is done at firewalls and of which nobody hears, while Redis is away. */
export const FIREWALLS: readonly Story[] = [
  {
    name: 'a port that a replica without a view of the Lease may still close does not count as open',
    play: async (open) => {
      const all = await served(open, SHORT);
      const { world } = all;
      await leftToOne(all, 'deleteRoutedIPFirewallPort');
      const before = sent(world, 'deleteRoutedIPFirewallPort');
      await world.clock.advance(5_500);
      listensOn(world, 8080);
      await untilSent(world, 'deleteRoutedIPFirewallPort', before + 1, 5 * SECOND);
      await world.clock.advance(SECOND);
      expect([world.firewall().ports, countsAsOpen(world, 'tcp/8080')], 'it was closed after all').toEqual([['tcp/22', 'tcp/9090'], false]);
      await world.clock.runUntil(() => countsAsOpen(world, 'tcp/8080'), 30 * SECOND);
      expect(world.firewall().ports).toContain('tcp/8080');
      await ends(all, ['tcp/22', 'tcp/8080']);
    },
  },
  {
    name: 'a port that a replica without a view of the Lease may still open is closed only after that, with Redis back',
    play: async (open) => {
      const all = await served(open, SHORT);
      const { world, ref, first, second } = all;
      await leftToOne(all, 'addRoutedIPFirewallPort');
      await world.clock.runUntil(() => world.firewall().ports.includes('tcp/9090'), 2 * SECOND);
      await world.clock.advance(5_500);
      listensOn(world, 8080);
      await world.clock.advance(2_500);
      const before = sent(world, 'addRoutedIPFirewallPort');
      world.provider.faults.next('addRoutedIPFirewallPort', { kind: 'hang', effectAfterMs: 4_900 });
      first.store.mend();
      await untilSent(world, 'addRoutedIPFirewallPort', before + 1, 3 * SECOND);
      const terms = led(world).length;
      await world.clock.runUntil(() => led(world).length > terms, 3 * SECOND);
      second.lease.mend();
      await world.clock.runUntil(() => stable(world, ref, 'young') && !world.firewall().ports.includes('tcp/9090'), MINUTE);
      await ends(all, ['tcp/22', 'tcp/8080']);
    },
  },
  {
    name: 'who takes over from a leader in memory opens nothing on the word of a firewall in which something may still be closed',
    play: async (open) => {
      const all = await served(open, LONG);
      const { world, ref, first, second } = all;
      world.provider.faults.next('deleteRoutedIPFirewallPort', { kind: 'hang', effectAfterMs: 39_900 });
      listensOn(world, 9090);
      await untilSent(world, 'deleteRoutedIPFirewallPort', 1, 5 * SECOND);
      cutOff(first);
      await world.clock.runUntil(() => aways(world) === 1 && first.supervisor.leading, 5 * SECOND);
      await world.clock.advance(100);
      first.kill();
      await untilLeads(world, second);
      listensOn(world, 8080);
      await world.clock.advance(30 * SECOND);
      expect(world.firewall().ports, 'it was closed after all').not.toContain('tcp/8080');
      expect(world.rules.violations).toEqual([]);
      await world.clock.runUntil(() => stable(world, ref, 'young') && world.firewall().ports.includes('tcp/8080'), MINUTE);
      await ends(all, ['tcp/22', 'tcp/8080']);
    },
  },
  {
    name: 'who takes over from a leader in memory finds in Redis what was opened and not shown, and closes it in the end',
    play: async (open) => {
      const { world, ref, first, second } = await served(open, {});
      world.cluster.lag();
      listensOn(world, 9090);
      await world.clock.runUntil(() => world.firewall().ports.join() === 'tcp/22,tcp/9090', 5 * SECOND);
      cutOff(first);
      await world.clock.runUntil(() => aways(world) === 1 && first.supervisor.leading, 5 * SECOND);
      await world.clock.advance(100);
      first.kill();
      await untilLeads(world, second);
      world.cluster.catchUp();
      await world.clock.runUntil(() => stable(world, ref, 'young'), MINUTE);
      await world.clock.advance(30 * SECOND);
      world.cluster.markDeleting(ref);
      await world.clock.runUntil(() => world.cluster.pool(ref) === null, MINUTE);
      await world.clock.advance(MINUTE);
      expect([world.firewall(), world.rules.violations]).toEqual([{ ports: ['tcp/22'], nodes: [] }, []]);
    },
  },
  {
    name: 'who began without Redis finds there, once it is back, what was opened and not shown, and closes it in the end',
    play: async (open) => {
      const { world, ref, first, second } = await served(open, {});
      world.cluster.lag();
      listensOn(world, 9090);
      await world.clock.runUntil(() => world.firewall().ports.join() === 'tcp/22,tcp/9090', 5 * SECOND);
      first.store.cut();
      second.store.cut();
      first.kill();
      world.cluster.catchUp();
      await untilLeads(world, second);
      await world.clock.runUntil(() => stable(world, ref, 'young'), MINUTE);
      expect(second.store.isFleeting?.()).toBe(true);
      second.store.mend();
      await world.clock.runUntil(() => !second.store.isFleeting?.() && second.supervisor.leading, MINUTE);
      await world.clock.advance(MINUTE);
      expect(world.firewall().ports, 'it is needed').toEqual(['tcp/22', 'tcp/9090']);
      world.cluster.markDeleting(ref);
      await world.clock.runUntil(() => world.cluster.pool(ref) === null, MINUTE);
      await world.clock.advance(MINUTE);
      expect([world.firewall(), world.rules.violations]).toEqual([{ ports: ['tcp/22'], nodes: [] }, []]);
    },
  },
];
