import { isPool } from '../../machines/model/actor-id.ts';
import type { ActorId, EvacuatedNode, Evacuation } from '../../machines/model/types.ts';
import { evacuationOf, unclearEvacuation } from '../../machines/status/evacuation.ts';
import { poolView } from '../controllers/record-view.ts';
import type { ClusterWriter } from '../ports/cluster.ts';
import type { Observer, SavedTurn } from '../ports/observers.ts';
import type { ActorRecord, Clock } from '../ports/records.ts';

/** Turns of one moment are shown as one. */
const COALESCE_MS = 20;

export interface EvacuationsPorts {
  readonly writer: Pick<ClusterWriter, 'showEvacuations'>;
  readonly clock: Clock;
  /** Every object that is there. */
  readonly objects: () => Iterable<ActorId>;
  readonly recordsOf: (cell: ActorId) => ReadonlyMap<ActorId, ActorRecord> | null;
  readonly isLeading: () => boolean;
}

/** Shows on nodes that are to be evacuated how far that has come. */
export class Evacuations implements Observer {
  readonly #ports: EvacuationsPorts;
  #nodes: readonly EvacuatedNode[] = [];
  #due = false;

  constructor(ports: EvacuationsPorts) {
    this.#ports = ports;
  }

  /** These are the nodes that are to be evacuated now, and those of which nobody can tell. */
  observed(nodes: readonly EvacuatedNode[]): void {
    this.#nodes = nodes;
    this.request();
  }

  turnSaved({ cell }: SavedTurn): void {
    if (this.#nodes.length > 0 && isPool(cell)) this.request();
  }

  /** Has it shown anew soon, all of it. */
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
    // Where there is nothing to say of any node nobody is asked.
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
