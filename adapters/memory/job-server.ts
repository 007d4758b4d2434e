import { Fenced, Unreachable } from '../../actors/errors.ts';
import type { ActiveJob, Clock, Consumer, JobStep, Json, NewJob } from '../../actors/ports.ts';
import { type ConsumerState, type Job, type JobProcess, type KeptJob, keptJob, newJob, nextOf, type Run } from './kept-jobs.ts';

export type NewConsumer = Pick<ConsumerState, 'queue' | 'process' | 'run' | 'concurrency'>;

/** What outlives the processes: all queues with their jobs. Every call is atomic. */
export interface JobServer {
  add(queue: string, jobs: readonly NewJob[]): void;
  remove(queue: string, id: string): void;
  progressOf(queue: string, id: string): Json;
  counts(queue: string): Record<'waiting' | 'active' | 'delayed' | 'failed', number>;
  jobs(queue: string): readonly KeptJob[];
  consume(consumer: NewConsumer): Consumer;
  /** The locks of a process's consumers are renewed no more; they take no more jobs. */
  stopRenewing(process: JobProcess): void;
  /** Like that, and nothing that their handlers do is heard. */
  endConsumers(process: JobProcess): void;
  wipe(): void;
  goDown(): void;
  comeBack(): void;
  isDown(): boolean;
}

interface Settings {
  readonly lockDurationMs: number;
  readonly keepMs: number;
}

interface QueueState {
  readonly jobs: Map<string, Job>;
  readonly waiting: Set<Job>;
  readonly consumers: Set<ConsumerState>;
  readonly finished: { readonly id: string; readonly at: number }[];
  pumping: boolean;
}

export const jobServer = (clock: Clock, { lockDurationMs, keepMs }: Settings): JobServer => {
  const queues = new Map<string, QueueState>();
  const active = new Set<Job>();
  let arrivals = 0;
  let downSince: number | null = null;

  const queueOf = (name: string): QueueState => {
    const known = queues.get(name);
    if (known !== undefined) return known;
    const queue: QueueState = { jobs: new Map(), waiting: new Set(), consumers: new Set(), finished: [], pumping: false };
    queues.set(name, queue);
    return queue;
  };
  const renewedAt = (consumer: ConsumerState): number => consumer.renewedAt ?? downSince ?? clock.monotonic();
  const isKept = (job: Job): boolean => queueOf(job.queue).jobs.get(job.id) === job;
  const holdsLock = (job: Job, run: Run): boolean =>
    isKept(job) && job.run === run && clock.monotonic() - renewedAt(run.consumer) < lockDurationMs;

  const enqueue = (job: Job): void => {
    arrivals += 1;
    job.order = arrivals;
    job.state = 'waiting';
    queueOf(job.queue).waiting.add(job);
    pumpSoon(job.queue);
  };
  const delay = (job: Job, ms: number): void => {
    job.state = 'delayed';
    job.cancelTimer = clock.after(ms, () => enqueue(job));
  };
  const release = (job: Job, run: Run): void => {
    if (job.run !== run) return;
    active.delete(job);
    job.run = null;
  };
  const runAgain = (job: Job, run: Run): void => {
    release(job, run);
    if (!isKept(job)) return;
    job.rerun = true;
    enqueue(job);
  };

  // ---- the end of a run

  const finish = (job: Job, state: 'completed' | 'failed', reason: string | null): void => {
    job.state = state;
    job.failedReason = reason;
    const { finished, jobs } = queueOf(job.queue);
    finished.push({ id: job.id, at: clock.monotonic() });
    for (let oldest = finished[0]; oldest !== undefined && oldest.at + keepMs < clock.monotonic(); oldest = finished[0]) {
      finished.shift();
      jobs.delete(oldest.id);
    }
  };
  const apply = (job: Job, run: Run, step: JobStep | Error): void => {
    if (!isKept(job)) release(job, run);
    if (!holdsLock(job, run)) return;
    release(job, run);
    if (step instanceof Error) finish(job, 'failed', step.message);
    else if (step.kind === 'done') finish(job, 'completed', null);
    else {
      job.progress = JSON.stringify(step.progress);
      job.rerun = false;
      delay(job, step.afterMs);
    }
  };
  const ended = (job: Job, run: Run, step: JobStep | Error): void => {
    const { consumer } = run;
    consumer.active -= 1;
    // A consumer that died or is stopped tells nobody; its lock runs out.
    if (consumer.renewedAt === null) {
      if (downSince === null) apply(job, run, step);
      else run.ended = () => apply(job, run, step);
    }
    if (consumer.active === 0) consumer.idle();
    pumpSoon(job.queue);
  };
  const expireLocks = (): void => {
    if (downSince !== null) return;
    for (const job of [...active]) if (job.run !== null && !holdsLock(job, job.run)) runAgain(job, job.run);
  };

  // ---- the start of a run

  const activeJob = (job: Job, run: Run): ActiveJob => ({
    id: job.id,
    data: JSON.parse(job.data),
    progress: JSON.parse(job.progress),
    rerun: job.rerun,
    lock: () => ({ renewedAt: renewedAt(run.consumer), durationMs: lockDurationMs }),
    keep: async (progress) => {
      await Promise.resolve();
      if (run.consumer.dead) return new Promise(() => undefined);
      if (downSince !== null) throw new Unreachable('memory queues: switched off');
      if (!holdsLock(job, run)) throw new Fenced(`job ${job.id} is not this process's any more`);
      job.progress = JSON.stringify(progress);
    },
  });
  const start = (job: Job, consumer: ConsumerState): void => {
    const run: Run = { consumer, ended: null };
    queueOf(job.queue).waiting.delete(job);
    job.state = 'active';
    job.runs += 1;
    job.run = run;
    active.add(job);
    consumer.active += 1;
    const handled = async (): Promise<JobStep> => consumer.run(activeJob(job, run));
    handled().then(
      (step) => ended(job, run, step),
      (error: unknown) => ended(job, run, error instanceof Error ? error : new Error(String(error))),
    );
  };
  const freeConsumer = (consumers: Iterable<ConsumerState>): ConsumerState | null => {
    let free: ConsumerState | null = null;
    for (const consumer of consumers) {
      const takes = consumer.open && consumer.renewedAt === null && consumer.active < consumer.concurrency;
      if (takes && (free === null || consumer.active < free.active)) free = consumer;
    }
    return free;
  };
  const pump = (queue: QueueState): void => {
    queue.pumping = false;
    while (downSince === null && queue.waiting.size > 0) {
      const consumer = freeConsumer(queue.consumers);
      const job = nextOf(queue.waiting);
      if (consumer === null || job === null) return;
      start(job, consumer);
    }
  };
  const pumpSoon = (name: string): void => {
    const queue = queueOf(name);
    if (queue.pumping) return;
    queue.pumping = true;
    queueMicrotask(() => pump(queue));
  };

  const consumersOf = (process: JobProcess): ConsumerState[] =>
    [...queues.values()].flatMap(({ consumers }) => [...consumers]).filter((consumer) => consumer.process === process);
  const letLocksRunOut = (consumer: ConsumerState): void => {
    if (consumer.renewedAt !== null) return;
    consumer.renewedAt = renewedAt(consumer);
    queueOf(consumer.queue).consumers.delete(consumer);
    clock.after(consumer.renewedAt + lockDurationMs - clock.monotonic(), expireLocks);
  };
  const closeWithin = async (consumer: ConsumerState, graceMs: number): Promise<void> => {
    consumer.open = false;
    if (consumer.active > 0) {
      await new Promise<void>((resolve) => {
        const cancel = clock.after(graceMs, resolve);
        consumer.idle = () => {
          cancel();
          resolve();
        };
      });
    }
    letLocksRunOut(consumer);
  };

  return {
    add: (name, added) => {
      const { jobs } = queueOf(name);
      for (const each of added) {
        if (jobs.has(each.id)) continue;
        const job = newJob(name, each);
        jobs.set(job.id, job);
        if (each.delayMs !== undefined && each.delayMs > 0) delay(job, each.delayMs);
        else enqueue(job);
      }
    },
    remove: (name, id) => {
      const { jobs, waiting } = queueOf(name);
      const job = jobs.get(id);
      if (job === undefined || job.state === 'active') return;
      job.cancelTimer();
      waiting.delete(job);
      jobs.delete(id);
    },
    progressOf: (name, id) => JSON.parse(queueOf(name).jobs.get(id)?.progress ?? 'null'),
    counts: (name) => {
      const counts = { waiting: 0, active: 0, delayed: 0, failed: 0, completed: 0 };
      for (const { state } of queueOf(name).jobs.values()) counts[state] += 1;
      const { completed: _, ...open } = counts;
      return open;
    },
    jobs: (name) => [...queueOf(name).jobs.values()].map(keptJob),
    consume: (wanted) => {
      const consumer: ConsumerState = { ...wanted, open: true, dead: false, active: 0, renewedAt: null, idle: () => undefined };
      queueOf(wanted.queue).consumers.add(consumer);
      pumpSoon(wanted.queue);
      return { close: (graceMs) => closeWithin(consumer, graceMs) };
    },
    stopRenewing: (process) => consumersOf(process).forEach(letLocksRunOut),
    endConsumers: (process) => {
      for (const consumer of consumersOf(process)) {
        consumer.dead = true;
        letLocksRunOut(consumer);
      }
    },
    wipe: () => {
      for (const queue of queues.values()) {
        for (const job of queue.jobs.values()) job.cancelTimer();
        queue.jobs.clear();
        queue.waiting.clear();
        queue.finished.length = 0;
      }
    },
    goDown: () => {
      downSince ??= clock.monotonic();
    },
    comeBack: () => {
      if (downSince === null) return;
      // The locks are as old as the outage: one that ran out meanwhile is lost before anybody can end its job.
      const lost = clock.monotonic() - downSince >= lockDurationMs;
      downSince = null;
      for (const job of [...active]) {
        const { run } = job;
        if (run === null || run.consumer.renewedAt !== null) continue;
        if (lost) runAgain(job, run);
        else run.ended?.();
      }
      expireLocks();
      for (const name of queues.keys()) pumpSoon(name);
    },
    isDown: () => downSince !== null,
  };
};
