import type { Clock } from '../ports/records.ts';

/** Asks for `work`: it runs once, `ms` after the first request since it began last, for all requests of that time, and no sooner than `everyMs` after it began last.
 *  One that comes while it runs has it run again, once it has ended. */
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
