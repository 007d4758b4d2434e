import type { Clock } from '../../actors/ports/records.ts';

interface Run {
  readonly job: string;
  /** When the last successful renewal was sent, monotonic ms. */
  renewedAt: number;
}

export interface RunLocksOptions {
  /** Resolves with the jobs whose lock the token no longer holds. */
  readonly extend: (jobs: string[], tokens: string[]) => Promise<readonly string[]>;
  readonly durationMs: number;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly onTrouble: (error: Error) => void;
}

/** The locks of the runs of one worker, renewed after a quarter of their duration.
 *
 *  BullMQ's own renewal uses the wall clock, and stops when that is set back. It starts with the run, which may be long after the fetch when Redis is slow; and
 *  it ends for all runs of a job as soon as one ends, although a run that took over after the other's lock expired in an outage still needs it. */
export class RunLocks {
  readonly #options: RunLocksOptions;
  /** By token. */
  readonly #runs = new Map<string, Run>();
  #isRenewing = false;
  #isOver = false;

  constructor(options: RunLocksOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#runs.size;
  }

  /** `fetchedAt` is wall-clock time. */
  begin(token: string, job: string, fetchedAt: number): void {
    const { clock } = this.#options;
    this.#runs.set(token, { job, renewedAt: clock.monotonic() - Math.max(0, clock.now() - fetchedAt) });
    this.#goOn();
  }

  end(token: string): void {
    this.#runs.delete(token);
  }

  renewedAt(token: string): number {
    return this.#runs.get(token)?.renewedAt ?? Number.NEGATIVE_INFINITY;
  }

  /** Lets the locks expire. */
  abandon(): void {
    this.#isOver = true;
  }

  #goOn(): void {
    if (this.#isRenewing || this.#isOver || this.#runs.size === 0) return;
    this.#isRenewing = true;
    const renew = async (): Promise<void> => {
      if (!this.#isOver) await this.#renew();
      this.#isRenewing = false;
      this.#goOn();
    };
    setTimeout(renew, this.#options.durationMs / 4).unref();
  }

  async #renew(): Promise<void> {
    const { extend, clock, onTrouble } = this.#options;
    // Of two runs of a job only the later one may have its lock.
    const latest = new Map([...this.#runs].map(([token, { job }]) => [job, token]));
    if (latest.size === 0) return;
    // The time of sending, not of the reply: a process suspended in between would overestimate the remaining lock time.
    const sentAt = clock.monotonic();
    try {
      const lost = new Set(await extend([...latest.keys()], [...latest.values()]));
      for (const [job, token] of latest) {
        const run = this.#runs.get(token);
        // The run has ended meanwhile; BullMQ reuses its token for the next one.
        if (run?.job !== job) continue;
        if (lost.has(job)) onTrouble(new Error(`the lock of job ${job} is lost`));
        else run.renewedAt = sentAt;
      }
    } catch (error) {
      onTrouble(error instanceof Error ? error : new Error(String(error)));
    }
  }
}
