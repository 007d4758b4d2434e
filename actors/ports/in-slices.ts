import type { Clock } from './records.ts';

/** The length of a slice that is followed by a rest, ms. */
const SHORT_MS = 3;

/** How long background work rests after each slice, ms. */
export const REST_MS = 10;

/** Processes each item and yields to the event loop now and then: thousands at once would keep the process from its watches and its Lease. The remaining items are dropped
 *  if `isOver` after such a pause. Runs without pauses where the clock does not support them. With `restMs`, for background work, the slices are short and each pause is at
 *  least that long: a failover takes several turns of the event loop, and would wait for a slice in each. Returns whether all items were processed. */
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
    // Hundreds of paused tasks may go on in the same turn of the event loop, and have to share it.
    for (; pause; pause = clock.yieldToEventLoop?.() ?? null) await pause;
    if (restMs > 0) await new Promise<void>((resolve) => void clock.after(restMs, resolve));
    if (isOver()) return false;
  }
  return true;
}
