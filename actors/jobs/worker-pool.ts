import { VIP_QUEUE } from '../../machines/vip/decisions.ts';
import type { ProviderDirectory } from '../ports/directory.ts';
import type { LegacyKinds } from '../ports/migration.ts';
import type { Provider } from '../ports/provider.ts';
import type { Consumer } from '../ports/queues.ts';
import type { Settings } from '../ports/settings.ts';
import type { VipWriter } from '../ports/vip.ts';
import { consumeJobs, type WorkerPorts } from './worker.ts';

export interface WorkersPorts extends WorkerPorts {
  readonly providers: ProviderDirectory;
  readonly settings: Settings;
  readonly vips?: { readonly writer: VipWriter; readonly virtualIPs?: LegacyKinds; readonly mayAct?: () => boolean };
}

interface Opened {
  readonly provider: Provider;
  readonly consumer: Consumer;
}

/** Runs jobs while this process observes a leader. A process that is cut off from the Lease may send nothing: the jobs that it took would come back and might be its own
 *  again, while others could run them. */
export class Workers {
  readonly #ports: WorkersPorts;
  /** By the key of the provider; null while no jobs are taken. */
  #open: Map<string, Opened> | null = null;
  /** The consumer of jobs about Services; null while none are taken. */
  #vips: Consumer | null = null;
  #closed = false;
  /** The pause after which it goes on; null while there is none. */
  #rest: Promise<void> | null = null;

  constructor(ports: WorkersPorts) {
    this.#ports = ports;
  }

  /** Starts or stops taking jobs according to the Lease and the providers as they are now. Call it often and, with its key, when a provider has changed: there may be many
   *  others. */
  tend(key?: string): void {
    if (this.#closed) return;
    const { leadership, clock } = this.#ports;
    const { renewedAt, durationMs } = leadership.lease();
    const isLed = clock.monotonic() - renewedAt <= durationMs;
    if (isLed) this.#consume(key);
    else if (this.#open) {
      for (const opened of this.#open.values()) void this.#end(opened);
      this.#open = null;
      void this.#vips?.close(this.#ports.settings.callDeadlineMs);
      this.#vips = null;
    }
  }

  /** Takes no more jobs and lets running ones end, for at most `graceMs`. */
  async close(graceMs: number): Promise<void> {
    this.#closed = true;
    const consumers = [...[...(this.#open?.values() ?? [])].map(({ consumer }) => consumer), ...(this.#vips ? [this.#vips] : [])];
    await Promise.all(consumers.map((consumer) => consumer.close(graceMs)));
  }

  #consume(key?: string): void {
    const { providers, settings, clock, vips } = this.#ports;
    const open = this.#open ?? new Map<string, Opened>();
    this.#open = open;
    if (vips && (vips.mayAct?.() ?? true)) {
      const means = { vips: vips.writer, ...(vips.virtualIPs && { virtualIPs: vips.virtualIPs }) };
      this.#vips ??= consumeJobs(VIP_QUEUE, means, { ...this.#ports, isCurrent: this.#isCurrent }, settings.jobsAtOnce);
    }
    for (const each of key === undefined ? new Set([...open.keys(), ...Object.keys(providers.all)]) : [key]) {
      this.#endFormer(each, open);
      const pause = this.#begin(each, open) ? (clock.yieldToEventLoop?.() ?? null) : null;
      if (!pause) continue;
      this.#rest ??= pause.then(() => {
        this.#rest = null;
        this.tend();
      });
      return;
    }
  }

  #endFormer(key: string, open: Map<string, Opened>): void {
    const opened = open.get(key);
    if (!opened || this.#isCurrent(key, opened.provider)) return;
    open.delete(key);
    void this.#end(opened).then(() => this.#leave(key));
  }

  /** True when it has begun to take jobs. */
  #begin(key: string, open: Map<string, Opened>): boolean {
    const provider = this.#ports.providers.all[key]?.provider ?? null;
    if (provider === null || open.has(key)) return false;
    const ports = { ...this.#ports, isCurrent: this.#isCurrent };
    open.set(key, { provider, consumer: consumeJobs(key, provider, ports, ports.settings.jobsAtOnce) });
    return true;
  }

  /** Running jobs end as they can, with the means that they began with. */
  #end({ consumer }: Opened): Promise<void> {
    return consumer.close(this.#ports.settings.callDeadlineMs);
  }

  /** Releases the in-memory state of the queue of an account that is gone. */
  async #leave(key: string): Promise<void> {
    if (!Object.hasOwn(this.#ports.providers.all, key)) await this.#ports.queues.leave(key);
  }

  #isCurrent = (key: string, provider: Provider): boolean => this.#ports.providers.all[key]?.provider === provider;
}
