import type { Clock } from '../actors/ports/records.ts';

interface Waiting {
  readonly clock: Clock;
  readonly stopping: Promise<void>;
  /** Receives why an attempt failed; the first attempt is 1. */
  readonly failed: (error: unknown, attempt: number) => void;
}

/** Pause between attempts, ms: longer by `more` each time, up to `most`. */
const PAUSE_MS = { more: 500, most: 10_000 };

/** The first answer of `ask`: the API server is waited for without limit. Null once the operator is stopping. */
export async function untilAnswered<T>(ask: () => Promise<T>, { clock, stopping, failed }: Waiting): Promise<T | null> {
  let isStopping = false;
  void stopping.then(() => {
    isStopping = true;
  });
  for (let attempt = 1; !isStopping; attempt += 1) {
    try {
      return await ask();
    } catch (error) {
      failed(error, attempt);
      const pauseMs = Math.min(PAUSE_MS.more * attempt, PAUSE_MS.most);
      await Promise.race([stopping, new Promise<void>((resolve) => clock.after(pauseMs, resolve))]);
    }
  }
  return null;
}
