import { phaseOf, type RecordSetContext } from '../machines/dns/record-set.ts';
import { cellOf, isPool, isRecordSet, isRoutedIP } from '../machines/model/actor-id.ts';
import type { ActorId, Finding } from '../machines/model/types.ts';
import type { PoolContext } from '../machines/pool/context.ts';
import { poolView, stateOf, waitsIn } from './controllers/record-view.ts';
import type { Leader } from './leadership/leader.ts';
import type { ClusterWriter } from './ports/cluster.ts';
import { SERVER_ERROR } from './ports/errors.ts';
import type { Cell, Work } from './runtime/cell.ts';
import { isUnknown } from './status/notices.ts';
import type { Watched } from './status/watchdog-log.ts';

/** A turn that takes longer keeps its object from being served, ms. */
const LATE_MS = 2_000;

export interface ServingPorts {
  readonly leader: Leader;
  readonly writer: Pick<ClusterWriter, 'shownGeneration' | 'guardTrouble'>;
  /** The permission that is missing to watch what it selects; null for none. */
  readonly hindranceOf: (cell: ActorId) => string | null;
  /** Why the store is unreachable; null while it responds. */
  readonly storeError: string | null;
  /** Monotonic, ms. */
  readonly now: number;
}

/** Why the leader does not serve the object as it is now: its cell has not taken the present generation, or the result is not shown, or a turn does not end. Null when it
 *  does, or when nothing is left to do for the object. */
export function whyUnserved(id: ActorId, { ref, generation, deleting }: Watched, ports: ServingPorts): Finding | null {
  const { leader, writer, now } = ports;
  const cell = leader.cells.get(id);
  const late = cell?.work && now - cell.work.since >= LATE_MS ? lateness(cell.work, ports) : null;
  if (late) return late;
  const failed = failedByServer(cell) ?? (deleting || lacksAddress(id, cell) ? writer.guardTrouble(ref) : null);
  if (failed) return failed;
  // For kinds that show no generation in their status, only the turns are known.
  if (generation === null || deleting) return null;
  const waits = cell ? leader.unread(id) : null;
  if (waits !== null) return { reason: 'ProviderUnread', message: waits };
  if (writer.shownGeneration(ref) === generation) return null;
  if (!isPool(id) && !isRecordSet(id)) return NOT_WRITTEN;
  return cell ? whyNotShown(id, cell, ref.uid, ports) : { reason: 'NotBegun', message: 'nothing has been begun for it yet' };
}

/** A RoutedIP without an address: nothing is done for it before it has our finalizer. One that has its address keeps serving. */
function lacksAddress(id: ActorId, cell: Cell | undefined): boolean {
  const { exposed } = (cell?.records.get(id)?.snapshot.context ?? {}) as Partial<PoolContext>;
  return isRoutedIP(id) && !exposed?.bound;
}

/** Set while the API server fails a write of one of its jobs. */
function failedByServer(cell: Cell | undefined): Finding | null {
  for (const record of cell?.records.values() ?? []) {
    const waits = waitsIn(record);
    if (waits?.reason === SERVER_ERROR.reason) return waits;
  }
  return null;
}

function whyNotShown(id: ActorId, cell: Cell, uid: string, { hindranceOf, now }: ServingPorts): Finding {
  const record = cell.records.get(id);
  const { ref } = (record?.snapshot.context ?? {}) as { readonly ref?: { readonly uid: string } };
  const forbidden = hindranceOf(id);
  if (cell.trouble) return cell.trouble;
  if (ref && ref.uid !== uid) return { reason: 'PredecessorRemains', message: predecessor(stateOf(record?.snapshot.value)) };
  if (forbidden !== null) return { reason: 'Forbidden', message: forbidden };
  const view = poolView(id, cell.records, now);
  const isPriming = record?.chart === 'dns-record-set' && phaseOf(record.snapshot.context as unknown as RecordSetContext) === 'Priming';
  if (!record || isPriming || (view && isUnknown(view)))
    return { reason: 'Priming', message: 'what it selects in the cluster has not been seen yet' };
  return NOT_WRITTEN;
}

const NOT_WRITTEN: Finding = {
  reason: 'NotWritten',
  message: 'its status has not been written yet; the log says what the API server refuses',
};

const predecessor = (state: string): string => `an object of its name that was deleted is still being let go, and is ${state}`;

function lateness({ what }: Work, { storeError }: ServingPorts): Finding {
  if (what === 'saving' && storeError !== null) return { reason: 'StoreUnreachable', message: storeError };
  return { reason: 'TurnPending', message: TURNS[what] };
}

const TURNS: Readonly<Record<Work['what'], string>> = {
  queued: 'its turn has not begun: as many others are at work as may be at a time',
  deciding: 'its turn does not come to an end',
  saving: 'its turn is being saved, which does not come to an end',
  dispatching: 'what its turn decided is being handed on, which does not come to an end',
};

/** Failing turns of cells, by the actor whose object reports them: the cell itself, and the actors that have or want claims on the firewall or zone that it is. */
export function troublesIn(cells: ReadonlyMap<ActorId, Cell>): ReadonlyMap<ActorId, Finding> {
  const all = new Map<ActorId, Finding>();
  for (const [id, cell] of cells) {
    const { trouble } = cell;
    if (!trouble) continue;
    const { records, unheardOf } = cell;
    const { claims = {} } = (records.get(id)?.snapshot.context ?? {}) as { readonly claims?: Readonly<Record<ActorId, unknown>> };
    for (const concerned of [id, ...[...Object.keys(claims), ...unheardOf].map(cellOf)])
      if (!all.has(concerned)) all.set(concerned, trouble);
  }
  return all;
}
