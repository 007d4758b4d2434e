import type { PoolContext } from '../../machines/pool/context.ts';
import { VIP_QUEUE } from '../../machines/vip/decisions.ts';
import type { Log } from '../ports/observers.ts';
import type { Queues } from '../ports/queues.ts';
import type { Cell } from '../runtime/cell.ts';
import type { Cells } from '../runtime/cell-registry.ts';
import { OUTCOMES, TIMERS } from '../runtime/queue-data.ts';

export interface LeftQueuesPorts {
  readonly cells: Pick<Cells, 'all'>;
  /** Queues are in memory, since the store is away. */
  readonly isAway: () => boolean;
  readonly queues: Queues;
  readonly providers: { readonly all: Readonly<Record<string, unknown>> };
  readonly log: Log;
}

/** Queues that belong to no account. */
const OURS: ReadonlySet<string> = new Set([OUTCOMES, TIMERS, VIP_QUEUE]);

/** Deletes the queues of accounts that are gone. Later jobs under such an account get a new queue. */
export class LeftQueues {
  readonly #ports: LeftQueuesPorts;
  /** Queues that seemed unused at the last check. */
  #left: ReadonlySet<string> = new Set();

  constructor(ports: LeftQueuesPorts) {
    this.#ports = ports;
  }

  /** Deletes queues that were unused at this check and the last one. Call it from time to time. */
  async look(): Promise<void> {
    const { queues, providers, cells, log, isAway } = this.#ports;
    if (isAway()) return;
    try {
      const others = (await queues.names()).filter((name) => !OURS.has(name) && !Object.hasOwn(providers.all, name));
      const used = others.length > 0 ? usedBy(cells.all.values()) : new Set<string>();
      const left = others.filter((name) => !used.has(name));
      for (const name of left) {
        if (!this.#left.has(name)) continue;
        await queues.drop(name);
        log.info('the queue of an account that is gone was deleted', { queue: name });
      }
      this.#left = new Set(left);
    } catch (error) {
      log.info('queues of accounts that are gone could not be looked for; it is tried again', { error: String(error) });
    }
  }
}

/** The accounts that records name: they may wait for a job there. */
function usedBy(cells: Iterable<Pick<Cell, 'records'>>): ReadonlySet<string> {
  const contexts = [...cells].flatMap(({ records }) =>
    [...records.values()].map(({ snapshot }) => snapshot.context as Partial<PoolContext>),
  );
  return new Set(
    contexts
      .flatMap(({ provider, spec, acquiring }) => [provider, spec?.provider, acquiring?.by?.provider])
      .filter((key) => key !== undefined),
  );
}
