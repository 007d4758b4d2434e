import { labelOf } from '../../machines/model/provider-key.ts';
import type { Log, Observer } from '../ports/observers.ts';
import type { ActiveJob } from '../ports/queues.ts';

/** After this many consecutive runs that ended with their process or lost their lock, a job is no longer run. */
export const MOST_DEATHS = 5;

export interface DoomedPorts {
  readonly log: Log;
  readonly observers?: readonly Pick<Observer, 'jobGivenUp'>[];
}

/** Whether the job must no longer be run because it kills the processes that run it. Reported once. */
export function isDoomed(queue: string, { id, deaths }: ActiveJob, { log, observers = [] }: DoomedPorts): boolean {
  if (deaths < MOST_DEATHS) return false;
  log.error('a job is given up: the processes that ran it ended', { queue, job: id, count: deaths });
  for (const observer of observers) observer.jobGivenUp?.(labelOf(queue));
  return true;
}
