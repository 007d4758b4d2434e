import {
  type BackendFactory,
  DelayedError,
  type JobJson,
  type Queue,
  type RedisConnection,
  type RedisQueueBackend,
  Worker,
  type WorkerOptions,
} from 'bullmq';
import { Fenced } from '../../actors/ports/errors.ts';
import type { ActiveJob, Consumer, JobStep } from '../../actors/ports/queues.ts';
import type { Clock, Json } from '../../actors/ports/records.ts';
import { LONGEST_WAIT_S, SharedBackend } from './backend.ts';
import { assertOwn, type BullJob, type JobData } from './job-data.ts';
import type { MarkerWatch } from './markers.ts';
import { RunLocks } from './run-locks.ts';

type Time = Pick<Clock, 'now' | 'monotonic'>;

/** A worker that knows when its locks were last renewed. */
class RenewingWorker extends Worker<JobData, null> {
  readonly locks: RunLocks;
  #onIdle = (): void => undefined;

  constructor(name: string, options: ConsumerOptions['worker'], clock: Time, backend: BackendFactory<RedisQueueBackend>) {
    // The handler is set by `start`: it needs the worker itself.
    super(name, async () => null, { ...options, autorun: false, skipLockRenewal: true }, backend);
    this.locks = new RunLocks({
      extend: (jobs, tokens) => this.extendJobLocks(jobs, tokens, options.lockDuration),
      durationMs: options.lockDuration,
      clock,
      onTrouble: (error) => this.emit('error', error),
    });
  }

  start(handle: (job: BullJob, token: string) => Promise<null>): void {
    this.processFn = async (job, token = '') => {
      try {
        return await handle(job, token);
      } finally {
        this.locks.end(token);
        if (this.locks.size === 0) this.#onIdle();
      }
    };
    this.run().catch((error: unknown) => this.emit('error', error instanceof Error ? error : new Error(String(error))));
  }

  /** A job with unreadable data fails as a foreign one: with an error here it would be fetched again and again. */
  protected override createJob(job: JobJson, id: string): BullJob {
    try {
      return super.createJob(job, id);
    } catch {
      return super.createJob({ ...job, data: '{}' }, id);
    }
  }

  /** Locks begin with the fetch: BullMQ runs a fetched job only once it has fetched as many as may run concurrently. */
  protected override async nextJobFromJobData(...fetched: [jobData?: JobJson, jobId?: string, token?: string]): Promise<BullJob> {
    const job = await super.nextJobFromJobData(...fetched);
    // BullMQ takes `processedOn` before it sends the fetch.
    if (job?.id !== undefined && job.token !== undefined) this.locks.begin(job.token, job.id, job.processedOn ?? 0);
    return job;
  }

  /** Resolves once no job runs here and none has started within `ms`: BullMQ then only waits for a reply of Redis. */
  async idle(ms: number): Promise<void> {
    do {
      if (this.locks.size > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
      await new Promise((resolve) => setTimeout(resolve, ms).unref());
    } while (this.locks.size > 0);
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

/** How long Redis may take to accept the last results while a consumer closes, ms. Without them the jobs run again elsewhere, as in an outage. */
const FAREWELL_MS = 1_000;

/** Runs the jobs of a queue until closed. It survives an outage of Redis, and can be closed during one. */
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

  // People find it in the job dashboard.
  worker.on('failed', (job, error) => onTrouble(`queue ${queue.name}: job ${job?.id} was not run: ${error.message}`));

  const activeJob = (job: BullJob, id: string, token: string): ActiveJob => {
    const lock = () => ({ renewedAt: worker.locks.renewedAt(token), durationMs: options.lockDuration });
    return {
      id,
      data: job.data.input,
      progress: job.data.progress,
      rerun: job.attemptsStarted > job.data.starts + 1,
      queuedAt: job.timestamp,
      starts: job.attemptsStarted,
      deaths: job.stalledCounter - (job.data.stalls ?? 0),
      calls: job.data.calls ?? 0,
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
    assertOwn(job);
    const id = job.id ?? '';
    const step = await run(activeJob(job, id, token));
    if (step.kind === 'done') return null;
    // A re-run that returned without progress has settled nothing: the next run is still a re-run.
    const stays = job.attemptsStarted > job.data.starts + 1 && step.progress === null;
    const starts = stays ? job.data.starts : job.attemptsStarted;
    const { progress, calls = 0 } = step;
    const data: JobData = { input: job.data.input, progress, starts, stalls: job.stalledCounter, ...(calls > 0 && { calls }) };
    // One call for both, refused when the lock is no longer ours; unlike a retry it uses no attempt.
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
      // Other processes run the jobs still running here once their locks expire.
      if (!ended) worker.locks.abandon();
    },
  };
};
