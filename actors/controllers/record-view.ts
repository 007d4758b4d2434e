import type { AddressContext } from '../../machines/address/context.ts';
import type { RecordSetContext } from '../../machines/dns/record-set.ts';
import type { FirewallContext } from '../../machines/firewall/context.ts';
import { cellOf } from '../../machines/model/actor-id.ts';
import type { ActorId, Address, Finding } from '../../machines/model/types.ts';
import type { PoolContext } from '../../machines/pool/context.ts';
import type { AddressView, PoolView } from '../../machines/pool/view.ts';
import type { RecordSetView } from '../../machines/status/record-set.ts';
import type { ActorRecord } from '../ports/records.ts';

/** The name of the outermost active state: `Stable` for `{ Stable: 'Holding' }`. */
export const stateOf = (value: unknown): string => (typeof value === 'string' ? value : (Object.keys((value ?? {}) as object)[0] ?? ''));

/** Context of a pool's record; undefined while it has none. */
export const poolContextIn = (records: ReadonlyMap<ActorId, ActorRecord> | null | undefined, id: ActorId): PoolContext | undefined =>
  records?.get(id)?.snapshot.context as unknown as PoolContext | undefined;

/** An address's record as decisions about status and Events read it. */
export const addressView = ({ snapshot }: ActorRecord): AddressView => ({
  state: stateOf(snapshot.value),
  context: snapshot.context as unknown as AddressContext,
});

/** What a job of the actor waits for, as shown to users; null for nothing. */
export const waitsIn = (record: ActorRecord | null | undefined): Finding | null =>
  Object.values(record?.waiting ?? {}).find(({ waits }) => waits)?.waits ?? null;

/** A pool's cell as decisions about status read it, at a time in ms since the epoch; null while it has no pool. */
export function poolView(cell: ActorId, records: ReadonlyMap<ActorId, ActorRecord>, at: number): PoolView | null {
  const pool = records.get(cell);
  if (pool?.chart !== 'pool') return null;
  const addresses: Record<Address, AddressView> = {};
  let { term } = pool;
  let recordSet: RecordSetContext | null = null;
  for (const record of records.values()) {
    term = Math.max(term, record.term);
    if (record.chart === 'dns-record-set') recordSet = record.snapshot.context as unknown as RecordSetContext;
    if (record.chart !== 'ip') continue;
    const shown = addressView(record);
    addresses[shown.context.address] = shown;
  }
  return { state: stateOf(pool.snapshot.value), context: pool.snapshot.context as unknown as PoolContext, addresses, recordSet, term, at };
}

/** The cell of a NodeDNSRecordSet as decisions about status read it; null while it has none. */
export function recordSetView(cell: ActorId, records: ReadonlyMap<ActorId, ActorRecord>): RecordSetView | null {
  const record = records.get(cell);
  return record?.chart === 'dns-record-set' ? { context: record.snapshot.context as unknown as RecordSetContext, term: record.term } : null;
}

/** The RoutedIPs that have claims on a firewall. */
export function claimantsOf(record: ActorRecord | undefined): readonly ActorId[] {
  const { claims = {} } = (record?.snapshot.context ?? {}) as unknown as Partial<FirewallContext>;
  return [...new Set(Object.keys(claims).map(cellOf))];
}
