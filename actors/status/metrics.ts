import { phaseOf, type RecordSetContext, recordName } from '../../machines/dns/record-set.ts';
import type { ActorId } from '../../machines/model/types.ts';
import { addressStatus } from '../../machines/status/pool.ts';
import { poolView } from '../controllers/record-view.ts';
import type { FailoverFigures, PoolFigures, RecordSetFigures, Shown } from '../ports/figures.ts';
import type { Observer, Transition } from '../ports/observers.ts';
import type { ActorRecord } from '../ports/records.ts';
import { driftFigures, failoverFigures } from './failover-metrics.ts';

export interface FigurePorts {
  readonly recordsOf: RecordsOf;
  readonly pools: Shown<PoolFigures>;
  readonly recordSets: Shown<RecordSetFigures>;
  readonly failover: (failover: FailoverFigures) => void;
  /** An address was moved externally at the provider of that name. */
  readonly drift: (provider: string) => void;
}

/** Keeps metrics in step with the records, after each turn. */
export function figures({ recordsOf, pools, recordSets, failover, drift }: FigurePorts): Observer {
  const all: readonly Observer[] = [
    poolFigures(recordsOf, pools),
    recordSetFigures(recordSets),
    failoverFigures(failover),
    driftFigures(drift),
  ];
  return {
    turnSaved: (turn) => {
      for (const observer of all) observer.turnSaved(turn);
    },
    reset: () => {
      for (const observer of all) observer.reset?.();
    },
  };
}

/** Records of a cell; null while none are known. */
type RecordsOf = (cell: ActorId) => ReadonlyMap<ActorId, ActorRecord> | null;

/** Metrics of pools, as their records stand after each turn. */
export const poolFigures = (recordsOf: RecordsOf, { show, forget }: Shown<PoolFigures>): Observer => ({
  turnSaved: ({ cell, at }) => {
    const [kind, namespace = '', name = '', ...part] = cell.split('/');
    // A cell that only belongs to a pool says nothing of the pool.
    if (kind !== 'pool' || part.length > 0) return;
    const records = recordsOf(cell);
    const view = records && poolView(cell, records, at);
    if (!view) {
      forget(namespace, name);
      return;
    }
    const { spec } = view.context;
    const { ips, assignableNodes } = addressStatus(view);
    show({
      namespace,
      name,
      provider: spec?.provider ?? '',
      dns: spec?.dns ?? '',
      desired: spec?.desired ?? 0,
      assignableNodes: assignableNodes.length,
      ips: Object.entries(ips).map(([ip, { state, nodeName, providerID }]) => ({ ip, state, nodeName, providerID })),
    });
  },
});

/** Metrics of NodeDNSRecordSets, as they stand after each turn. The record set of a pool is none. */
export function recordSetFigures({ show, forget }: Shown<RecordSetFigures>): Observer {
  const confirmed = new Map<ActorId, number>();

  const note = ({ actor, before, after }: Transition): void => {
    const ref = contextOf(after ?? before)?.ref;
    if (!ref) return;
    const now = contextOf(after);
    if (!now) {
      confirmed.delete(actor);
      forget(ref.namespace, ref.name);
      return;
    }
    for (const context of [contextOf(before), now]) {
      if (context && phaseOf(context) === 'Published') confirmed.set(actor, context.addresses.length);
    }
    const { namespace, name } = ref;
    const provider = (now.target ?? now.spec?.target)?.provider ?? '';
    show({ namespace, name, provider, dns: recordName(now), records: confirmed.get(actor) ?? 0 });
  };

  return {
    turnSaved: ({ transitions }) => {
      for (const transition of transitions) if (transition.chart === 'dns-record-set') note(transition);
    },
    reset: () => confirmed.clear(),
  };
}

const contextOf = (record: ActorRecord | null): RecordSetContext | null =>
  record ? (record.snapshot.context as unknown as RecordSetContext) : null;
