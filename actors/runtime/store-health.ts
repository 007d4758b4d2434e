import { Unreachable } from '../ports/errors.ts';
import type { Log } from '../ports/observers.ts';
import type { RecordStore, StoreFault } from '../ports/records.ts';

export interface StoreHealthPorts {
  readonly store: Pick<RecordStore, 'judge'>;
  readonly log: Log;
}

/** Problems with the configuration of the store when it last answered. Changes are logged. */
export class StoreHealth {
  readonly #ports: StoreHealthPorts;
  #faults: readonly StoreFault[] = [];

  constructor(ports: StoreHealthPorts) {
    this.#ports = ports;
  }

  get faults(): readonly StoreFault[] {
    return this.#faults;
  }

  /** For users; null for nothing. */
  get notice(): string | null {
    return this.#faults.length > 0 ? this.#faults.map(({ message }) => message).join('; ') : null;
  }

  /** Call it from time to time: settings can be changed on a running server. */
  async look(): Promise<void> {
    const { store, log } = this.#ports;
    try {
      const [before, now] = [this.#faults, await store.judge()];
      this.#faults = now;
      const hasNot = (all: readonly StoreFault[]) => (fault: StoreFault) => all.every(({ message }) => message !== fault.message);
      for (const { reason, message } of now.filter(hasNot(before))) log.warn('Redis is not set up for safety', { reason, message });
      for (const { reason, message } of before.filter(hasNot(now))) log.info('this is not wrong with Redis any more', { reason, message });
    } catch (error) {
      // An outage is detected and reported elsewhere.
      if (!(error instanceof Unreachable)) log.warn('Redis could not be judged', { error: String(error) });
    }
  }
}
