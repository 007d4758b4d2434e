import { poolStatus } from '../machines/status.ts';
import type { ActorId } from '../machines/types.ts';
import type { Observer } from './ports/observers.ts';
import type { ActorRecord } from './ports.ts';
import { poolView } from './view.ts';

/** What metrics show of one pool. */
export interface PoolFigures {
  readonly namespace: string;
  readonly name: string;
  readonly provider: string;
  /** Full name of the pool's DNS record; empty when it has none. */
  readonly dns: string;
  readonly desired: number;
  /** Addresses that the pool has, disabled ones too. */
  readonly acquired: number;
  readonly assignableNodes: number;
  readonly ips: ReturnType<typeof poolStatus>['ips'];
}

export interface PoolFigurePorts {
  readonly recordsOf: (cell: ActorId) => ReadonlyMap<ActorId, ActorRecord> | null;
  readonly show: (figures: PoolFigures) => void;
  readonly forget: (namespace: string, name: string) => void;
}

/** Shows pools in figures, as their records stand after each turn. */
export const poolFigures = ({ recordsOf, show, forget }: PoolFigurePorts): Observer => ({
  turnSaved: ({ cell, at }) => {
    const [kind, namespace = '', name = '', ...part] = cell.split('/');
    // What belongs to a pool and is a cell of its own says nothing of the pool.
    if (kind !== 'pool' || part.length > 0) return;
    const records = recordsOf(cell);
    const view = records && poolView(cell, records, at);
    if (!view) {
      forget(namespace, name);
      return;
    }
    const { spec } = view.context;
    const { ips, assignableNodes } = poolStatus(view);
    const acquired = Object.keys(ips).length;
    show({
      namespace,
      name,
      provider: spec?.provider ?? '',
      dns: spec?.dns ?? '',
      desired: spec?.desired ?? 0,
      acquired,
      assignableNodes: assignableNodes.length,
      ips,
    });
  },
});
