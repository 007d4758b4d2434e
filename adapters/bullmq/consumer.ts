import {
  type BackendFactory,
  DelayedError,
  LockManager,
  type Queue,
  type RedisConnection,
  type RedisQueueBackend,
  Worker,
  type WorkerOptions,
} from 'bullmq';
import { Fenced } from '../../actors/errors.ts';
import type { ActiveJob, Consumer, JobStep } from '../../actors/ports/queues.ts';
import type { Clock, Json } from '../../actors/ports.ts';
import { LONGEST_WAIT_S, SharedBackend } from './backend.ts';
import type { BullJob, JobData } from './job-data.ts';
import type { MarkerWatch } from './markers.ts';

type Time = Pick<Clock, 'now' | 'monotonic'>;

/** Looks for locks to renew only while there are some. */
class JobLocks extends LockManager {
  override start(): void {}

  override trackJob(...job: Parameters<LockManager['trackJob']>): ReturnType<LockManager['trackJob']> {
    const controller = super.trackJob(...job);
    if (!this.isRunning()) super.start();
    return controller;
  }

  override untrackJob(id: string): void {
    super.untrackJob(id);
    if (this.getActiveJobCount() > 0) return;
    clearTimeout(this.lockRenewalTimer);
    delete this.lockRenewalTimer;
  }
}

/** A worker that knows since when its locks hold. BullMQ renews them by itself at half of their time. */
class RenewingWorker extends Worker<JobData, null> {
  /** Token of each run that goes on → monotonic time at which its last successful renewal was sent. */
  readonly renewed = new Map<string, number>();
  #onIdle = (): void => undefined;
  #time: Time;
  #renews = true;

  constructor(name: string, options: WorkerOptions, time: Time, backend: BackendFactory<RedisQueueBackend>) {
    // The handler comes with `start`: it needs the worker itself.
    super(name, async () => null, { ...options, autorun: false }, backend);
    this.#time = time;
  }

  protected override createLockManager(): void {
    const { lockDuration = 0, lockRenewTime = lockDuration / 2 } = this.opts;
    // BullMQ hands its worker over as well; that it fits is declared less strictly there.
    const worker = this as unknown as ConstructorParameters<typeof LockManager>[0];
    this.lockManager = new JobLocks(worker, { lockRenewTime, lockDuration, workerId: this.id });
  }

  start(handle: (job: BullJob, token: string) => Promise<null>): void {
    this.processFn = async (job, token = '') => {
      // BullMQ's own time of the fetch, taken before it was sent.
      const age = Math.max(0, this.#time.now() - (job.processedOn ?? 0));
      this.renewed.set(token, this.#time.monotonic() - age);
      try {
        return await handle(job, token);
      } finally {
        this.renewed.delete(token);
        if (this.renewed.size === 0) this.#onIdle();
      }
    };
    this.run().catch((error: unknown) => this.emit('error', error instanceof Error ? error : new Error(String(error))));
  }

  override async extendJobLocks(jobIds: string[], tokens: string[], duration: number): Promise<string[]> {
    if (!this.#renews) return jobIds;
    // The time of sending, not of the reply: a process that was stopped meanwhile would think its lock younger than it is.
    const sentAt = this.#time.monotonic();
    const lost = new Set(await super.extendJobLocks(jobIds, tokens, duration));
    for (const [index, token] of tokens.entries()) {
      if (!lost.has(jobIds[index] ?? '') && this.renewed.has(token)) this.renewed.set(token, sentAt);
    }
    return [...lost];
  }

  /** Resolves once no job runs here and none has begun within `ms`: what BullMQ still waits for by then is an answer of Redis. */
  async idle(ms: number): Promise<void> {
    do {
      if (this.renewed.size > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
      await new Promise((resolve) => setTimeout(resolve, ms).unref());
    } while (this.renewed.size > 0);
  }

  /** Leaves the jobs that still run to others, whose turn comes when the locks run out; nothing of this worker keeps the process alive. */
  async abandon(): Promise<void> {
    this.#renews = false;
    await this.lockManager.close();
  }
}

export interface ConsumerOptions {
  /** For calls that must not wait. */
  readonly queue: Queue<JobData, null>;
  readonly worker: WorkerOptions & { readonly lockDuration: number };
  /** Its commands wait for Redis. Shared. */
  readonly connection: RedisConnection;
  readonly watch: MarkerWatch;
  readonly time: Time;
  /** Runs a call on the fail-fast connection. @throws Unreachable */
  readonly call: <T>(what: string, run: () => Promise<T>) => Promise<T>;
  readonly onTrouble: (message: string) => void;
}

/** How long Redis has to take the last results while a consumer closes, ms. Without them the jobs run again elsewhere, as they do when it is away. */
const FAREWELL_MS = 1_000;

/** Runs the jobs of a queue until closed. An outage of Redis does not end it, nor does it keep it from closing. */
export const consumeQueue = (
  run: (job: ActiveJob) => Promise<JobStep>,
  { queue, worker: options, connection, watch, time, call, onTrouble }: ConsumerOptions,
): Consumer => {
  const wait = watch.open(queue.name, () => worker.getBackend().moveStalledJobsToWait());
  const worker: RenewingWorker = new RenewingWorker(
    queue.name,
    // The watch looks for stalled jobs of all queues.
    { ...options, skipStalledCheck: true, drainDelay: LONGEST_WAIT_S },
    time,
    (name, opts) => new SharedBackend(connection, name, opts, wait),
  );
  // Without a listener an error event would end the process.
  worker.on('error', (error) => onTrouble(`queue ${queue.name}: ${error.message}`));

  const activeJob = (job: BullJob, id: string, token: string): ActiveJob => {
    const lock = () => ({ renewedAt: worker.renewed.get(token) ?? Number.NEGATIVE_INFINITY, durationMs: options.lockDuration });
    return {
      id,
      data: job.data.input,
      progress: job.data.progress,
      rerun: job.attemptsStarted > job.data.starts + 1,
      queuedAt: job.timestamp,
      starts: job.attemptsStarted,
      deaths: job.stalledCounter - (job.data.stalls ?? 0),
      lock,
      keep: async (progress) => {
        const { renewedAt, durationMs } = lock();
        if (time.monotonic() - renewedAt >= durationMs) throw new Fenced(`job ${id}: its lock ran out`);
        await keep(job, progress);
      },
    };
  };
  const keep = async (job: BullJob, progress: Json): Promise<void> => {
    const kept = await call(`queue ${queue.name}: keep the progress of ${job.id}`, async () => {
      try {
        await queue.getBackend().updateData(job, { ...job.data, progress });
        return true;
      } catch (error) {
        if (error instanceof Error && error.message.startsWith('Missing key')) return false;
        throw error;
      }
    });
    if (!kept) throw new Fenced(`job ${job.id} is gone`);
  };
  worker.start(async (job, token) => {
    const id = job.id ?? '';
    const step = await run(activeJob(job, id, token));
    if (step.kind === 'done') return null;
    // A re-run that comes back without progress has found nothing out: the next run is still one.
    const stays = job.attemptsStarted > job.data.starts + 1 && step.progress === null;
    const starts = stays ? job.data.starts : job.attemptsStarted;
    const data: JobData = { input: job.data.input, progress: step.progress, starts, stalls: job.stalledCounter };
    // One call for both, refused when the lock is not ours any more; unlike a retry it spends no attempt.
    await worker.getBackend().moveToDelayed(id, time.now(), Math.ceil(step.afterMs), token, {
      skipAttempt: true,
      fieldsToUpdate: { data: JSON.stringify(data) },
    });
    throw new DelayedError();
  });

  return {
    close: async (graceMs) => {
      const closed = worker.close().then(() => true);
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<false>((resolve) => {
        timer = setTimeout(() => resolve(false), graceMs);
      });
      const idle = worker.idle(FAREWELL_MS).then(() => false);
      const ended = await Promise.race([closed, late, idle]);
      clearTimeout(timer);
      watch.leave(wait);
      if (!ended) await worker.abandon();
    },
  };
};
