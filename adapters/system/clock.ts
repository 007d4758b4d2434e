import type { Clock } from '../../actors/ports/records.ts';

/** The longest delay that a Node.js timer takes, ms; a longer one would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** A clock whose timers can all be cancelled together: none of them fires or keeps the process alive. */
interface EndableClock extends Clock {
  end(): void;
}

/** `clock` for a user with a shorter lifetime. */
export const endableClock = (clock: Clock): EndableClock => {
  const waiting = new Set<() => void>();
  let ended = false;
  return {
    ...clock,
    after: (ms, run) => {
      if (ended) return () => undefined;
      const cancel = clock.after(ms, () => {
        waiting.delete(cancel);
        run();
      });
      waiting.add(cancel);
      return () => {
        waiting.delete(cancel);
        cancel();
      };
    },
    end: () => {
      ended = true;
      for (const cancel of waiting) cancel();
      waiting.clear();
    },
  };
};

/** Default limit of a turn of the event loop, ms: a longer one yields at the next check. */
const TURN_MS = 10;

/** Null until the current turn of the event loop has lasted too long; then a promise that resolves in the next one. */
function longTurnYield(): (turnMs?: number) => Promise<void> | null {
  let began: number | null = null;
  return (turnMs = TURN_MS) => {
    if (began === null) {
      began = performance.now();
      setImmediate(() => {
        began = null;
      });
      return null;
    }
    return performance.now() - began < turnMs ? null : new Promise((resolve) => setImmediate(resolve));
  };
}

/** Time and timers of this machine. A timer keeps the process alive until it fires or is cancelled. */
export const systemClock = (): Clock => ({
  yieldToEventLoop: longTurnYield(),
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after: (ms, run) => {
    const dueAt = performance.now() + ms;
    let timer: NodeJS.Timeout;
    const wait = (): void => {
      // Node.js may fire a timer up to a millisecond early; `after` promises not to.
      const left = dueAt - performance.now();
      if (left <= 0) run();
      else timer = setTimeout(wait, Math.min(Math.ceil(left), LONGEST_TIMER_MS));
    };
    timer = setTimeout(wait, Math.min(Math.max(0, Math.ceil(ms)), LONGEST_TIMER_MS));
    return () => clearTimeout(timer);
  },
});
