import type { Clock } from './ports.ts';

/** Asks for `work`: it runs once, `ms` after the first request since it began last, for all requests of that time. One that comes while it runs has it run
 *  again. */
export const coalesced = (clock: Clock, ms: number, work: () => void): (() => void) => {
  let isDue = false;
  return () => {
    if (isDue) return;
    isDue = true;
    clock.after(ms, () => {
      isDue = false;
      work();
    });
  };
};
