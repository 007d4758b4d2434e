import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Clock } from '../../actors/ports/records.ts';

/** What BullMQ takes for the end of a blocking read that was interrupted: it then takes no job. */
const INTERRUPTED = 'Connection is closed.';

/** The wait of one worker for jobs of its queue. A marker that comes while nobody waits is kept for the next wait. */
export class MarkerWait {
  readonly queue: string;
  /** Moves jobs of the queue whose locks ran out back to those that wait. */
  readonly recover: () => Promise<unknown>;
  #kept: number | null = null;
  #waiting: PromiseWithResolvers<number | null> | null = null;

  constructor(queue: string, recover: () => Promise<unknown>) {
    this.queue = queue;
    this.recover = recover;
  }

  /** Resolves with the score of a marker, the time at which there is a job (0: now), or null after `ms`. One wait at a time. @throws Error when interrupted */
  async next(ms: number): Promise<number | null> {
    if (this.#kept !== null) {
      const score = this.#kept;
      this.#kept = null;
      return score;
    }
    const waiting = Promise.withResolvers<number | null>();
    this.#waiting = waiting;
    const timer = setTimeout(() => waiting.resolve(null), ms);
    try {
      return await waiting.promise;
    } finally {
      clearTimeout(timer);
      if (this.#waiting === waiting) this.#waiting = null;
    }
  }

  tell(score: number): void {
    if (this.#waiting === null) this.#kept = Math.min(score, this.#kept ?? score);
    this.#waiting?.resolve(score);
    // What is told before the wait has gone on is for the next one: this one may have been told of a later job.
    this.#waiting = null;
  }

  interrupt(): void {
    this.#waiting?.reject(new Error(INTERRUPTED));
  }
}

export interface MarkerWatchOptions {
  /** Blocked on by the watch alone; its commands wait for the server. */
  readonly connect: () => Redis;
  readonly prefix: string;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  /** How often all queues are looked through for what no marker tells of, ms. */
  readonly intervalMs: number;
  readonly onTrouble: (message: string) => void;
}

/** Redis before 7.0.8 takes less than 2 ms for no limit at all. */
const SHORTEST_BLOCK_S = 0.01;

/** After an error of the server, ms. */
const RETRY_MS = 1_000;

/** KEYS prefix. ARGV now, then the queues. Each queue that has jobs to take, or that runs some: its name, 1 or 0 for either. */
const LOOK = `
local found = {}
for i = 2, #ARGV do
  local queue = KEYS[1] .. ':' .. ARGV[i] .. ':'
  local first = redis.call('ZRANGE', queue .. 'delayed', 0, 0, 'WITHSCORES')[2]
  local isDue = first and math.floor(tonumber(first) / 0x1000) <= tonumber(ARGV[1])
  local waits = isDue or redis.call('LLEN', queue .. 'wait') > 0 or redis.call('ZCARD', queue .. 'prioritized') > 0
  local runs = redis.call('LLEN', queue .. 'active') > 0
  if waits or runs then
    found[#found + 1] = ARGV[i]
    found[#found + 1] = waits and 1 or 0
    found[#found + 1] = runs and 1 or 0
  end
end
return found
`;

/** Tells the workers of all queues when there are jobs, from one connection: BullMQ would block on one for each.
 *
 *  BullMQ adds a marker to a queue that gets a job, and each marker reaches one process. All queues are looked through every `intervalMs`, for jobs whose
 *  marker went to a process that has ended, and for stalled ones. */
export class MarkerWatch {
  readonly #options: MarkerWatchOptions;
  readonly #waits = new Set<MarkerWait>();
  /** The queues that the blocking read of now has asked for. */
  #watched: ReadonlySet<string> = new Set();
  #redis: Redis | null = null;
  #isRunning = false;
  #lookAt = 0;

  constructor(options: MarkerWatchOptions) {
    this.#options = options;
  }

  open(...[queue, recover]: ConstructorParameters<typeof MarkerWait>): MarkerWait {
    const wait = new MarkerWait(queue, recover);
    this.#waits.add(wait);
    this.#redis ??= this.#connect();
    if (!this.#isRunning) void this.#run(this.#redis);
    return wait;
  }

  #connect(): Redis {
    const redis = this.#options.connect();
    // No worker hears of jobs while it is silent. That a read is repeated does no harm, unlike with what workers send.
    redis.options.socketTimeout = 2 * this.#options.intervalMs;
    return redis;
  }

  leave(wait: MarkerWait): void {
    this.#waits.delete(wait);
  }

  /** To be called when this process has added a job: the blocking read under way does not cover a queue that was opened after it began, so its worker is told here. */
  added(queue: string): void {
    if (!this.#watched.has(queue)) this.#tell(queue, 0);
  }

  /** The connection, to end it, once nothing waits any more. */
  get connection(): Redis | null {
    return this.#redis;
  }

  #of(queue: string): readonly MarkerWait[] {
    return [...this.#waits].filter((wait) => wait.queue === queue);
  }

  #tell(queue: string, score: number): void {
    for (const wait of this.#of(queue)) wait.tell(score);
  }

  async #run(redis: Redis): Promise<void> {
    const { clock, intervalMs } = this.#options;
    this.#isRunning = true;
    while (this.#waits.size > 0) {
      try {
        if (clock.monotonic() >= this.#lookAt) {
          this.#lookAt = clock.monotonic() + intervalMs;
          await this.#look(redis);
        }
        await this.#pop(redis, this.#lookAt - clock.monotonic());
      } catch (error) {
        this.#trouble(error);
        await sleep(RETRY_MS, undefined, { ref: false });
      } finally {
        this.#watched = new Set();
      }
    }
    this.#isRunning = false;
  }

  #trouble(error: unknown): void {
    // A connection that is ended while it waits says so, too.
    if (this.#waits.size > 0) this.#options.onTrouble(`waiting for jobs: ${error instanceof Error ? error.message : String(error)}`);
  }

  async #pop(redis: Redis, ms: number): Promise<void> {
    const head = `${this.#options.prefix}:`;
    const tail = ':marker';
    this.#watched = new Set([...this.#waits].map(({ queue }) => queue));
    const keys = [...this.#watched].map((queue) => head + queue + tail);
    const popped = await redis.bzpopmin(keys, Math.max(SHORTEST_BLOCK_S, ms / 1_000));
    if (popped === null) return;
    const [key, , score] = popped;
    const queue = key.slice(head.length, -tail.length);
    this.#tell(queue, Number(score));
    // The first key that has a marker is answered: a queue that always has one would hide those after it.
    for (const wait of this.#of(queue)) {
      this.#waits.delete(wait);
      this.#waits.add(wait);
    }
  }

  async #look(redis: Redis): Promise<void> {
    const { prefix, clock } = this.#options;
    const queues = [...new Set([...this.#waits].map(({ queue }) => queue))];
    const found = (await redis.eval(LOOK, 1, prefix, clock.now(), ...queues)) as (string | number)[];
    for (let at = 0; at < found.length; at += 3) {
      const queue = String(found[at]);
      if (found[at + 1] === 1) this.#tell(queue, 0);
      if (found[at + 2] === 1)
        this.#of(queue)[0]
          ?.recover()
          .catch((error: unknown) => this.#trouble(error));
    }
  }
}
