import type { Log } from '../ports/observers.ts';
import type { Clock } from '../ports/records.ts';

/** One step of a shutdown. */
export interface Parting {
  /** For the log: what the shutdown waits for. */
  readonly what: string;
  /** When it has to be over, as a share of the whole grace period; later steps have the rest. */
  readonly until: number;
  readonly run: (leftMs: number) => unknown;
}

/** Runs the steps one after another. Resolves at the latest after the share of `graceMs` that the last one names: a step that has not ended in time is left running, and
 *  one that fails does not prevent the others. */
export async function part(
  partings: readonly Parting[],
  { graceMs, clock, log }: { readonly graceMs: number; readonly clock: Clock; readonly log: Log },
): Promise<void> {
  const begunAt = clock.monotonic();
  for (const { what, until, run } of partings) {
    const leftMs = Math.max(0, Math.floor(begunAt + until * graceMs - clock.monotonic()));
    const isOver = await within(leftMs, clock, async () => run(leftMs)).catch((error: unknown) => {
      log.warn('a stop goes on in spite of an error', { awaited: what, error: String(error) });
      return true;
    });
    if (!isOver) log.warn('a stop no longer waits', { awaited: what, durationMs: leftMs });
  }
}

/** False when it has not ended within `ms`. @throws what it throws within that time */
async function within(ms: number, clock: Clock, run: () => Promise<unknown>): Promise<boolean> {
  let cancel = (): void => undefined;
  const late = new Promise<false>((resolve) => {
    cancel = clock.after(ms, () => resolve(false));
  });
  try {
    return await Promise.race([run().then(() => true), late]);
  } finally {
    cancel();
  }
}
