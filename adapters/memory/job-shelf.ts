import type { JobStand, NewJob } from '../../actors/ports/queues.ts';
import type { Clock } from '../../actors/ports/records.ts';
import { type Job, type KeptJob, keptJob, newJob, nextOf } from './kept-jobs.ts';

export interface ShelfOptions {
  /** How long a finished job is kept, ms, and how many at most. */
  readonly keepMs: number;
  readonly keepAtMost: number;
  /** Called whenever a job starts waiting. */
  readonly tellWaiting: () => void;
}

/** The jobs of one queue, for all consumers: waiting, delayed, active and ended ones. */
export class JobShelf {
  readonly #name: string;
  readonly #clock: Clock;
  readonly #keepMs: number;
  readonly #keepAtMost: number;
  readonly #tellWaiting: () => void;
  readonly #jobs = new Map<string, Job>();
  readonly #waiting = new Set<Job>();
  readonly #finished: { readonly id: string; readonly at: number }[] = [];
  #arrivals = 0;

  constructor(name: string, clock: Clock, { keepMs, keepAtMost, tellWaiting }: ShelfOptions) {
    this.#name = name;
    this.#clock = clock;
    this.#keepMs = keepMs;
    this.#keepAtMost = keepAtMost;
    this.#tellWaiting = tellWaiting;
  }

  add(jobs: readonly NewJob[]): void {
    for (const each of jobs) {
      if (this.#jobs.has(each.id)) continue;
      const job = newJob(this.#name, each, this.#clock.now());
      this.#jobs.set(job.id, job);
      if (each.delayMs !== undefined && each.delayMs > 0) this.delay(job, each.delayMs);
      else this.enqueue(job);
    }
  }

  remove(id: string): void {
    const job = this.#jobs.get(id);
    if (job === undefined || job.state === 'active') return;
    job.cancelTimer();
    this.#waiting.delete(job);
    this.#jobs.delete(id);
  }

  enqueue(job: Job): void {
    this.#arrivals += 1;
    job.order = this.#arrivals;
    job.state = 'waiting';
    this.#waiting.add(job);
    this.#tellWaiting();
  }

  delay(job: Job, ms: number): void {
    job.state = 'delayed';
    job.cancelTimer = this.#clock.after(ms, () => this.enqueue(job));
  }

  finish(job: Job, state: 'completed' | 'failed', reason: string | null): void {
    const now = this.#clock.monotonic();
    job.state = state;
    job.failedReason = reason;
    this.#finished.push({ id: job.id, at: now });
    const isOver = ({ at }: { readonly at: number }): boolean => at + this.#keepMs < now || this.#finished.length > this.#keepAtMost;
    for (let oldest = this.#finished[0]; oldest !== undefined && isOver(oldest); oldest = this.#finished[0]) {
      this.#finished.shift();
      this.#jobs.delete(oldest.id);
    }
  }

  /** False once the job was removed or wiped, even if another job now has its id. */
  keeps(job: Job): boolean {
    return this.#jobs.get(job.id) === job;
  }

  next(): Job | null {
    return nextOf(this.#waiting);
  }

  take(job: Job): void {
    this.#waiting.delete(job);
    job.state = 'active';
    job.runs += 1;
  }

  get(id: string): Job | null {
    return this.#jobs.get(id) ?? null;
  }

  standOf(id: string): JobStand | null {
    const job = this.#jobs.get(id);
    if (job === undefined || job.state === 'completed' || job.state === 'failed') return null;
    return { isRunning: job.state === 'active', starts: job.runs };
  }

  jobs(): readonly KeptJob[] {
    return [...this.#jobs.values()].map(keptJob);
  }

  counts(): Record<'waiting' | 'active' | 'delayed' | 'failed', number> {
    const counts = { waiting: 0, active: 0, delayed: 0, failed: 0, completed: 0 };
    for (const { state } of this.#jobs.values()) counts[state] += 1;
    const { waiting, active, delayed, failed } = counts;
    return { waiting, active, delayed, failed };
  }

  wipe(): void {
    for (const job of this.#jobs.values()) job.cancelTimer();
    this.#jobs.clear();
    this.#waiting.clear();
    this.#finished.length = 0;
  }
}
