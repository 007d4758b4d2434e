import type { ActorRecord, CellWrite, Claim, Command, SaveResult, StoredCell } from '../../actors/ports/records.ts';
import type { ActorId } from '../../machines/model/types.ts';

/** The content of the store. Records, commands and journal entries are JSON text. */
export interface StoreData {
  /** The open term; null for an emptied store. */
  term: number | null;
  /** The run of the server that opened that term. */
  openedBy: number;
  readonly cells: Map<ActorId, CellData>;
  /** Provider → node → owners. */
  readonly claims: Map<string, Map<string, Set<ActorId>>>;
}

export interface StoredRecord {
  readonly version: number;
  /** Invoke or send id → command id. */
  readonly waiting: Readonly<Record<string, string>>;
  readonly json: string;
}

export interface CellData {
  readonly records: Map<ActorId, StoredRecord>;
  readonly outbox: Map<string, string>;
  readonly seen: Map<ActorId, string>;
  /** Oldest first. */
  readonly journal: string[];
}

/** A snapshot, unaffected by later writes. Stored values are never mutated, only replaced. */
export const copyOf = ({ term, openedBy, cells, claims }: StoreData): StoreData => ({
  term,
  openedBy,
  cells: new Map(
    [...cells].map(([id, { records, outbox, seen, journal }]) => [
      id,
      { records: new Map(records), outbox: new Map(outbox), seen: new Map(seen), journal: [...journal] },
    ]),
  ),
  claims: new Map([...claims].map(([provider, nodes]) => [provider, new Map([...nodes].map(([node, owners]) => [node, new Set(owners)]))])),
});

const emptyCell = (): CellData => ({ records: new Map(), outbox: new Map(), seen: new Map(), journal: [] });

export const cellOf = (cell: CellData): StoredCell => ({
  records: Object.fromEntries([...cell.records].map(([actor, { json }]) => [actor, JSON.parse(json) as ActorRecord])),
  outbox: [...cell.outbox.values()].map((json) => JSON.parse(json) as Command),
  seen: Object.fromEntries(cell.seen),
});

export const claimsOf = (claims: readonly Claim[]): Map<string, Set<ActorId>> => {
  const nodes = new Map<string, Set<ActorId>>();
  for (const { node, owner } of claims) nodes.set(node, (nodes.get(node) ?? new Set()).add(owner));
  return nodes;
};

/** Performs one write atomically: checks everything first, and changes data only once nothing can fail. */
export const saveInto = (data: StoreData, write: CellWrite, journalLength: number): SaveResult => {
  if (data.term === null || data.term < write.term) return { kind: 'lost' };
  if (data.term !== write.term) return { kind: 'stale', what: 'term' };
  const cell = data.cells.get(write.cell) ?? emptyCell();
  const versionOf = (actor: ActorId): number => cell.records.get(actor)?.version ?? 0;
  if (write.records.some(({ actor, expected }) => versionOf(actor) < expected)) return { kind: 'lost' };
  if (write.records.some(({ actor, expected }) => versionOf(actor) !== expected)) return { kind: 'stale', what: 'version' };
  const claimed = claimedBy(data, write);
  if (claimed.full.length > 0) return { kind: 'claimsFull', nodes: claimed.full };
  for (const [provider, nodes] of claimed.changed) data.claims.set(provider, new Map([...nodes].filter(([, owners]) => owners.size > 0)));
  data.cells.set(write.cell, cell);
  writeCell(cell, write, journalLength);
  return { kind: 'saved' };
};

type ClaimsByProvider = Map<string, Map<string, Set<ActorId>>>;

/** The claims after the write: claims it frees are available to those it takes. */
const claimedBy = (data: StoreData, { claims }: CellWrite): { readonly full: readonly string[]; readonly changed: ClaimsByProvider } => {
  const changed: ClaimsByProvider = new Map();
  const ownersOf = (provider: string, node: string): Set<ActorId> => {
    const nodes = changed.get(provider) ?? new Map([...(data.claims.get(provider) ?? [])].map(([name, owners]) => [name, new Set(owners)]));
    changed.set(provider, nodes);
    const owners = nodes.get(node) ?? new Set<ActorId>();
    nodes.set(node, owners);
    return owners;
  };
  for (const { provider, node, owner } of claims.free) ownersOf(provider, node).delete(owner);
  const full = new Set<string>();
  for (const { provider, node, owner, limit } of claims.take) {
    const owners = ownersOf(provider, node);
    if (owners.has(owner)) continue;
    if (owners.size >= limit) full.add(node);
    else owners.add(owner);
  }
  return { full: [...full].sort(), changed };
};

const writeCell = (cell: CellData, write: CellWrite, journalLength: number): void => {
  for (const { actor, record } of write.records) {
    if (record === null) cell.records.delete(actor);
    else cell.records.set(actor, storedRecord(record));
  }
  for (const id of write.outbox.clear) cell.outbox.delete(id);
  for (const command of write.outbox.add) if (!cell.outbox.has(command.id)) cell.outbox.set(command.id, JSON.stringify(command));
  for (const [sender, id] of Object.entries(write.seen)) {
    if (id === null) cell.seen.delete(sender);
    else cell.seen.set(sender, id);
  }
  cell.journal.push(...write.journal.map((entry) => JSON.stringify(entry)));
  if (cell.journal.length > journalLength) cell.journal.splice(0, cell.journal.length - journalLength);
};

const storedRecord = (record: ActorRecord): StoredRecord => ({
  version: record.version,
  waiting: Object.fromEntries(Object.entries(record.waiting).map(([id, { commandId }]) => [id, commandId])),
  json: JSON.stringify(record),
});
