import type { ActiveJob, Consumer, JobQueue, JobStep, Queues } from '../ports/queues.ts';
import type { RecordStore } from '../ports/records.ts';

/** The place where records and jobs are kept. */
export interface Keeping {
  readonly store: RecordStore;
  readonly queues: Queues;
}

/** Keeps them meanwhile in the memory of this process. */
export interface StandIn extends Keeping {
  /** Drops what is queued there: no more jobs are handed out and no more timers fire. */
  readonly close: () => unknown;
}

/** Records and jobs in one place or another, transparently to their users. */
export interface Switch extends Keeping {
  readonly isAway: () => boolean;
  /** Queries the usual store, wherever records are kept now. @throws Unreachable */
  readonly askUsual: RecordStore['state'];
  /** From now on everything is kept in the memory of this process, which starts empty: earlier contents of memory are dropped too. */
  readonly goAway: () => void;
  /** From now on everything is kept in the usual place again. The contents of memory are dropped. */
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

/** Uses `usual` while it is available, and `inMemory` as a stand-in, which is closed when no longer needed: its jobs belong to former terms by then. A job that the usual
 *  queues hand out meanwhile is postponed: only the usual store can show whether it is still wanted. */
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
