import type { Json } from './records.ts';

export interface NewJob {
  /** Never repeats; adding an id that is still kept is a no-op. */
  readonly id: string;
  readonly title: string;
  readonly data: Json;
  readonly delayMs?: number;
  readonly priority?: number;
}

/** A job that this process runs now. */
export interface ActiveJob {
  readonly id: string;
  readonly data: Json;
  /** What the last run of this job left with `keep` or `again`; null at first. */
  readonly progress: Json;
  /** True when an earlier run of this job may have got to any point before its process died. */
  readonly rerun: boolean;
  /** When it was added, ms since the epoch by the clock of the process that added it. */
  readonly queuedAt: number;
  /** 1 for the first start, one more for each later start in any process. */
  readonly starts: number;
  /** How many runs in a row ended with their process, or lost their lock, since the job was added or last asked to run again. */
  readonly deaths: number;
  /** How many calls it could make before it had to wait for the request budget; 0 for none. */
  readonly calls: number;
  /** Stores progress at once, durably. */
  keep(progress: Json): Promise<void>;
  /** Monotonic time (ms) at which the lock was last known renewed, and how long it holds, ms. */
  lock(): { readonly renewedAt: number; readonly durationMs: number };
}

export type JobStep =
  | { readonly kind: 'done' }
  | {
      readonly kind: 'again';
      readonly afterMs: number;
      readonly progress: Json;
      /** The `calls` that the next run receives; absent for 0. */
      readonly calls?: number;
    };

/** A job that has not ended: it runs, waits for its turn or is delayed. */
export interface JobStand {
  readonly isRunning: boolean;
  /** How often it was started so far, in any process. */
  readonly starts: number;
}

/** A durable queue. A job is one try: a handler that throws ends it as failed, and only its owner's chart retries. */
export interface JobQueue {
  /** Resolves once stored. Throws `Unreachable`. */
  add(jobs: readonly NewJob[]): Promise<void>;
  /** Best effort; an active job goes on. */
  remove(id: string): Promise<void>;
  /** Whether a job with this id is kept, finished or not. */
  has(id: string): Promise<boolean>;
  /** The state of a job that has not ended; null when it has, or is not kept. */
  standOf(id: string): Promise<JobStand | null>;
  /** Progress of a job that is still kept, finished or not; null when it left none or is gone. */
  progressOf(id: string): Promise<Json>;
  /** Starts to run jobs, at most `concurrency` at once. A job whose process died runs again on some consumer. */
  consume(run: (job: ActiveJob) => Promise<JobStep>, concurrency: number): Consumer;
  counts(): Promise<Readonly<Record<'waiting' | 'active' | 'delayed' | 'failed', number>>>;
}

export interface Consumer {
  /** Takes no more jobs and resolves once the running ones ended, at the latest after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

export interface Queues {
  queue(name: string): JobQueue;
  /** The names of all stored queues, regardless of who uses them. @throws Unreachable */
  names(): Promise<readonly string[]>;
  /** Deletes a queue with all its jobs; if used again, it starts over. @throws Unreachable */
  drop(name: string): Promise<void>;
  /** This process stops using the queue for now: its in-memory state is released. What is stored stays. */
  leave(name: string): Promise<void>;
  close(): Promise<void>;
}
