import type { JobObserver, JobRun, Log, Observer } from '../ports/observers.ts';
import type { ActiveJob } from '../ports/queues.ts';
import type { Clock } from '../ports/records.ts';

/** What was kept stays kept however the run ends, and comes along with its next run where it could not be stored. */
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

/** Tells observers of a run of a job that has ended. `begun`: when it began, ms since the epoch and monotonic. */
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
