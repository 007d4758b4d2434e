import { Unreachable } from '../ports/errors.ts';
import type { Log } from '../ports/observers.ts';
import type { RecordStore, StoreFault } from '../ports/records.ts';

export interface StoreHealthPorts {
  readonly store: Pick<RecordStore, 'judge'>;
  readonly log: Log;
}

/** What is wrong with the way in which the store is set up, as it was when it last answered. Said in the log when it changes. */
export class StoreHealth {
  readonly #ports: StoreHealthPorts;
  #faults: readonly StoreFault[] = [];

  constructor(ports: StoreHealthPorts) {
    this.#ports = ports;
  }

  get faults(): readonly StoreFault[] {
    return this.#faults;
  }

  /** For people; null for nothing. */
  get notice(): string | null {
    return this.#faults.length > 0 ? this.#faults.map(({ message }) => message).join('; ') : null;
  }

  /** To be called from time to time: anybody may change a setting of a server that runs. */
  async look(): Promise<void> {
    const { store, log } = this.#ports;
    try {
      const [before, now] = [this.#faults, await store.judge()];
      this.#faults = now;
      const hasNot = (all: readonly StoreFault[]) => (fault: StoreFault) => all.every(({ message }) => message !== fault.message);
      for (const { reason, message } of now.filter(hasNot(before))) log.warn('Redis is not set up for safety', { reason, message });
      for (const { reason, message } of before.filter(hasNot(now))) log.info('this is not wrong with Redis any more', { reason, message });
    } catch (error) {
      // That it does not answer is seen and said elsewhere.
      if (!(error instanceof Unreachable)) log.warn('Redis could not be judged', { error: String(error) });
    }
  }
}
