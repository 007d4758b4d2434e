import fc from 'fast-check';
import type { KillPoint } from '../../../actors/ports/observers.ts';
import { type Domain, of, type Played, type Stage } from '../domain.ts';

/** What happens to the processes of the operator. `cutLease`, `cutStore`: one of them does not reach the API server, or the store, any more. `restart`: all end, and
 *  another one starts. */
export type ProcessHappening =
  | {
      readonly kind:
        | 'start'
        | 'kill'
        | 'killAll'
        | 'restart'
        | 'stop'
        | 'freeze'
        | 'deleteLease'
        | 'cutLease'
        | 'mendLease'
        | 'cutStore'
        | 'mendStore';
    }
  /** The process that comes to this point next, or that comes there so many times later, ends there. */
  | { readonly kind: 'killAt'; readonly point: KillPoint; readonly later: number };

const MOST_PROCESSES = 3;

/** Who does not reach the API server cannot look at the Lease: until it gives the Lease up by itself it does not know that somebody has deleted that. */
const RENEWS_WITHIN_MS = 10_000;

class PlayedProcesses implements Played<ProcessHappening> {
  readonly #stage: Stage;

  constructor(stage: Stage) {
    this.#stage = stage;
    if (stage.happens('processes', 'cutLease')) stage.world.invariants.leaseLookMs = RENEWS_WITHIN_MS;
  }

  async act(what: ProcessHappening): Promise<void> {
    const { operator, world } = this.#stage;
    const { processes } = world;
    const [first] = processes;
    switch (what.kind) {
      case 'start':
        if (processes.length < MOST_PROCESSES) await operator.start();
        return;
      case 'restart':
        operator.killAll();
        await operator.start();
        return;
      case 'kill':
        first?.kill();
        return;
      case 'killAll':
        operator.killAll();
        return;
      case 'killAt':
        operator.killAt(what.point, what.later);
        return;
      case 'stop':
        if (first) operator.stop(first);
        return;
      case 'freeze':
        if (first) operator.freeze(first);
        return;
      case 'deleteLease':
        world.lease.delete();
        return;
      case 'cutLease':
        first?.lease.cut();
        return;
      case 'mendLease':
        first?.lease.mend();
        return;
      case 'cutStore':
        first?.store.cut();
        return;
      case 'mendStore':
        for (const { store } of processes) store.mend();
    }
  }
}

const POINTS: readonly KillPoint[] = ['beforeWrite', 'afterWrite', 'afterDispatch', 'beforeSend', 'beforeReplyRead', 'afterReply'];

export const PROCESSES_DOMAIN: Domain<ProcessHappening> = {
  sorts: [
    { weight: 3, arbitrary: fc.record({ kind: of('start', 'start', 'restart') }) },
    { weight: 3, arbitrary: fc.record({ kind: of('kill', 'killAll', 'stop', 'freeze') }) },
    { weight: 2, arbitrary: fc.record({ kind: of('deleteLease', 'cutLease', 'mendLease') }) },
    { weight: 1, arbitrary: fc.record({ kind: of('cutStore', 'mendStore') }) },
    { weight: 3, arbitrary: fc.record({ kind: of('killAt'), point: fc.constantFrom(...POINTS), later: fc.integer({ min: 0, max: 8 }) }) },
  ],
  open: (stage) => new PlayedProcesses(stage),
};
