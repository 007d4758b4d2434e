import { setTimeout as sleep } from 'node:timers/promises';
import { type QueueBaseOptions, QueueKeys, type RedisConnection, RedisQueueBackend } from 'bullmq';
import { sanitized } from './foreign.ts';
import type { MarkerWait } from './markers.ts';

/** How long a worker waits before it polls by itself, s: normally it is notified earlier by its markers and the watch. */
export const LONGEST_WAIT_S = 3_600;

/** How long a worker waits after a failed fetch, ms. */
const RETRY_MS = 1_000;

/** Commands whose reply may contain a job to run. */
const HANDING_OUT: ReadonlySet<string> = new Set(['moveToActive', 'moveToDelayed', 'moveToFinished']);

/** BullMQ's calls for one queue over a connection that all queues share. A worker waits on `wait` instead of a connection of its own. */
export class SharedBackend extends RedisQueueBackend {
  readonly #wait: MarkerWait | null;

  constructor(connection: RedisConnection, name: string, options: QueueBaseOptions & { prefix?: string }, wait: MarkerWait | null = null) {
    const keys = new QueueKeys(options.prefix);
    super(connection, name, keys.getKeys(name), (type) => keys.toKey(name, type), options, undefined, false);
    this.#wait = wait;
  }

  override get maximumBlockTimeout(): number {
    return LONGEST_WAIT_S;
  }

  override execCommand(...sent: Parameters<RedisQueueBackend['execCommand']>): unknown {
    const answer = super.execCommand(...sent);
    return HANDING_OUT.has(sent[1]) ? answer.then(sanitized) : answer;
  }

  /** BullMQ would retry immediately, thousands of times a second while Redis accepts no writes. */
  override async moveToActive(...fetch: Parameters<RedisQueueBackend['moveToActive']>): ReturnType<RedisQueueBackend['moveToActive']> {
    try {
      return await super.moveToActive(...fetch);
    } catch (error) {
      await sleep(RETRY_MS, undefined, { ref: false });
      throw error;
    }
  }

  override async waitForJob(seconds: number): Promise<{ member: string; score: number } | null> {
    const score = (await this.#wait?.next(seconds * 1_000)) ?? null;
    return score === null ? null : { member: '', score };
  }

  override async disconnectBlocking(): Promise<void> {
    this.#wait?.interrupt();
  }
}
