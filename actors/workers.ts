import type { KnownProvider } from './leader.ts';
import type { Consumer } from './ports.ts';
import type { Settings } from './settings.ts';
import { consumeJobs, type WorkerPorts } from './worker.ts';

export interface WorkersPorts extends WorkerPorts {
  readonly providers: Readonly<Record<string, KnownProvider>>;
  readonly settings: Settings;
}

/** Runs jobs while this process sees that somebody leads. One that is cut off from the Lease may send nothing: the jobs that it took would come back
 *  and might be its own again, while others could run them. */
export class Workers {
  readonly #ports: WorkersPorts;
  #open: readonly Consumer[] | null = null;
  #closed = false;

  constructor(ports: WorkersPorts) {
    this.#ports = ports;
  }

  /** Takes jobs or stops to, by what is seen of the Lease now. To be called often. */
  tend(): void {
    if (this.#closed) return;
    const { leadership, clock, settings } = this.#ports;
    const { renewedAt, durationMs } = leadership.lease();
    const isLed = clock.monotonic() - renewedAt <= durationMs;
    if (isLed && !this.#open) this.#open = this.#consume();
    else if (!isLed && this.#open) {
      for (const consumer of this.#open) void consumer.close(settings.callDeadlineMs);
      this.#open = null;
    }
  }

  /** Takes no more jobs and lets those that run end, for at most `graceMs`. */
  async close(graceMs: number): Promise<void> {
    this.#closed = true;
    await Promise.all((this.#open ?? []).map((consumer) => consumer.close(graceMs)));
  }

  #consume(): readonly Consumer[] {
    const { providers, settings } = this.#ports;
    return Object.entries(providers).flatMap(([name, { provider }]) =>
      provider ? [consumeJobs(name, provider, this.#ports, settings.jobsAtOnce)] : [],
    );
  }
}
