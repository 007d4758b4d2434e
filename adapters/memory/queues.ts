import { Unreachable } from '../../actors/ports/errors.ts';
import type { JobQueue, Queues } from '../../actors/ports/queues.ts';
import type { Clock } from '../../actors/ports/records.ts';
import { JobServer } from './job-server.ts';
import { assertJobId, type JobProcess, type KeptJob } from './kept-jobs.ts';

/** Durable queues in memory, with the failures of real ones. */
export interface MemoryQueues extends Queues {
  /** The consumers of this process die: their jobs are re-run once the locks expire. Results of their handlers are ignored. */
  crashConsumers(): void;
  /** This process dies with its consumers: its calls never settle. Returns the handle of its successor. */
  reopen(): MemoryQueues;
  /** Another process on the same queues. */
  connect(): MemoryQueues;
  /** This process is suspended, as by SIGSTOP: its locks expire and its jobs run again elsewhere, while its own handlers continue and their results are ignored. */
  stopRenewing(): void;
  /** Everything is gone, as after FLUSHALL; running jobs continue, and their results are ignored. */
  wipe(): void;
  /** From now on every call throws `Unreachable`; no job starts, and none ends before its result can be stored. */
  goDown(): void;
  comeBack(): void;
  /** Every kept job of a queue, in order of creation. */
  jobs(queue: string): readonly KeptJob[];
}

export interface MemoryQueuesOptions {
  /** How long a lock holds after its last renewal, ms. Default 5000. */
  readonly lockDurationMs?: number;
  /** How long a finished job is kept, ms. Default one hour. */
  readonly keepMs?: number;
  /** Maximum number of finished jobs kept per queue. Default 20000. */
  readonly keepAtMost?: number;
  /** Equally loaded consumers take turns; otherwise the one that was opened first takes the next job. */
  readonly inTurn?: boolean;
  /** Called for a job whose handler threw, which is a bug. */
  readonly failed?: (queue: string, title: string, error: Error) => void;
}

/** Queues whose delays and locks run by `clock`; give them the clock of the world, not of one process. */
export const memoryQueues = (clock: Clock, options: MemoryQueuesOptions = {}): MemoryQueues =>
  handleOn(new JobServer(clock, { lockDurationMs: 5_000, keepMs: 3_600_000, keepAtMost: 20_000, ...options }));

const never = <T>(): Promise<T> => new Promise<T>(() => undefined);

const handleOn = (server: JobServer): MemoryQueues => {
  const process: JobProcess = { dead: false };
  const call = async <T>(run: () => T): Promise<T> => {
    await Promise.resolve();
    if (process.dead) return never();
    if (server.isDown()) throw new Unreachable('memory queues: switched off');
    const result = run();
    // The reply comes later than the effect; a process that dies between them never sees it.
    await Promise.resolve();
    return process.dead ? never() : result;
  };
  const queue = (name: string): JobQueue => ({
    add: async (jobs) => {
      for (const { id } of jobs) assertJobId(id);
      await call(() => server.shelf(name).add(jobs));
    },
    remove: (id) => call(() => server.shelf(name).remove(id)),
    has: (id) => call(() => server.shelf(name).get(id) !== null),
    standOf: (id) => call(() => server.shelf(name).standOf(id)),
    progressOf: (id) => call(() => JSON.parse(server.shelf(name).get(id)?.progress ?? 'null')),
    counts: () => call(() => server.shelf(name).counts()),
    consume: (run, concurrency) => server.consume({ queue: name, process, run, concurrency }),
  });
  return {
    queue,
    names: () => call(() => server.names()),
    drop: (name) => call(() => server.drop(name)),
    leave: async (name) => server.leave(name),
    close: async () => server.stopRenewing(process),
    crashConsumers: () => server.endConsumers(process),
    stopRenewing: () => server.stopRenewing(process),
    reopen: () => {
      process.dead = true;
      server.endConsumers(process);
      return handleOn(server);
    },
    connect: () => handleOn(server),
    wipe: () => server.wipe(),
    goDown: () => server.goDown(),
    comeBack: () => server.comeBack(),
    jobs: (name) => server.shelf(name).jobs(),
  };
};
