import type { ActiveJob, Consumer, JobQueue, JobStep, Queues } from '../ports/queues.ts';
import type { RecordStore } from '../ports/records.ts';

/** Where records and jobs are. */
export interface Keeping {
  readonly store: RecordStore;
  readonly queues: Queues;
}

/** Where they are meanwhile: in the memory of this process. */
export interface StandIn extends Keeping {
  /** Ends what is queued there: nothing of it is handed out or waits for its time any more. */
  readonly close: () => unknown;
}

/** Records and jobs that are in one place or in another, without whoever uses them knowing. */
export interface Switch extends Keeping {
  readonly isAway: () => boolean;
  /** Asks the usual store, wherever records are now. @throws Unreachable */
  readonly askUsual: RecordStore['state'];
  /** From now on everything is in the memory of this process, which is empty: also what was in memory before is forgotten. */
  readonly goAway: () => void;
  /** From now on everything is where it usually is. What was in memory is forgotten. */
  readonly comeBack: () => void;
}

interface Open {
  readonly name: string;
  readonly run: (job: ActiveJob) => Promise<JobStep>;
  readonly concurrency: number;
  near: Consumer | null;
}

const LATER_MS = 2000;

const later = ({ progress }: ActiveJob): JobStep => ({ kind: 'again', afterMs: LATER_MS, progress });

/** `usual` as long as it is there, `inMemory` as a stand-in, which is closed when it is no longer wanted: its jobs are of former terms then, and nobody's. A job that the usual
 *  queues hand out while it stands in waits: whether it is wanted only the usual store can tell. */
export function switching(usual: Keeping, inMemory: () => StandIn): Switch {
  let near: StandIn | null = null;
  const open = new Set<Open>();
  const now = (): Keeping => near ?? usual;
  const store: RecordStore = {
    judge: () => usual.store.judge(),
    check: () => now().store.check(),
    state: () => now().store.state(),
    openTerm: (term) => now().store.openTerm(term),
    cells: () => now().store.cells(),
    load: (cell) => now().store.load(cell),
    save: (write) => now().store.save(write),
    drop: (cell, term) => now().store.drop(cell, term),
    resetClaims: (provider, claims, term) => now().store.resetClaims(provider, claims, term),
    fence: (cell, actor, invokeId) => now().store.fence(cell, actor, invokeId),
    journal: (cell, limit) => now().store.journal(cell, limit),
    isFleeting: () => now().store.isFleeting?.() ?? false,
    close: () => usual.store.close(),
  };
  const queue = (name: string): JobQueue => {
    const there = (): JobQueue => now().queues.queue(name);
    return {
      add: (jobs) => there().add(jobs),
      remove: (id) => there().remove(id),
      has: (id) => there().has(id),
      standOf: (id) => there().standOf(id),
      progressOf: (id) => there().progressOf(id),
      counts: () => there().counts(),
      consume: (run, concurrency) => {
        const far = usual.queues.queue(name).consume((job) => (near ? Promise.resolve(later(job)) : run(job)), concurrency);
        const opened: Open = { name, run, concurrency, near: near?.queues.queue(name).consume(run, concurrency) ?? null };
        open.add(opened);
        return {
          close: async (graceMs) => {
            open.delete(opened);
            await Promise.all([far.close(graceMs), opened.near?.close(graceMs)]);
          },
        };
      },
    };
  };
  const forget = (): void => {
    const former = near;
    near = null;
    for (const each of open) {
      void each.near?.close(0);
      each.near = null;
    }
    former?.close();
  };
  return {
    store,
    queues: {
      queue,
      names: () => now().queues.names(),
      drop: (name) => now().queues.drop(name),
      leave: async (name) => void (await Promise.all([usual.queues.leave(name), near?.queues.leave(name)])),
      close: () => usual.queues.close(),
    },
    isAway: () => near !== null,
    askUsual: () => usual.store.state(),
    goAway: () => {
      forget();
      near = inMemory();
      for (const each of open) each.near = near.queues.queue(each.name).consume(each.run, each.concurrency);
    },
    comeBack: forget,
  };
}
