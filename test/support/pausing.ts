import type { ClusterSource } from '../../actors/ports/cluster.ts';
import type { Clock } from '../../actors/ports/records.ts';

/** A clock by which whatever goes through many objects pauses for so long after every other one of them, ms; 0 for not at all. */
export function pausingClock<C extends Clock>(clock: C, pauseMs: number): C {
  if (pauseMs === 0) return clock;
  let isFresh = true;
  const pause = (): Promise<void> =>
    new Promise((resolve) => {
      clock.after(pauseMs, () => {
        isFresh = true;
        resolve();
      });
    });
  const yieldToEventLoop = (): Promise<void> | null => {
    if (!isFresh) return pause();
    isFresh = false;
    return null;
  };
  return { ...clock, yieldToEventLoop };
}

/** As watches of many objects do, it tells everything again with a pause. */
export function pausingSource<S extends ClusterSource>(clock: Clock, source: S, pauseMs: number): S {
  const resync = async (): Promise<void> => {
    await new Promise<void>((resolve) => void clock.after(pauseMs, resolve));
    await source.resync();
  };
  return pauseMs === 0 ? source : { ...source, resync };
}
