import type { ActorId } from '../machines/types.ts';
import { type FailoverFigures, failoverFigures } from './figures-failover.ts';
import { type PoolFigures, poolFigures } from './figures-pools.ts';
import { type RecordSetFigures, recordSetFigures } from './figures-record-sets.ts';
import type { Observer } from './ports/observers.ts';
import type { ActorRecord } from './ports.ts';

/** What metrics show of objects of one kind. */
interface Shown<T> {
  readonly show: (figures: T) => void;
  readonly forget: (namespace: string, name: string) => void;
}

export interface FigurePorts {
  readonly recordsOf: (cell: ActorId) => ReadonlyMap<ActorId, ActorRecord> | null;
  readonly pools: Shown<PoolFigures>;
  readonly recordSets: Shown<RecordSetFigures>;
  readonly failover: (failover: FailoverFigures) => void;
}

/** Shows in figures what stands in records after each turn. */
export function figures({ recordsOf, pools, recordSets, failover }: FigurePorts): Observer {
  const all: readonly Observer[] = [poolFigures({ recordsOf, ...pools }), recordSetFigures(recordSets), failoverFigures(failover)];
  return {
    turnSaved: (turn) => {
      for (const observer of all) observer.turnSaved(turn);
    },
    reset: () => {
      for (const observer of all) observer.reset?.();
    },
  };
}
