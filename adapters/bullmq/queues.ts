import { type JobsOptions, Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Consumer, JobQueue, NewJob, Queues } from '../../actors/ports/queues.ts';
import type { Clock } from '../../actors/ports.ts';
import { endForGood } from './connections.ts';
import { consumeQueue } from './consumer.ts';
import { assertJobId, type JobData } from './job-data.ts';

/** One connection for calls that fail fast: `call` throws `Unreachable` when there was no answer in time. */
export interface CallLink {
  readonly redis: Redis;
  call<T>(what: string, run: () => Promise<T>): Promise<T>;
}

export interface BullQueuesOptions {
  /** May be shared with others. Left open. */
  readonly link: CallLink;
  /** A new connection whose commands wait for the server (`maxRetriesPerRequest: null`). Asked for once, at the first `consume`. */
  readonly connectPatient: () => Redis;
  /** In front of every key, in braces, so that all keys share one slot of a cluster. */
  readonly prefix: string;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  /** How long a lock holds after its last renewal. Default 5000: a job of a killed process runs again about that much later. */
  readonly lockDurationMs?: number;
  /** How often jobs without a lock are looked for. Default 2000. */
  readonly stalledIntervalMs?: number;
  /** How many finished jobs of a queue are kept, for an hour at least while there are fewer. Default 20000. */
  readonly keepCompleted?: number;
  /** Told of trouble with Redis, as text for people; of the same trouble once a minute at most. */
  readonly onTrouble?: (message: string) => void;
}

/** Durable queues over BullMQ. Connections: the link, and with consumers one patient one for them all and a blocking one for each. */
export interface BullQueues extends Queues {
  /** The queue itself, for the job dashboard. */
  bull(name: string): Queue<JobData, null>;
}

const HOUR_S = 3_600;
const WEEK_S = 7 * 24 * HOUR_S;

export const bullQueues = (options: BullQueuesOptions): BullQueues => {
  const { link, prefix, clock, lockDurationMs = 5_000, stalledIntervalMs = 2_000, keepCompleted = 20_000 } = options;
  const onTrouble = sparing(options.onTrouble ?? (() => undefined), clock);
  let patient: Redis | null = null;
  const queues = new Map<string, Queue<JobData, null>>();
  const consumers = new Set<Consumer>();

  const bull = (name: string): Queue<JobData, null> => {
    const known = queues.get(name);
    if (known !== undefined) return known;
    // BullMQ asks for the version once and is useless for ever when that fails; the record store has checked the server already.
    const queue = new Queue<JobData, null>(name, {
      connection: link.redis,
      prefix,
      skipVersionCheck: true,
      streams: { events: { maxLen: 1_000 } },
    });
    queue.on('error', (error) => onTrouble(`queue ${name}: ${error.message}`));
    queues.set(name, queue);
    return queue;
  };
  const jobOptions = ({ id, delayMs = 0, priority }: NewJob): JobsOptions => ({
    jobId: id,
    delay: Math.ceil(delayMs),
    ...(priority === undefined ? {} : { priority }),
    // A job is one try; only a run that died is repeated.
    attempts: 1,
    removeOnComplete: { age: HOUR_S, count: keepCompleted },
    removeOnFail: { age: WEEK_S, count: keepCompleted },
  });
  const consume = (name: string, ...[run, concurrency]: Parameters<JobQueue['consume']>): Consumer => {
    patient ??= options.connectPatient();
    const consumer = consumeQueue(run, {
      queue: bull(name),
      connection: patient,
      worker: {
        prefix,
        concurrency,
        lockDuration: lockDurationMs,
        stalledInterval: stalledIntervalMs,
        // However often its processes died, the job is still owed.
        maxStalledCount: Number.MAX_SAFE_INTEGER,
        runRetryDelay: 1_000,
      },
      time: clock,
      call: link.call,
      onTrouble,
    });
    consumers.add(consumer);
    return {
      close: async (graceMs) => {
        await consumer.close(graceMs);
        consumers.delete(consumer);
      },
    };
  };

  return {
    bull,
    queue: (name) => ({
      add: async (jobs) => {
        for (const { id } of jobs) assertJobId(id);
        const queue = bull(name);
        await link.call(`queue ${name}: add ${jobs.map(({ id }) => id).join(', ')}`, () =>
          Promise.all(jobs.map((job) => queue.add(job.title, { input: job.data, progress: null, starts: 0 }, jobOptions(job)))),
        );
      },
      remove: async (id) => {
        await link.call(`queue ${name}: remove ${id}`, () => bull(name).remove(id));
      },
      has: async (id) => (await link.call(`queue ${name}: look for ${id}`, () => bull(name).getJob(id))) !== undefined,
      standOf: (id) =>
        link.call(`queue ${name}: look at ${id}`, async () => {
          const job = await bull(name).getJob(id);
          if (job === undefined || job.finishedOn !== undefined) return null;
          return { isRunning: await job.isActive(), starts: job.attemptsStarted };
        }),
      progressOf: async (id) => {
        const job = await link.call(`queue ${name}: read ${id}`, () => bull(name).getJob(id));
        return job?.data.progress ?? null;
      },
      counts: async () => {
        const counts = await link.call(`queue ${name}: count`, () =>
          bull(name).getJobCounts('wait', 'prioritized', 'active', 'delayed', 'failed'),
        );
        const { wait = 0, prioritized = 0, active = 0, delayed = 0, failed = 0 } = counts;
        return { waiting: wait + prioritized, active, delayed, failed };
      },
      consume: (run, concurrency) => consume(name, run, concurrency),
    }),
    close: async () => {
      await Promise.all([...consumers].map((consumer) => consumer.close(0)));
      await Promise.all([...queues.values()].map((queue) => queue.close()));
      if (patient !== null) endForGood(patient);
    },
  };
};

const REPEAT_AFTER_MS = 60_000;

/** An outage brings the same message with every try to connect. */
const sparing = (tell: (message: string) => void, clock: Pick<Clock, 'monotonic'>): ((message: string) => void) => {
  const toldAt = new Map<string, number>();
  return (message) => {
    const now = clock.monotonic();
    for (const [told, at] of toldAt) if (now - at >= REPEAT_AFTER_MS) toldAt.delete(told);
    if (toldAt.has(message)) return;
    toldAt.set(message, now);
    tell(message);
  };
};
