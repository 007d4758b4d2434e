import { setTimeout as sleep } from 'node:timers/promises';
import { DemoFailure } from './failure.ts';
import { now, span } from './time.ts';

const LOOK_EVERY_MS = 10;

interface Conditions {
  readonly deadlineMs: number;
  /** Aborted with the error to throw. */
  readonly signal: AbortSignal;
  /** Why it cannot come about any more; null while it can. */
  readonly hindrance: () => string | null;
  /** How things stand, for whoever reads why it did not come about. */
  readonly standing: () => Promise<string>;
}

/** Resolves with what `probe` finds, as soon as that is not null. @throws DemoFailure naming `what`, or the error of the signal */
export type Until = <T>(what: string, probe: () => T | null | Promise<T | null>) => Promise<T>;

export function waiting({ deadlineMs, signal, hindrance, standing }: Conditions): Until {
  return async (what, probe) => {
    const end = now() + deadlineMs;
    for (;;) {
      signal.throwIfAborted();
      const found = await probe();
      if (found !== null) return found;
      const obstacle = hindrance();
      if (obstacle !== null) throw new DemoFailure(`${what}: no longer possible, ${obstacle}`);
      if (now() > end) throw new DemoFailure(`${what}: not within ${span(deadlineMs)}\n${await standing()}`);
      await sleep(LOOK_EVERY_MS);
    }
  };
}
