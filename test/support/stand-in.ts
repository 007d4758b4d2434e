import type { Queues } from '../../actors/ports/queues.ts';
import type { Clock } from '../../actors/ports/records.ts';
import type { StandIn } from '../../actors/runtime/store-failover.ts';
import { memoryStore } from '../../adapters/memory/store.ts';
import { endableClock } from '../../adapters/system/clock.ts';
import type { World } from './world.ts';

/** What a process goes on with while the store is away. */
export const standIn = (clock: Clock, queuesOf: World['queuesWithout'], isDead: () => boolean): StandIn => {
  const own = endableClock(clock);
  const queues = queuesOf(own);
  const close = async (): Promise<void> => {
    await queues.close();
    own.end();
  };
  return { store: memoryStore({ fleeting: true }), queues: unlessDead(queues, isDead), close };
};

/** A process that has died takes no jobs any more, even when it was about to. */
export const unlessDead = (queues: Queues, isDead: () => boolean): Queues => ({
  ...queues,
  queue: (name) => {
    const queue = queues.queue(name);
    return { ...queue, consume: (run, concurrency) => (isDead() ? { close: async () => {} } : queue.consume(run, concurrency)) };
  },
});
