import type { JobObserver, JobRun, Log, Observer } from '../ports/observers.ts';
import type { ActiveJob } from '../ports/queues.ts';
import type { Clock } from '../ports/records.ts';

/** Kept progress survives however the run ends; where it could not be stored, it is passed on with the next run. */
export function keeping(active: ActiveJob): ActiveJob {
  let { progress } = active;
  return {
    ...active,
    get progress() {
      return progress;
    },
    keep: (kept) => {
      progress = kept;
      return active.keep(kept);
    },
  };
}

interface Observing {
  readonly clock: Clock;
  readonly log: Log;
  readonly observers?: readonly (Observer & Partial<JobObserver>)[];
}

/** Reports a finished run of a job to the observers. `begun`: when it began, ms since the epoch and monotonic. */
export function observe(
  { data, queuedAt, starts }: ActiveJob,
  outcome: JobRun['outcome'],
  begun: { readonly at: number; readonly monotonic: number },
  { clock, log, observers = [] }: Observing,
): void {
  const run: JobRun = {
    job: (data as unknown as Pick<JobRun, 'job'>).job,
    outcome,
    waitedMs: starts === 1 ? Math.max(0, begun.at - queuedAt) : null,
    ranMs: clock.monotonic() - begun.monotonic,
    sinceQueuedMs: Math.max(0, clock.now() - queuedAt),
  };
  for (const observer of observers) {
    try {
      observer.jobRan?.(run);
    } catch (error) {
      log.error('an observer threw', { error: String(error) });
    }
  }
}
