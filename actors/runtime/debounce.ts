import type { Clock } from '../ports/records.ts';

/** Debounces `work`: it runs `ms` after the first request since its last start, once for all requests in that time, and no sooner than `everyMs` after its last start. A
 *  request during a run makes it run again afterwards. */
export const coalesced = (clock: Clock, ms: number, work: () => void | Promise<void>, everyMs = ms): (() => void) => {
  let [isDue, isRunning] = [false, false];
  let ranAt = Number.NEGATIVE_INFINITY;
  const run = async (): Promise<void> => {
    isDue = false;
    isRunning = true;
    ranAt = clock.monotonic();
    try {
      await work();
    } finally {
      isRunning = false;
      if (isDue) plan();
    }
  };
  const plan = (): void => void clock.after(Math.max(ms, ranAt + everyMs - clock.monotonic()), () => void run());
  return () => {
    if (isDue) return;
    isDue = true;
    if (!isRunning) plan();
  };
};
