import { expect } from 'vitest';
import type { ActiveJob, JobQueue, JobStep, NewJob, Queues } from '../../actors/ports/queues.ts';

/** A process that consumes one queue, keeps the progress `half way` of each job and then gets no further. */
export interface DoomedProcess {
  /** Resolves once it kept progress of the job. */
  kept(id: string): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
}

/** Queues and the accidents that befall them. */
export interface QueuesHarness {
  readonly queues: Queues;
  readonly lockDurationMs: number;
  /** The longest that an abandoned job may wait after its lock is over, ms. */
  readonly noticedMs: number;
  /** The same queues as another process sees them, whose locks hold for so long at least. */
  another(lockDurationMs?: number): Queues;
  /** Monotonic time as the locks tell it, ms. */
  now(): number;
  /** Lets time pass until `holds`. @throws Error naming `what` after `maxMs` (default 5 s of virtual or 20 s of real time) */
  until(what: string, holds: () => boolean | Promise<boolean>, maxMs?: number): Promise<void>;
  /** Lets so much time pass. Answers for how long at most the machine stood still meanwhile, ms. */
  pass(ms: number): Promise<number>;
  startDoomed(queue: string): Promise<DoomedProcess>;
  wipe(): Promise<void>;
  goDown(): Promise<void>;
  comeBack(): Promise<void>;
  close(): Promise<void>;
}

/** What a test of the suite finds set up: read anew by each test. */
export interface QueueStage {
  readonly world: QueuesHarness;
  /** A queue that no other test uses. */
  readonly queue: JobQueue;
  readonly queueName: string;
  /** The same queue as another process sees it, whose locks hold for so long at least. */
  another(lockDurationMs?: number): JobQueue;
}

export interface Run {
  readonly id: string;
  readonly at: number;
  readonly job: ActiveJob;
}

/** Consumes a queue and remembers. */
export class Recorder {
  readonly runs: Run[] = [];
  readonly #stage: QueueStage;
  readonly #step: (job: ActiveJob) => Promise<JobStep> | JobStep;

  constructor(stage: QueueStage, step: (job: ActiveJob) => Promise<JobStep> | JobStep = () => done) {
    this.#stage = stage;
    this.#step = step;
  }

  readonly run = async (job: ActiveJob): Promise<JobStep> => {
    this.runs.push({ id: job.id, at: this.#stage.world.now(), job });
    return this.#step(job);
  };

  get ids(): string[] {
    return this.runs.map(({ id }) => id);
  }

  /** Waits until so many runs were started, and looks that there were no more. */
  async sees(count: number, maxMs?: number): Promise<void> {
    await this.#stage.world.until(`${count} runs`, () => this.runs.length >= count, maxMs);
    expect(this.runs).toHaveLength(count);
  }
}

export const done: JobStep = { kind: 'done' };

export const job = (id: string, deviation: Partial<NewJob> = {}): NewJob => ({
  id,
  title: `assign 203.0.113.7 → ${id}`,
  data: { id },
  ...deviation,
});

/** A promise that the test settles. */
export const gate = (): { readonly opened: Promise<void>; readonly open: () => void } => {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
};

/** Resolves once the queue has nothing to run any more. */
export const idle = ({ world, queue }: QueueStage, maxMs?: number): Promise<void> =>
  world.until(
    'nothing to run',
    async () => {
      const { waiting, active, delayed } = await queue.counts();
      return waiting + active + delayed === 0;
    },
    maxMs,
  );
