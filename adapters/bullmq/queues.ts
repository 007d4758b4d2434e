import { type JobsOptions, Queue, RedisConnection } from 'bullmq';
import type { Redis } from 'ioredis';
import { Unreachable } from '../../actors/ports/errors.ts';
import type { Consumer, JobQueue, NewJob, Queues } from '../../actors/ports/queues.ts';
import type { Clock, StoreFault } from '../../actors/ports/records.ts';
import { SharedBackend } from './backend.ts';
import { endForGood } from './connections.ts';
import { consumeQueue } from './consumer.ts';
import { isForeign, REMOVE_FOREIGN, typeOf } from './foreign.ts';
import { assertJobId, type JobData } from './job-data.ts';
import { MarkerWatch } from './markers.ts';

/** One connection for calls that fail fast: `call` throws `Unreachable` when there was no reply in time. */
export interface CallLink {
  readonly redis: Redis;
  call<T>(what: string, run: () => Promise<T>): Promise<T>;
}

export interface BullQueuesOptions {
  /** May be shared. Not closed here. */
  readonly link: CallLink;
  /** A new connection whose commands wait for the server (`maxRetriesPerRequest: null`). Called at the first `consume`: one connection to work, one to wait for jobs. */
  readonly connectPatient: () => Redis;
  /** Prefix of every key, a hash tag, so that all keys share one cluster slot. */
  readonly prefix: string;
  /** Without this key the records count as lost, and the leader adds all jobs again. Absent where there are no records. */
  readonly recordsKey?: string;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  /** How long a lock holds after its last renewal, ms. Default 5000: a job of a killed process runs again after about that time. */
  readonly lockDurationMs?: number;
  /** How often to look for jobs without a lock, ms. Default 2000. */
  readonly stalledIntervalMs?: number;
  /** Maximum number of finished jobs kept per queue; below it, they are kept for at least an hour. Default 20000. */
  readonly keepCompleted?: number;
  /** Called for problems with Redis, with a human-readable text; at most once a minute for the same text. */
  readonly onTrouble?: (message: string) => void;
}

/** Durable queues over BullMQ. Connections: the link, plus two more shared by all consumers. */
export interface BullQueues extends Queues {
  /** The queue itself, for the job dashboard. */
  bull(name: string): Queue<JobData, null>;
  /** Foreign values recently found under the keys of the queues. */
  faults(): readonly StoreFault[];
}

const HOUR_S = 3_600;
const WEEK_S = 7 * 24 * HOUR_S;

/** Minimum pause after a sweep for foreign values, ms: one that cannot be removed causes the next error immediately. */
const SWEEP_EVERY_MS = 5_000;

/** Number of keys scanned per call. */
const SCANNED_AT_ONCE = 1_000;

/** Suffix of a key that every queue has. */
const META = ':meta';

const SHOWN = 5;
const shown = (keys: readonly string[]): string =>
  keys.slice(0, SHOWN).join(', ') + (keys.length > SHOWN ? ` and ${keys.length - SHOWN} more` : '');

/** Escapes glob characters. */
const literally = (text: string): string => text.replaceAll(/[\\*?[\]]/g, String.raw`\$&`);

export const bullQueues = (options: BullQueuesOptions): BullQueues => {
  const {
    prefix,
    recordsKey = `${prefix}:none`,
    clock,
    lockDurationMs = 5_000,
    stalledIntervalMs = 2_000,
    keepCompleted = 20_000,
  } = options;
  const tell = sparing(options.onTrouble ?? (() => undefined), clock);
  const onTrouble = (message: string): void => {
    tell(message);
    if (isForeign({ message })) void sweep();
  };
  const link: CallLink = {
    redis: options.link.redis,
    call: async (what, run) => {
      try {
        return await options.link.call(what, run);
      } catch (error) {
        if (!(error instanceof Error) || !isForeign(error)) throw error;
        void sweep();
        throw new Unreachable(error.message);
      }
    },
  };
  /** BullMQ queries the version once and stays unusable when that fails; the record store has already checked the server. */
  const shared = (redis: Redis): RedisConnection => {
    const connection = new RedisConnection(redis, { shared: true, blocking: false, skipVersionCheck: true });
    connection.on('error', (error: Error) => onTrouble(error.message));
    return connection;
  };
  const calls = shared(link.redis);
  let patient: { readonly redis: Redis; readonly connection: RedisConnection } | null = null;
  const watch = new MarkerWatch({
    connect: options.connectPatient,
    prefix,
    clock,
    intervalMs: stalledIntervalMs,
    onTrouble,
  });
  const queues = new Map<string, Queue<JobData, null>>();
  const consumers = new Set<Consumer>();

  const bull = (name: string): Queue<JobData, null> => {
    const known = queues.get(name);
    if (known !== undefined) return known;
    const queue = new Queue<JobData, null>(
      name,
      { connection: link.redis, prefix, streams: { events: { maxLen: 1_000 } } },
      (_, opts) => new SharedBackend(calls, name, opts),
    );
    queue.on('error', (error) => onTrouble(`queue ${name}: ${error.message}`));
    queues.set(name, queue);
    return queue;
  };
  const keep = { removeOnComplete: { age: HOUR_S, count: keepCompleted }, removeOnFail: { age: WEEK_S, count: keepCompleted } };
  const jobOptions = ({ id, delayMs = 0, priority }: NewJob): JobsOptions => ({
    jobId: id,
    delay: Math.ceil(delayMs),
    ...(priority === undefined ? {} : { priority }),
    // A job has one attempt; only a run that died is repeated.
    attempts: 1,
    ...keep,
  });
  const consume = (name: string, ...[run, concurrency]: Parameters<JobQueue['consume']>): Consumer => {
    if (patient === null) {
      const redis = options.connectPatient();
      patient = { redis, connection: shared(redis) };
    }
    const { redis, connection } = patient;
    const consumer = consumeQueue(run, {
      queue: bull(name),
      connection,
      watch,
      worker: {
        connection: redis,
        prefix,
        concurrency,
        // Foreign jobs have no such options of their own.
        ...keep,
        lockDuration: lockDurationMs,
        stalledInterval: stalledIntervalMs,
        // A job needs an outcome however often its processes died: the runner receives the number of deaths, and may give it up.
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

  /** Also undefined for an unreadable job, which cannot be run. */
  const jobIn = (name: string, id: string) =>
    bull(name)
      .getJob(id)
      .catch((error: unknown) => {
        if (error instanceof SyntaxError || error instanceof TypeError) return undefined;
        throw error;
      });

  /** All matching keys under the prefix, in batches. */
  async function* keysLike(pattern: string): AsyncGenerator<readonly string[]> {
    const match = `${literally(prefix)}:${pattern}`;
    for (let cursor: string | null = '0'; cursor !== null; ) {
      const from: string = cursor;
      const [next, keys] = await link.call('look for queues', () => link.redis.scan(from, 'MATCH', match, 'COUNT', SCANNED_AT_ONCE));
      yield keys;
      cursor = next === '0' ? null : next;
    }
  }
  const found = { at: Number.NEGATIVE_INFINITY, keys: [] as readonly string[], isSought: false };
  /** Removes keys of another type than BullMQ's: they hold no jobs, and none can be added. */
  const sweep = async (): Promise<void> => {
    if (found.isSought) return;
    found.isSought = true;
    try {
      for await (const keys of keysLike('*')) {
        const typed = keys.flatMap((key) => {
          const [queue = '', ...rest] = key.slice(prefix.length + 1).split(':');
          const type = queues.has(queue) ? typeOf(rest.join(':')) : null;
          return type === null ? [] : [[key, type] as const];
        });
        const all = [recordsKey, ...typed.map(([key]) => key), ...typed.map(([, type]) => type)];
        const removed = await options.link.call('remove what is nobody’s', () => link.redis.eval(REMOVE_FOREIGN, typed.length + 1, ...all));
        if ((removed as string[]).length === 0) continue;
        Object.assign(found, { at: clock.monotonic(), keys: removed });
        tell(`what others had written was removed, and all jobs are asked for anew: ${shown(found.keys)}`);
      }
    } catch (error) {
      tell(error instanceof Error ? error.message : String(error));
    }
    setTimeout(() => (found.isSought = false), SWEEP_EVERY_MS).unref();
  };
  const leave = async (name: string): Promise<void> => {
    const queue = queues.get(name);
    queues.delete(name);
    await queue?.close();
  };

  return {
    bull,
    faults: () =>
      clock.monotonic() - found.at < HOUR_S * 1_000
        ? [
            {
              reason: 'ForeignValues',
              isFatal: false,
              message: `Redis holds what others write under the keys of the job queues; it was removed, and is to be ended: ${shown(found.keys)}`,
            },
          ]
        : [],
    queue: (name) => ({
      add: async (jobs) => {
        for (const { id } of jobs) assertJobId(id);
        const queue = bull(name);
        await link.call(`queue ${name}: add ${jobs.map(({ id }) => id).join(', ')}`, () =>
          Promise.all(jobs.map((job) => queue.add(job.title, { input: job.data, progress: null, starts: 0 }, jobOptions(job)))),
        );
        watch.added(name);
      },
      remove: async (id) => {
        await link.call(`queue ${name}: remove ${id}`, () => bull(name).remove(id));
      },
      has: async (id) => (await link.call(`queue ${name}: look for ${id}`, () => jobIn(name, id))) !== undefined,
      standOf: (id) =>
        link.call(`queue ${name}: look at ${id}`, async () => {
          const job = await jobIn(name, id);
          if (job === undefined || job.finishedOn !== undefined) return null;
          // A job that is in no list never runs.
          const state = await job.getState();
          return state === 'unknown' ? null : { isRunning: state === 'active', starts: job.attemptsStarted };
        }),
      progressOf: async (id) => {
        const job = await link.call(`queue ${name}: read ${id}`, () => jobIn(name, id));
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
    names: async () => {
      const found = new Set<string>();
      for await (const keys of keysLike(`*${META}`)) for (const key of keys) found.add(key.slice(prefix.length + 1, -META.length));
      return [...found].sort();
    },
    drop: async (name) => {
      // Not through BullMQ, which pauses the queue first, and leaves it paused when interrupted.
      for await (const keys of keysLike(`${literally(name)}:*`))
        if (keys.length > 0) await link.call(`queue ${name}: delete`, () => link.redis.unlink(...keys));
      await leave(name);
    },
    leave,
    close: async () => {
      await Promise.all([...consumers].map((consumer) => consumer.close(0)));
      await Promise.all([...queues.values()].map((queue) => queue.close()));
      for (const redis of [patient?.redis, watch.connection]) if (redis) endForGood(redis);
    },
  };
};

const REPEAT_AFTER_MS = 60_000;

/** Suppresses repeated messages: an outage causes the same message with every connection attempt. */
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
