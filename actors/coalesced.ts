import type { Clock } from './ports.ts';

/** Asks for `work`: it runs once, `ms` after the first request since it began last, for all requests of that time, and no sooner than `everyMs` after it ran last.
 *  One that comes while it runs has it run again. */
export const coalesced = (clock: Clock, ms: number, work: () => void, everyMs = ms): (() => void) => {
  let isDue = false;
  let ranAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (isDue) return;
    isDue = true;
    clock.after(Math.max(ms, ranAt + everyMs - clock.monotonic()), () => {
      isDue = false;
      ranAt = clock.monotonic();
      work();
    });
  };
};
