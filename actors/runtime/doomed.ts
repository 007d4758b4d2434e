import { labelOf } from '../../machines/model/provider-key.ts';
import type { Log, Observer } from '../ports/observers.ts';
import type { ActiveJob } from '../ports/queues.ts';

/** So many runs of a job in a row may end with their process, or with its lock, before nobody runs it any more. */
export const MOST_DEATHS = 5;

export interface DoomedPorts {
  readonly log: Log;
  readonly observers?: readonly Pick<Observer, 'jobGivenUp'>[];
}

/** Whether the job is not to be run any more, since whoever runs it ends: said once. */
export function isDoomed(queue: string, { id, deaths }: ActiveJob, { log, observers = [] }: DoomedPorts): boolean {
  if (deaths < MOST_DEATHS) return false;
  log.error('a job is given up: the processes that ran it ended', { queue, job: id, count: deaths });
  for (const observer of observers) observer.jobGivenUp?.(labelOf(queue));
  return true;
}
