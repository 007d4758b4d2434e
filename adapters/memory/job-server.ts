import { Fenced, Unreachable } from '../../actors/ports/errors.ts';
import type { ActiveJob, Consumer, JobStep } from '../../actors/ports/queues.ts';
import type { Clock } from '../../actors/ports/records.ts';
import { JobShelf, type ShelfOptions } from './job-shelf.ts';
import type { ConsumerState, Job, JobProcess, Run } from './kept-jobs.ts';

export type NewConsumer = Pick<ConsumerState, 'queue' | 'process' | 'run' | 'concurrency'>;

export interface JobServerOptions extends Omit<ShelfOptions, 'tellWaiting'> {
  readonly lockDurationMs: number;
  readonly inTurn?: boolean;
  /** Called for a job whose handler threw, which is a bug. */
  readonly failed?: (queue: string, title: string, error: Error) => void;
}

interface QueueState {
  readonly shelf: JobShelf;
  readonly consumers: Set<ConsumerState>;
  pumping: boolean;
}

/** The state that outlives the processes: all queues with their jobs, runs and locks. Every call is atomic. */
export class JobServer {
  readonly #clock: Clock;
  readonly #options: JobServerOptions;
  readonly #queues = new Map<string, QueueState>();
  readonly #active = new Set<Job>();
  #downSince: number | null = null;

  constructor(clock: Clock, options: JobServerOptions) {
    this.#clock = clock;
    this.#options = options;
  }

  shelf(name: string): JobShelf {
    return this.#queue(name).shelf;
  }

  /** The queues that contain jobs. */
  names(): readonly string[] {
    return [...this.#queues].filter(([, { shelf }]) => shelf.jobs().length > 0).map(([name]) => name);
  }

  drop(name: string): void {
    this.#queues.get(name)?.shelf.wipe();
    this.leave(name);
  }

  /** Drops the state of a queue without jobs and consumers. */
  leave(name: string): void {
    const queue = this.#queues.get(name);
    if (queue && queue.consumers.size === 0 && queue.shelf.jobs().length === 0) this.#queues.delete(name);
  }

  consume(wanted: NewConsumer): Consumer {
    const consumer: ConsumerState = { ...wanted, open: true, dead: false, active: 0, renewedAt: null, idle: () => undefined };
    this.#queue(wanted.queue).consumers.add(consumer);
    this.#pumpSoon(wanted.queue);
    return { close: (graceMs) => this.#close(consumer, graceMs) };
  }

  /** Stops renewing the locks of a process's consumers; they take no more jobs. */
  stopRenewing(process: JobProcess): void {
    for (const consumer of this.#consumersOf(process)) this.#letLocksRunOut(consumer);
  }

  /** Also ignores the results of their handlers. */
  endConsumers(process: JobProcess): void {
    for (const consumer of this.#consumersOf(process)) {
      consumer.dead = true;
      this.#letLocksRunOut(consumer);
    }
  }

  wipe(): void {
    for (const { shelf } of this.#queues.values()) shelf.wipe();
  }

  isDown(): boolean {
    return this.#downSince !== null;
  }

  goDown(): void {
    this.#downSince ??= this.#clock.monotonic();
  }

  comeBack(): void {
    if (this.#downSince === null) return;
    // The locks are as old as the outage: an expired one is lost before its job can end.
    const lost = this.#clock.monotonic() - this.#downSince >= this.#options.lockDurationMs;
    this.#downSince = null;
    for (const job of [...this.#active]) {
      const { run } = job;
      if (run === null || run.consumer.renewedAt !== null) continue;
      if (lost) this.#runAgain(job, run);
      else run.ended?.();
    }
    this.#expireLocks();
    for (const name of this.#queues.keys()) this.#pumpSoon(name);
  }

  #queue(name: string): QueueState {
    const known = this.#queues.get(name);
    if (known !== undefined) return known;
    const shelf = new JobShelf(name, this.#clock, { ...this.#options, tellWaiting: () => this.#pumpSoon(name) });
    const queue: QueueState = { shelf, consumers: new Set(), pumping: false };
    this.#queues.set(name, queue);
    return queue;
  }

  // ---- the start of a run

  #pumpSoon(name: string): void {
    const queue = this.#queue(name);
    if (queue.pumping) return;
    queue.pumping = true;
    queueMicrotask(() => this.#pump(queue));
  }

  #pump(queue: QueueState): void {
    queue.pumping = false;
    while (this.#downSince === null) {
      const job = queue.shelf.next();
      const consumer = freeConsumer(queue.consumers);
      if (consumer === null || job === null) return;
      this.#start(job, consumer);
    }
  }

  #start(job: Job, consumer: ConsumerState): void {
    const run: Run = { consumer, ended: null };
    this.shelf(job.queue).take(job);
    job.run = run;
    this.#active.add(job);
    consumer.active += 1;
    if (this.#options.inTurn) this.#putLast(consumer);
    const handled = async (): Promise<JobStep> => consumer.run(this.#activeJob(job, run));
    handled().then(
      (step) => this.#ended(job, run, step),
      (error: unknown) => this.#ended(job, run, error instanceof Error ? error : new Error(String(error))),
    );
  }

  #putLast(consumer: ConsumerState): void {
    const { consumers } = this.#queue(consumer.queue);
    consumers.delete(consumer);
    consumers.add(consumer);
  }

  #activeJob(job: Job, run: Run): ActiveJob {
    return {
      id: job.id,
      data: JSON.parse(job.data),
      progress: JSON.parse(job.progress),
      rerun: job.rerun,
      queuedAt: job.queuedAt,
      starts: job.runs,
      calls: job.calls ?? 0,
      deaths: job.deaths,
      lock: () => ({
        renewedAt: job.run === run ? this.#renewedAt(run.consumer) : Number.NEGATIVE_INFINITY,
        durationMs: this.#options.lockDurationMs,
      }),
      keep: async (progress) => {
        await Promise.resolve();
        if (run.consumer.dead) return new Promise(() => undefined);
        if (this.isDown()) throw new Unreachable('memory queues: switched off');
        if (!this.#holdsLock(job, run)) throw new Fenced(`job ${job.id} is not this process's any more`);
        job.progress = JSON.stringify(progress);
      },
    };
  }

  // ---- the end of a run

  #ended(job: Job, run: Run, step: JobStep | Error): void {
    const { consumer } = run;
    consumer.active -= 1;
    // A consumer that died or is suspended reports nothing; its lock expires.
    if (consumer.renewedAt === null) {
      if (this.isDown()) run.ended = () => this.#apply(job, run, step);
      else this.#apply(job, run, step);
    }
    if (consumer.active === 0) consumer.idle();
    this.#pumpSoon(job.queue);
  }

  #apply(job: Job, run: Run, step: JobStep | Error): void {
    const shelf = this.shelf(job.queue);
    const heard = this.#holdsLock(job, run);
    if (heard || !shelf.keeps(job)) this.#release(job, run);
    if (!heard) return;
    if (step instanceof Error) {
      shelf.finish(job, 'failed', step.message);
      this.#options.failed?.(job.queue, job.title, step);
    } else if (step.kind === 'done') shelf.finish(job, 'completed', null);
    else {
      job.progress = JSON.stringify(step.progress);
      job.calls = step.calls ?? 0;
      job.rerun = job.rerun && step.progress === null;
      job.deaths = 0;
      shelf.delay(job, step.afterMs);
    }
  }

  #release(job: Job, run: Run): void {
    if (job.run !== run) return;
    this.#active.delete(job);
    job.run = null;
  }

  #runAgain(job: Job, run: Run): void {
    const shelf = this.shelf(job.queue);
    this.#release(job, run);
    if (!shelf.keeps(job)) return;
    job.rerun = true;
    job.deaths += 1;
    shelf.enqueue(job);
  }

  // ---- locks

  #renewedAt(consumer: ConsumerState): number {
    return consumer.renewedAt ?? this.#downSince ?? this.#clock.monotonic();
  }

  #holdsLock(job: Job, run: Run): boolean {
    const age = this.#clock.monotonic() - this.#renewedAt(run.consumer);
    return this.shelf(job.queue).keeps(job) && job.run === run && age < this.#options.lockDurationMs;
  }

  #letLocksRunOut(consumer: ConsumerState): void {
    if (consumer.renewedAt !== null) return;
    consumer.renewedAt = this.#renewedAt(consumer);
    this.#queue(consumer.queue).consumers.delete(consumer);
    this.#clock.after(consumer.renewedAt + this.#options.lockDurationMs - this.#clock.monotonic(), () => this.#expireLocks());
  }

  #expireLocks(): void {
    if (this.isDown()) return;
    for (const job of [...this.#active]) if (job.run !== null && !this.#holdsLock(job, job.run)) this.#runAgain(job, job.run);
  }

  // ---- consumers

  #consumersOf(process: JobProcess): ConsumerState[] {
    const all = [...this.#queues.values()].flatMap(({ consumers }) => [...consumers]);
    return all.filter((consumer) => consumer.process === process);
  }

  async #close(consumer: ConsumerState, graceMs: number): Promise<void> {
    consumer.open = false;
    if (consumer.active > 0) {
      await new Promise<void>((resolve) => {
        const cancel = this.#clock.after(graceMs, resolve);
        consumer.idle = () => {
          cancel();
          resolve();
        };
      });
    }
    this.#letLocksRunOut(consumer);
  }
}

/** The least loaded of the consumers that can take another job. */
const freeConsumer = (consumers: Iterable<ConsumerState>): ConsumerState | null => {
  let free: ConsumerState | null = null;
  for (const consumer of consumers) {
    const takes = consumer.open && consumer.renewedAt === null && consumer.active < consumer.concurrency;
    if (takes && (free === null || consumer.active < free.active)) free = consumer;
  }
  return free;
};
