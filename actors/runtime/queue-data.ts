import type { JobName } from '../../machines/jobs.ts';
import { type Fields, type Finding, fieldsOf, type JobFailure } from '../../machines/model/types.ts';
import type { NewJob } from '../ports/queues.ts';
import type { JobCommand, Json } from '../ports/records.ts';

/** The data contract between the producers of jobs, timers and outcomes and their consumers. */

/** The queue on which outcomes wait for the leader. */
export const OUTCOMES = 'outcomes';
export const TIMERS = 'timers';

/** What a job's data holds. */
export interface JobData {
  readonly actor: string;
  readonly invokeId: string;
  readonly commandId: string;
  readonly term: number;
  readonly job: JobName;
  readonly input: Json;
  /** The command that this one replaces; null for none. */
  readonly resumes: string | null;
  /** Addresses that others have according to the leader's records: watches, including those of this process, may not show them yet. Absent where they do not matter. */
  readonly recorded?: readonly string[];
  /** The object for which an address was being created then and was not published yet; absent for none. */
  readonly making?: string;
}

/** What the leader receives about a job, once it has ended or in between. */
export interface OutcomeData {
  readonly actor: string;
  readonly invokeId: string;
  readonly commandId: string;
  readonly outcome:
    | { readonly output: Json }
    | { readonly error: JobFailure }
    /** The job of the command under `of` has not ended: what it waits for, for users; null when it no longer waits for anything. */
    | { readonly waits: Finding | null; readonly of: string };
}

/** What a timer's job holds. */
export interface TimerData {
  readonly actor: string;
  readonly sendId: string;
  readonly commandId: string;
}

export const jobOf = (command: JobCommand, term: number, beside: Pick<JobData, 'recorded' | 'making'> = {}): NewJob => ({
  id: command.id,
  title: command.title,
  priority: command.priority,
  data: {
    actor: command.actor,
    invokeId: command.invokeId,
    commandId: command.id,
    term,
    job: command.job,
    input: command.input,
    resumes: command.resumes ?? null,
    ...beside,
  },
});

/** Anyone with write access to the store can put another job into the queue. @throws Error for data that no leader has written */
export function assertCommand(data: Json, isWhole: (data: Fields) => boolean): void {
  const { actor, commandId } = fieldsOf(data);
  if (typeof actor !== 'string' || typeof commandId !== 'string' || !isWhole(fieldsOf(data)))
    throw new Error('it says nothing that can be done');
}

/** The id of the job that carries the outcome of a command's job to the leader. */
export const outcomeId = ({ commandId }: Pick<JobData, 'commandId'>): string => `${commandId}.outcome`;
