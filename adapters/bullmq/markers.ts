import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Clock } from '../../actors/ports/records.ts';

/** BullMQ recognizes an interrupted blocking read from this message: it then fetches no job. */
const INTERRUPTED = 'Connection is closed.';

/** The wait of one worker for jobs of its queue. A marker received between waits is kept for the next one. */
export class MarkerWait {
  readonly queue: string;
  /** Moves stalled jobs, i.e. those with expired locks, back to the waiting ones. */
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
    // A marker that arrives before the waiter resumes belongs to the next wait: this one may have been resolved with a later time.
    this.#waiting = null;
  }

  interrupt(): void {
    this.#waiting?.reject(new Error(INTERRUPTED));
  }
}

export interface MarkerWatchOptions {
  /** Creates the connection that only the watch blocks on; its commands wait for the server. */
  readonly connect: () => Redis;
  readonly prefix: string;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  /** How often all queues are checked for jobs without a marker, ms. */
  readonly intervalMs: number;
  readonly onTrouble: (message: string) => void;
}

/** Redis before 7.0.8 treats less than 2 ms as no timeout. */
const SHORTEST_BLOCK_S = 0.01;

/** Pause after a server error, ms. */
const RETRY_MS = 1_000;

/** KEYS prefix. ARGV now, then the queues. Returns for each queue with available or active jobs: its name, then 1 or 0 for either. */
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

/** Notifies the workers of all queues of new jobs through one connection: BullMQ would block on one connection per worker.
 *
 *  BullMQ adds a marker to a queue that gets a job, and each marker reaches one process. All queues are checked every `intervalMs` for jobs whose
 *  marker went to a process that has ended, and for stalled ones. */
export class MarkerWatch {
  readonly #options: MarkerWatchOptions;
  readonly #waits = new Set<MarkerWait>();
  /** The queues covered by the current blocking read. */
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
    // No worker is notified while it is silent. Unlike the commands of workers, this read can be repeated safely.
    redis.options.socketTimeout = 2 * this.#options.intervalMs;
    return redis;
  }

  leave(wait: MarkerWait): void {
    this.#waits.delete(wait);
  }

  /** Call it when this process has added a job: the current blocking read does not cover a queue opened after it began, so its worker is notified here. */
  added(queue: string): void {
    if (!this.#watched.has(queue)) this.#tell(queue, 0);
  }

  /** The connection, to close it once there are no more waits. */
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
    // Closing the connection interrupts the read with an error, too.
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
    // Redis returns the first key that has a marker: rotate, so that a busy queue does not starve those after it.
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
