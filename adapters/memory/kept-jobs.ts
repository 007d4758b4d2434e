import type { ActiveJob, JobStep, NewJob } from '../../actors/ports/queues.ts';
import type { Json } from '../../actors/ports/records.ts';

/** A process as the queues see it. */
export interface JobProcess {
  /** Its calls never settle. */
  dead: boolean;
}

export interface ConsumerState {
  readonly queue: string;
  readonly process: JobProcess;
  readonly run: (job: ActiveJob) => Promise<JobStep>;
  readonly concurrency: number;
  open: boolean;
  /** Results of its handlers are ignored. */
  dead: boolean;
  active: number;
  /** When its locks were last renewed, monotonic ms; null while they are renewed continuously. */
  renewedAt: number | null;
  idle: () => void;
}

export type JobState = 'waiting' | 'active' | 'delayed' | 'completed' | 'failed';

/** One start of a job. Results of a run that is no longer its job's current one are ignored. */
export interface Run {
  readonly consumer: ConsumerState;
  /** Its result, if it ended during an outage. */
  ended: (() => void) | null;
}

export interface Job {
  readonly id: string;
  readonly queue: string;
  readonly title: string;
  readonly priority: number;
  /** ms since the epoch. */
  readonly queuedAt: number;
  /** JSON text, like `progress`. */
  readonly data: string;
  progress: string;
  calls?: number;
  state: JobState;
  runs: number;
  failedReason: string | null;
  /** An earlier run died. */
  rerun: boolean;
  /** Consecutive runs whose process died or whose lock expired. */
  deaths: number;
  /** Order of arrival among the waiting jobs. */
  order: number;
  run: Run | null;
  cancelTimer: () => void;
}

/** A job as stored, for inspection by tests. */
export interface KeptJob {
  readonly id: string;
  readonly title: string;
  readonly data: Json;
  readonly progress: Json;
  readonly state: JobState;
  /** Number of starts. */
  readonly runs: number;
  readonly failedReason: string | null;
}

export const keptJob = ({ id, title, data, progress, state, runs, failedReason }: Job): KeptJob => ({
  id,
  title,
  data: JSON.parse(data),
  progress: JSON.parse(progress),
  state,
  runs,
  failedReason,
});

export const newJob = (queue: string, { id, title, data, priority = 0 }: NewJob, queuedAt: number): Job => ({
  id,
  queue,
  title,
  priority,
  queuedAt,
  data: JSON.stringify(data),
  progress: 'null',
  state: 'waiting',
  runs: 0,
  failedReason: null,
  rerun: false,
  deaths: 0,
  order: 0,
  run: null,
  cancelTimer: () => undefined,
});

/** The waiting job that comes first: by priority, then by arrival. */
export const nextOf = (jobs: Iterable<Job>): Job | null => {
  let next: Job | null = null;
  for (const job of jobs) {
    if (next === null || job.priority < next.priority || (job.priority === next.priority && job.order < next.order)) next = job;
  }
  return next;
};

/** As strict as the queue that production uses. @throws Error */
export const assertJobId = (id: string): void => {
  if (id === '' || id.includes(':') || /^\d+$/.test(id))
    throw new Error(`job id ${JSON.stringify(id)} should be no integer and bear no colon`);
};
