import { describe, expect, test } from 'vitest';
import type { ActiveJob, JobStep } from '../../../actors/ports/queues.ts';
import { type StandIn, switching } from '../../../actors/runtime/store-failover.ts';
import { virtualClock } from '../../../adapters/memory/clock.ts';
import { memoryQueues } from '../../../adapters/memory/queues.ts';
import { memoryStore } from '../../../adapters/memory/store.ts';
import { endableClock } from '../../../adapters/system/clock.ts';
import { aways, redisGoes, redisReturns } from '../../support/away-crash.ts';
import { ingress, lose } from '../../support/setups.ts';
import { node, World } from '../../support/world.ts';

const ADDRESS = '203.0.113.207';
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const job = (id: string, delayMs = 0) => ({ id, title: id, data: null, ...(delayMs > 0 && { delayMs }) });

/** Queues with a stand-in whose time is told apart from theirs. */
function open() {
  const clock = virtualClock();
  const time = virtualClock();
  const standIns: StandIn[] = [];
  const away = switching({ store: memoryStore(), queues: memoryQueues(clock) }, () => {
    const own = endableClock(time);
    const queues = memoryQueues(own);
    const close = async (): Promise<void> => {
      await queues.close();
      own.end();
    };
    const opened = { store: memoryStore({ fleeting: true }), queues, close };
    standIns.push(opened);
    return opened;
  });
  const ran: string[] = [];
  const hung = Promise.withResolvers<JobStep>();
  const held: ActiveJob[] = [];
  away.queues.queue('calls').consume(async (active) => {
    ran.push(active.id);
    if (!active.id.startsWith('hangs')) return { kind: 'done' };
    held.push(active);
    return hung.promise;
  }, 10);
  return { away, clock, time, standIns, ran, hung, held, calls: away.queues.queue('calls') };
}

describe('what stands in for the store', () => {
  test('leaves neither timers nor jobs once the store is back', async () => {
    const { away, clock, time, ran, calls, standIns } = open();
    away.goAway();
    await calls.add([job('now'), job('later', HOUR)]);
    await away.queues.queue('timers').add([job('far', 24 * HOUR)]);
    await time.settle();
    expect([ran, time.pending()]).toEqual([['now'], 2]);
    away.comeBack();
    await time.settle();
    expect(time.pending()).toBe(0);
    await time.advance(48 * HOUR);
    await standIns[0]?.queues.queue('calls').add([job('too late')]);
    await time.settle();
    expect(ran).toEqual(['now']);
    await calls.add([job('as usual')]);
    await clock.settle();
    expect(ran).toEqual(['now', 'as usual']);
  });

  test('is closed as well when another one takes its place', async () => {
    const { away, time, ran, calls } = open();
    away.goAway();
    await calls.add([job('later', HOUR)]);
    away.goAway();
    await time.settle();
    expect([time.pending(), await calls.has('later')]).toEqual([0, false]);
    await calls.add([job('of the next one')]);
    await time.settle();
    expect(ran).toEqual(['of the next one']);
  });

  test('has a job that runs when the store is back end without a lock, and neither again nor a timer; what it tells is heard where the store is', async () => {
    const { away, clock, time, ran, hung, held, calls } = open();
    away.goAway();
    await calls.add([job('hangs')]);
    await time.settle();
    const [active] = held;
    expect([ran, active?.lock().renewedAt]).toEqual([['hangs'], time.monotonic()]);
    away.comeBack();
    await time.settle();
    const closedAt = time.monotonic();
    await time.advance(MINUTE);
    expect(active?.lock().renewedAt).toBeLessThanOrEqual(closedAt);
    await away.queues.queue('outcomes').add([job('hangs.outcome')]);
    hung.resolve({ kind: 'again', afterMs: SECOND, progress: null });
    await time.settle();
    expect(time.pending()).toBe(0);
    await Promise.all([time.advance(HOUR), clock.advance(HOUR)]);
    expect([ran, await away.queues.queue('outcomes').has('hangs.outcome')]).toEqual([['hangs'], true]);
  });

  test('is no longer there after an outage of a running operator: as many timers wait as before', async () => {
    const world = new World({ away: true });
    const ref = ingress(world, { nodes: ['a', 'b', 'c'], addresses: { [ADDRESS]: 'a' } });
    const process = await world.start();
    await world.untilStates(ref, { [ADDRESS]: 'active' });
    const delayed = (): number => world.queues.jobs('timers').filter(({ state }) => state === 'delayed').length;
    // Timers that are queued where they usually are come when they are due, whose ever they are.
    const timers = (): number => world.clock.pending() - delayed();
    /** In the quietest moment of a minute: what is gathered for a moment, as the inventory is, waits now and then. */
    const least = async (): Promise<number> => {
      let count = Number.POSITIVE_INFINITY;
      for (let passed = 0; passed < MINUTE; passed += SECOND) {
        await world.clock.advance(SECOND);
        count = Math.min(count, timers());
      }
      return count;
    };
    const before = await least();
    expect(delayed()).toBeGreaterThan(0);
    for (let outage = 1; outage <= 2; outage += 1) {
      redisGoes(world);
      await world.clock.advance(MINUTE);
      const holder = world.holderOf(ADDRESS) ?? '';
      lose(world, holder);
      await world.clock.runUntil(() => world.holderOf(ADDRESS) !== holder, MINUTE);
      world.cluster.setNode(node(holder));
      redisReturns(world);
      await world.clock.runUntil(() => process.supervisor.withoutStore() === null && process.supervisor.leading, MINUTE);
    }
    expect(aways(world)).toBe(4);
    expect(await least()).toBe(before);
    process.kill();
  });
});
