import type { Clock } from '../ports.ts';

/** Does something with each item, and leaves the event loop to others now and then: thousands at once would keep the process from its watches and its Lease. Those left
 *  are dropped when `isOver` after such a pause. At once, without any pause, where the clock knows of none. `restMs`: how long each pause is at least, where nobody waits
 *  for the end. Answers whether all were seen. */
export async function inSlices<T>(
  items: Iterable<T>,
  clock: Pick<Clock, 'yieldToEventLoop' | 'after'>,
  isOver: () => boolean,
  each: (item: T) => void,
  restMs = 0,
): Promise<boolean> {
  for (const item of items) {
    each(item);
    let pause = clock.yieldToEventLoop?.() ?? null;
    if (!pause) continue;
    // Hundreds that have paused go on in the same turn of the event loop, and do not have it to themselves either.
    for (; pause; pause = clock.yieldToEventLoop?.() ?? null) await pause;
    if (restMs > 0) await new Promise<void>((resolve) => void clock.after(restMs, resolve));
    if (isOver()) return false;
  }
  return true;
}
