import type { PoolContext } from '../machines/pool.ts';
import { cloudOf } from '../machines/provider-key.ts';
import type { ActorId } from '../machines/types.ts';
import { type Charts, claimsOf } from './charts.ts';
import { Unreachable } from './errors.ts';
import type { ActorRecord, CellWrite, Claim, JournalEntry, Log, RecordStore, StoredCell } from './ports.ts';
import { fits } from './step.ts';

/** Records by cell, as an earlier term of this process left them. */
export type Memory = ReadonlyMap<ActorId, ReadonlyMap<ActorId, ActorRecord>>;

/** Transitions of former terms by cell, oldest first. */
export type Journals = ReadonlyMap<ActorId, readonly JournalEntry[]>;

/** The transitions of a cell that are to be added to its journal, oldest first. */
export type JournalOf = (cell: ActorId) => Promise<readonly JournalEntry[]>;

/** How many transitions of a cell are taken along at most. */
const JOURNAL_LENGTH = 200;

export interface TakeoverPorts {
  readonly charts: Charts;
  readonly store: RecordStore;
  readonly log: Log;
  readonly providers: { readonly all: Readonly<Record<string, unknown>> };
}

/** What the store holds, in today's form. A cell that cannot be brought into it is dropped, and rebuilt from the status and the provider. */
export async function loadCells(ports: TakeoverPorts, term: number): Promise<ReadonlyMap<ActorId, StoredCell>> {
  const cells = new Map<ActorId, StoredCell>();
  for (const id of await ports.store.cells()) {
    const stored = await ports.store.load(id);
    if (!stored) continue;
    const read = usable(id, stored, ports.charts);
    if ('cell' in read) {
      cells.set(id, read.cell);
      continue;
    }
    ports.log.warn('stored records are set aside and rebuilt from the status and the provider', { cell: id, why: read.why });
    await ports.store.drop(id, term);
  }
  return cells;
}

/** What is kept of records that are dropped: what nobody can have changed who has decided without them. */
export interface Dropped {
  readonly journals: Journals;
  /** By the uid of the object: a creation that may be under way. Nothing is created while the store is away. */
  readonly intents: ReadonlyMap<string, Intent>;
}

export type Intent = NonNullable<PoolContext['acquiring']['intent']>;

/** Takes everything out of a store that holds `term`. @throws Unreachable */
export async function dropOutdated(store: RecordStore, term: number): Promise<Dropped> {
  const journals = new Map<ActorId, readonly JournalEntry[]>();
  const intents = new Map<string, Intent>();
  for (const cell of await store.cells()) {
    journals.set(cell, await oldestFirst(store, cell));
    const { ref, acquiring } = await poolIn(store, cell);
    if (ref && acquiring?.intent) intents.set(ref.uid, acquiring.intent);
    if (!(await store.drop(cell, term))) throw new Unreachable(`the store does not hold term ${term} any more`);
  }
  return { journals, intents };
}

/** What the record that the cell is named after remembers, if it is one of a pool. */
const poolIn = async (store: RecordStore, cell: ActorId): Promise<Partial<PoolContext>> =>
  ((await store.load(cell))?.records[cell]?.snapshot.context ?? {}) as Partial<PoolContext>;

/** What the journals of a cell hold, those that were kept last at the end. */
export const journalsOf =
  (former: Journals, later: readonly RecordStore[]): JournalOf =>
  async (cell) =>
    [...(former.get(cell) ?? []), ...(await Promise.all(later.map((store) => oldestFirst(store, cell)))).flat()].slice(-JOURNAL_LENGTH);

const oldestFirst = async (store: RecordStore, cell: ActorId): Promise<readonly JournalEntry[]> =>
  [...(await store.journal(cell, JOURNAL_LENGTH))].reverse();

function usable(id: ActorId, stored: StoredCell, charts: Charts): { readonly cell: StoredCell } | { readonly why: string } {
  if (!stored.records[id]) return { why: 'its first record is missing' };
  const records: Record<ActorId, ActorRecord> = {};
  for (const [actor, record] of Object.entries(stored.records)) {
    const read = migrated(record, charts);
    if ('why' in read) return { why: `${actor}: ${read.why}` };
    records[actor] = read.record;
  }
  return { cell: { ...stored, records } };
}

function migrated(record: ActorRecord, charts: Charts): { readonly record: ActorRecord } | { readonly why: string } {
  const chart = charts[record.chart];
  if (!chart) return { why: `no chart is named ${record.chart}` };
  const snapshot =
    record.chartVersion === chart.version ? record.snapshot : (chart.migrate?.(record.snapshot, record.chartVersion) ?? null);
  if (!snapshot) return { why: `${record.chart} is at version ${record.chartVersion}, this program knows ${chart.version}` };
  if (!fits(chart, snapshot)) return { why: `${record.chart} has no state ${JSON.stringify(snapshot.value)}` };
  return { record: { ...record, chartVersion: chart.version, snapshot: snapshot as ActorRecord['snapshot'] } };
}

/** Writes what this process remembers over whatever the store kept of it: the store was emptied, or went back in time. */
export async function restoreCells(
  memory: Memory,
  { store }: TakeoverPorts,
  term: number,
  journalOf: JournalOf,
): Promise<ReadonlyMap<ActorId, StoredCell>> {
  const cells = new Map<ActorId, StoredCell>();
  for (const [cell, records] of memory) {
    if (records.has(cell)) cells.set(cell, await restore(cell, records, { store, term, journal: await journalOf(cell) }));
  }
  // What has ended since the store was written last.
  for (const cell of await store.cells()) if (!cells.has(cell)) await store.drop(cell, term);
  return cells;
}

interface Restoring {
  readonly store: RecordStore;
  readonly term: number;
  /** What is to be added to it, oldest first. */
  readonly journal: readonly JournalEntry[];
}

async function restore(
  cell: ActorId,
  records: ReadonlyMap<ActorId, ActorRecord>,
  { store, term, journal }: Restoring,
): Promise<StoredCell> {
  const stored = await store.load(cell);
  const versionOf = (actor: ActorId): number => stored?.records[actor]?.version ?? 0;
  const newer = Object.fromEntries(
    [...records].map(([actor, record]) => [actor, { ...record, version: Math.max(record.version, versionOf(actor)) + 1, term }]),
  );
  const gone = Object.keys(stored?.records ?? {}).filter((actor) => !records.has(actor));
  const write: CellWrite = {
    cell,
    term,
    records: [
      ...Object.entries(newer).map(([actor, record]) => ({ actor, expected: versionOf(actor), record })),
      ...gone.map((actor) => ({ actor, expected: versionOf(actor), record: null })),
    ],
    outbox: { add: [], clear: stored?.outbox.map(({ id }) => id) ?? [] },
    claims: { take: [], free: [] },
    seen: {},
    journal,
  };
  const saved = await store.save(write);
  if (saved.kind !== 'saved') throw new Unreachable(`${cell} could not be written again: ${saved.kind}`);
  return { records: newer, outbox: [], seen: stored?.seen ?? {} };
}

/** Puts the claims that the records imply in the place of the stored ones, before anything is elected. @throws Unreachable when the term does not hold any more */
export async function resetClaims(
  cells: ReadonlyMap<ActorId, StoredCell>,
  { charts, store, providers }: TakeoverPorts,
  term: number,
): Promise<void> {
  const claims = new Map<string, Claim[]>(Object.keys(providers.all).map((key) => [cloudOf(key), []]));
  for (const { records } of cells.values()) {
    for (const [actor, record] of Object.entries(records)) {
      const chart = charts[record.chart];
      for (const claim of chart ? claimsOf(chart, actor, record.snapshot.context) : []) {
        claims.set(claim.provider, [...(claims.get(claim.provider) ?? []), claim]);
      }
    }
  }
  for (const [cloud, held] of claims) {
    if (!(await store.resetClaims(cloud, held, term))) throw new Unreachable(`the store does not hold term ${term} any more`);
  }
}
