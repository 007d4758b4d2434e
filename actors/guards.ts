import { type ActorId, FINALIZER } from '../machines/types.ts';
import { actorOf, isRoutedIP } from './pools.ts';
import type { ClusterWriter, PoolObject } from './ports/cluster.ts';
import type { Log } from './ports/observers.ts';
import type { Clock } from './ports.ts';

const AGAIN_MS = 1000;

/** Sees to it that no RoutedIP can go before what was done for it is undone: it is guarded before anything is done for it. */
export class Guards {
  readonly #writer: ClusterWriter;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #isLeading: () => boolean;
  readonly #busy = new Set<ActorId>();

  constructor(ports: { readonly writer: ClusterWriter; readonly clock: Clock; readonly log: Log; readonly isLeading: () => boolean }) {
    this.#writer = ports.writer;
    this.#clock = ports.clock;
    this.#log = ports.log;
    this.#isLeading = ports.isLeading;
  }

  /** To be called with every RoutedIP that is observed; others are let pass. */
  see(object: PoolObject): void {
    const id = actorOf(object.ref);
    if (!isRoutedIP(id) || object.deleting || this.#busy.has(id) || !this.#isLeading()) return;
    if (object.marks?.finalizers.includes(FINALIZER)) return;
    this.#busy.add(id);
    this.#writer.guard(object.ref).then(
      () => this.#busy.delete(id),
      (error) => {
        this.#log.warn('a RoutedIP could not be guarded yet; nothing is done for it before', { routedIP: id, error: String(error) });
        this.#clock.after(AGAIN_MS, () => {
          this.#busy.delete(id);
          this.see(object);
        });
      },
    );
  }
}
