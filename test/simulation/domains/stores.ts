import fc from 'fast-check';
import type { StoreCheckpoint } from '../../../adapters/memory/store.ts';
import { type Domain, of, type Played, type Stage } from '../domain.ts';

/** What happens to what records, jobs and statuses are kept in, and to the clock. `storeDown` and `queuesDown`: Redis is away. `goBack`: it has again what it had at the
 *  last such step. `failOver`: a replica takes over, which lacks what was written in the last moments. `wipeAtRest`: it is emptied while no process runs. `failWrites`:
 *  the API server takes nothing. */
export type StoreHappening =
  | {
      readonly kind:
        | 'storeDown'
        | 'storeUp'
        | 'queuesDown'
        | 'queuesUp'
        | 'redisDown'
        | 'redisUp'
        | 'failWrites'
        | 'mendWrites'
        | 'goBack'
        | 'wipe'
        | 'wipeAtRest'
        | 'wipeQueues'
        | 'repeatJobs'
        | 'failOver'
        | 'replace';
    }
  | { readonly kind: 'loseReplies'; readonly times: number }
  | { readonly kind: 'jump'; readonly ms: number };

/** How often a replica has everything, ms. */
const REPLICATED_EVERY_MS = 1_000;

class PlayedStores implements Played<StoreHappening> {
  readonly #stage: Stage;
  #replica: StoreCheckpoint | null = null;
  #isOver = false;

  constructor(stage: Stage) {
    this.#stage = stage;
    if (stage.happens('stores', 'failOver')) this.#replicate();
  }

  act(what: StoreHappening): void {
    const { operator, world } = this.#stage;
    const { store, queues, cluster, invariants } = world;
    const acts: Readonly<Record<StoreHappening['kind'], () => void>> = {
      storeDown: store.goDown,
      storeUp: store.comeBack,
      queuesDown: queues.goDown,
      queuesUp: queues.comeBack,
      redisDown: () => [store.goDown(), queues.goDown()],
      redisUp: () => [store.comeBack(), queues.comeBack()],
      failWrites: () => cluster.failWrites(),
      mendWrites: () => cluster.mendWrites(),
      loseReplies: () => store.loseReplies(what.kind === 'loseReplies' ? what.times : 1),
      repeatJobs: () => operator.repeatJobs(),
      wipeQueues: queues.wipe,
      wipe: () => operator.wipe(),
      wipeAtRest: () => {
        operator.killAll();
        operator.wipe();
      },
      goBack: () => operator.goBack(),
      failOver: () => {
        if (!this.#replica) return;
        store.restart(this.#replica);
        invariants.forget();
      },
      replace: () => store.restart(),
      jump: () => world.jump(what.kind === 'jump' ? what.ms : 0),
    };
    acts[what.kind]();
  }

  mend(): void {
    this.#isOver = true;
  }

  #replicate(): void {
    const { world } = this.#stage;
    world.clock.after(REPLICATED_EVERY_MS, () => {
      if (this.#isOver) return;
      this.#replica = world.store.checkpoint();
      this.#replicate();
    });
  }
}

export const STORES_DOMAIN: Domain<StoreHappening> = {
  sorts: [
    { weight: 2, arbitrary: fc.record({ kind: of('storeDown', 'storeUp', 'queuesDown', 'queuesUp', 'redisDown', 'redisUp', 'redisUp') }) },
    { weight: 1, arbitrary: fc.record({ kind: of('failWrites', 'mendWrites', 'mendWrites') }) },
    { weight: 1, arbitrary: fc.record({ kind: of('goBack', 'goBack', 'failOver', 'replace') }) },
    { weight: 1, arbitrary: fc.record({ kind: of('wipe', 'wipeAtRest', 'wipeQueues', 'repeatJobs') }) },
    { weight: 1, arbitrary: fc.record({ kind: of('loseReplies'), times: fc.integer({ min: 1, max: 3 }) }) },
    { weight: 1, arbitrary: fc.record({ kind: of('jump'), ms: fc.integer({ min: -3_600_000, max: 3_600_000 }) }) },
  ],
  open: (stage) => new PlayedStores(stage),
};
