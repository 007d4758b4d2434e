import fc from 'fast-check';
import type { Watched } from '../../../adapters/memory/cluster-watch.ts';
import { type Domain, of, type Played, type Stage } from '../domain.ts';

/** A watch of the leader, or of a process that stands by and runs jobs, tells nothing for so long. Then it tells what it has missed, one after the other
 *  (`late`), or lists anew, and what came and went meanwhile is never told (`stale`). */
export interface WatchHappening {
  readonly kind: 'late' | 'stale';
  readonly watch: Watched;
  readonly ms: number;
  /** Absent for the leader. */
  readonly standby?: true;
}

const WATCHES = ['objects', 'policies', 'nodes', 'services'] as const satisfies readonly Watched[];

/** One that tells nothing is renewed before everybody has to know what stands in the cluster, ms. */
const RENEWED_WITHIN_MS = 45_000;
/** From one thing that is told late to the next, ms. */
const BETWEEN_MS = 50;

/** The watches of pools, RoutedIPs and record sets, of their classes, of nodes, and of Services and Pods. */
class PlayedWatches implements Played<WatchHappening> {
  readonly #stage: Stage;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  act({ kind, watch: watched, ms, standby }: WatchHappening): void {
    const { leader, processes, clock } = this.#stage.world;
    const watch = (standby ? processes.find((process) => process !== leader) : (leader ?? processes[0]))?.cluster.watch;
    if (!watch?.stick(watched)) return;
    const tell = (): void => {
      if (!watch.catchUp(watched)) clock.after(BETWEEN_MS, tell);
    };
    clock.after(ms, kind === 'late' ? tell : () => watch.relist(watched));
  }

  mend(): void {
    for (const { cluster } of this.#stage.world.processes) for (const watched of WATCHES) cluster.watch.relist(watched);
  }
}

const ms = fc.oneof(
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 500 }) },
  { weight: 3, arbitrary: fc.integer({ min: 100, max: 10_000 }) },
  { weight: 2, arbitrary: fc.integer({ min: 10_000, max: RENEWED_WITHIN_MS }) },
);

export const WATCHES_DOMAIN: Domain<WatchHappening> = {
  sorts: [
    { weight: 1, arbitrary: fc.record({ kind: of('late', 'stale'), watch: fc.constant('nodes' as const), ms }) },
    { weight: 1, arbitrary: fc.record({ kind: of('late', 'stale'), watch: fc.constant('objects' as const), ms }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: of('late', 'stale'), watch: fc.constantFrom('policies' as const, 'services' as const), ms }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: of('late', 'stale'), watch: fc.constantFrom(...WATCHES), ms, standby: fc.constant(true as const) }),
    },
  ],
  open: (stage) => new PlayedWatches(stage),
};
