import type { JobQueue, Queues } from '../../actors/ports/queues.ts';
import type { CellWrite, Command, RecordStore } from '../../actors/ports/records.ts';
import { Gauge, type Registry } from './prom-client.ts';

/** Observes jobs and timers on their way from the record store to their queues. */
export interface OutboxWatch {
  store(store: RecordStore): RecordStore;
  queues(queues: Queues): Queues;
  /** This process lost leadership, or starts over: pending commands are issued again by the next leader. */
  reset(): void;
}

/** Exports the number of saved commands that have not reached their queue. */
export function outboxMetrics(registry: Registry): OutboxWatch {
  const waiting = new Map<string, CellWrite['cell']>();
  new Gauge({
    name: 'routedip_outbox_commands',
    help: 'Jobs and timers that were saved and have not reached their queue yet.',
    registers: [registry],
    collect() {
      this.set(waiting.size);
    },
  });

  const saved = ({ cell, outbox }: CellWrite): void => {
    for (const command of outbox.add) if (isQueued(command)) waiting.set(command.id, cell);
    for (const id of outbox.clear) waiting.delete(id);
  };
  const queue = (inner: JobQueue): JobQueue => ({
    ...inner,
    add: async (jobs) => {
      await inner.add(jobs);
      for (const { id } of jobs) waiting.delete(id);
    },
  });

  return {
    store: (inner) => ({
      ...inner,
      save: async (write) => {
        const result = await inner.save(write);
        if (result.kind === 'saved') saved(write);
        return result;
      },
      drop: async (cell, term) => {
        for (const [id, owner] of waiting) if (owner === cell) waiting.delete(id);
        return inner.drop(cell, term);
      },
    }),
    queues: (inner) => ({ ...inner, queue: (name) => queue(inner.queue(name)) }),
    reset: () => waiting.clear(),
  };
}

/** A message to another machine does not use a queue. */
const isQueued = ({ kind }: Command): boolean => kind !== 'send';
