import type { Clock } from '../actors/ports/records.ts';

interface Waiting {
  readonly clock: Clock;
  readonly stopping: Promise<void>;
  /** Told why it was not answered, after each try; the first one is 1. */
  readonly failed: (error: unknown, attempt: number) => void;
}

/** From one try to the next, ms: by this much more each time, up to the most. */
const PAUSE_MS = { more: 500, most: 10_000 };

/** What `ask` answers as soon as it answers: the API server is waited for as long as it takes. Null once the operator is to stop. */
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
