import type { Clock } from './records.ts';

/** A slice that is followed by a rest, ms. */
const SHORT_MS = 3;

/** How long work that nobody waits for rests after each slice, ms. */
export const REST_MS = 10;

/** Does something with each item, and leaves the event loop to others now and then: thousands at once would keep the process from its watches and its Lease. Those left
 *  are dropped when `isOver` after such a pause. At once, without any pause, where the clock knows of none. With `restMs`, where nobody waits for the end, the slices are
 *  short and each pause is at least that long: a failover takes several turns of the event loop, and would wait for a slice in each. Answers whether all were seen. */
export async function inSlices<T>(
  items: Iterable<T>,
  clock: Pick<Clock, 'yieldToEventLoop' | 'after'>,
  isOver: () => boolean,
  each: (item: T) => void,
  restMs = 0,
): Promise<boolean> {
  const turnMs = restMs > 0 ? SHORT_MS : undefined;
  for (const item of items) {
    each(item);
    let pause = clock.yieldToEventLoop?.(turnMs) ?? null;
    if (!pause) continue;
    // Hundreds that have paused go on in the same turn of the event loop, and do not have it to themselves either.
    for (; pause; pause = clock.yieldToEventLoop?.() ?? null) await pause;
    if (restMs > 0) await new Promise<void>((resolve) => void clock.after(restMs, resolve));
    if (isOver()) return false;
  }
  return true;
}
