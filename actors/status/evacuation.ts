import { isPool } from '../../machines/model/actor-id.ts';
import type { ActorId, EvacuatedNode, Evacuation } from '../../machines/model/types.ts';
import { evacuationOf, unclearEvacuation } from '../../machines/status/evacuation.ts';
import { poolView } from '../controllers/record-view.ts';
import type { ClusterWriter } from '../ports/cluster.ts';
import type { Observer, SavedTurn } from '../ports/observers.ts';
import type { ActorRecord, Clock } from '../ports/records.ts';

/** Turns within this time are shown together, ms. */
const COALESCE_MS = 20;

export interface EvacuationsPorts {
  readonly writer: Pick<ClusterWriter, 'showEvacuations'>;
  readonly clock: Clock;
  /** Every existing object. */
  readonly objects: () => Iterable<ActorId>;
  readonly recordsOf: (cell: ActorId) => ReadonlyMap<ActorId, ActorRecord> | null;
  readonly isLeading: () => boolean;
}

/** Shows on nodes under evacuation how far it has come. */
export class Evacuations implements Observer {
  readonly #ports: EvacuationsPorts;
  #nodes: readonly EvacuatedNode[] = [];
  #due = false;

  constructor(ports: EvacuationsPorts) {
    this.#ports = ports;
  }

  /** The nodes to evacuate now, and those for which that is unclear. */
  observed(nodes: readonly EvacuatedNode[]): void {
    this.#nodes = nodes;
    this.request();
  }

  turnSaved({ cell }: SavedTurn): void {
    if (this.#nodes.length > 0 && isPool(cell)) this.request();
  }

  /** Schedules showing everything again. */
  request(): void {
    if (this.#due) return;
    this.#due = true;
    this.#ports.clock.after(COALESCE_MS, () => {
      this.#due = false;
      if (this.#ports.isLeading()) this.#show();
    });
  }

  #show(): void {
    const { writer, clock, objects, recordsOf } = this.#ports;
    // Without nodes to report on, no pool is read.
    const cells = this.#nodes.length === 0 ? [] : [...objects()].filter(isPool);
    const views = cells.flatMap((cell) => {
      const records = recordsOf(cell);
      return (records && poolView(cell, records, clock.now())) ?? [];
    });
    const areAllSeen = views.length === cells.length;
    const saidOf = (node: EvacuatedNode): Evacuation =>
      node.unclear === undefined ? evacuationOf(node, views, areAllSeen) : unclearEvacuation(node.unclear);
    writer.showEvacuations(Object.fromEntries(this.#nodes.map((node) => [node.name, saidOf(node)])));
  }
}
