import type { AddressContext } from '../machines/ip-context.ts';
import type { PoolContext } from '../machines/pool.ts';
import { cloudOf } from '../machines/provider-key.ts';
import type { Doubt } from '../machines/rebuild.ts';
import type { ActorId, Address } from '../machines/types.ts';
import { type Charts, claimsOf } from './charts.ts';
import { Unreachable } from './errors.ts';
import { type LeftoverPorts, leftover } from './leftovers.ts';
import type { Log } from './ports/observers.ts';
import type { ActorRecord, CellWrite, Claim, JournalEntry, RecordStore, StoredCell } from './ports.ts';
import { fits } from './step.ts';
import { settledBy } from './unheard.ts';

/** Records by cell, as an earlier term of this process left them. */
export type Memory = ReadonlyMap<ActorId, ReadonlyMap<ActorId, ActorRecord>>;

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

/** What writing to records that are out of date takes besides. */
export type RestorePorts = TakeoverPorts & LeftoverPorts;

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

/** What is kept of records that are dropped, by the uid of the object. */
export interface Dropped {
  /** The last term under which they may have been written. */
  readonly term: number;
  /** Creations that may be under way. Nothing is created while the store is away: nobody can have changed them who has decided without them. */
  readonly intents: ReadonlyMap<string, Intent>;
  /** Assigns that may be under way. */
  readonly doubts: ReadonlyMap<string, ReadonlyMap<Address, Doubt>>;
}

type Intent = NonNullable<PoolContext['acquiring']['intent']>;

/** The same while records are being dropped. */
export interface Dropping extends Dropped {
  readonly intents: Map<string, Intent>;
  readonly doubts: Map<string, ReadonlyMap<Address, Doubt>>;
}

/** Takes everything out of a store that holds the term of `dropping`, but for what is still to be ended, and notes there what is kept of each before it goes. @throws Unreachable */
export async function dropOutdated(ports: RestorePorts, { term, intents, doubts }: Dropping): Promise<void> {
  const { store } = ports;
  for (const cell of await store.cells()) {
    const records = (await store.load(cell))?.records ?? {};
    const left = leftover(cell, records, ports);
    if (left) {
      await restore(cell, new Map([[cell, left]]), { store, term, journal: [] });
      continue;
    }
    const { ref, acquiring } = (records[cell]?.snapshot.context ?? {}) as Partial<PoolContext>;
    if (ref && acquiring?.intent) intents.set(ref.uid, acquiring.intent);
    if (ref) doubts.set(ref.uid, new Map(Object.values(records).flatMap(doubtIn)));
    if (!(await store.drop(cell, term))) throw new Unreachable(`the store does not hold term ${term} any more`);
  }
}

/** What a record tells of an assign that may be under way: nothing where there is none. */
function doubtIn({ chart, snapshot, waiting }: ActorRecord): readonly (readonly [Address, Doubt])[] {
  if (chart !== 'ip') return [];
  const { address, epoch, elected, inDoubtUntil } = snapshot.context as unknown as AddressContext;
  if (inDoubtUntil === null && waiting.assign === undefined) return [];
  return [[address, { epoch, ...(elected && { toward: elected.name }) }]];
}

/** The transitions that were kept in other places since, and that the journal of a cell in the store does not have yet. */
export const journalsOf =
  (store: RecordStore, later: readonly RecordStore[]): JournalOf =>
  async (cell) => {
    if (later.length === 0) return [];
    const texts = async (from: RecordStore): Promise<readonly string[]> =>
      (await oldestFirst(from, cell)).map((entry) => JSON.stringify(entry));
    const [there, ...others] = await Promise.all([store, ...later].map(texts));
    const missing = new Set(others.flat()).difference(new Set(there));
    return [...missing].slice(-JOURNAL_LENGTH).map((text) => JSON.parse(text) as JournalEntry);
  };

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
  ports: RestorePorts,
  term: number,
  journalOf: JournalOf,
): Promise<ReadonlyMap<ActorId, StoredCell>> {
  const { store } = ports;
  const cells = new Map<ActorId, StoredCell>();
  for (const [cell, records] of memory) {
    if (records.has(cell)) cells.set(cell, await restore(cell, records, { store, term, journal: await journalOf(cell) }));
  }
  // What has ended since the store was written last, or was to end while nobody knew of it.
  for (const cell of await store.cells()) {
    if (cells.has(cell)) continue;
    const left = leftover(cell, (await store.load(cell))?.records ?? {}, ports);
    if (left) cells.set(cell, await restore(cell, new Map([[cell, left]]), { store, term, journal: [] }));
    else await store.drop(cell, term);
  }
  return cells;
}

/** With what is in doubt in them being so until then, a firewall at the latest. Whoever carries out what is decided next need not know then that there was an outage. */
export const inDoubtUntil = (cells: ReadonlyMap<ActorId, StoredCell>, until: number): ReadonlyMap<ActorId, StoredCell> =>
  new Map([...cells].map(([id, cell]) => [id, { ...cell, records: Object.fromEntries(renewedIn(Object.entries(cell.records), until)) }]));

/** The same of what is only in memory yet. */
export const rememberedInDoubtUntil = (memory: Memory, until: number): Memory =>
  new Map([...memory].map(([id, records]) => [id, new Map(renewedIn([...records], until))]));

const renewedIn = (records: readonly (readonly [ActorId, ActorRecord])[], until: number) =>
  records.map(([actor, record]) => [actor, renewed(record, until)] as const);

function renewed(record: ActorRecord, until: number): ActorRecord {
  const context = record.snapshot.context as Partial<AddressContext & PoolContext>;
  const { acquiring } = context;
  const doubts = {
    ...(record.chart === 'ip' && typeof context.inDoubtUntil === 'number' && { inDoubtUntil: until }),
    ...(record.chart === 'pool' && typeof acquiring?.inDoubtUntil === 'number' && { acquiring: { ...acquiring, inDoubtUntil: until } }),
  };
  const settled = settledBy(record, until);
  return {
    ...settled,
    snapshot: { ...settled.snapshot, context: { ...(settled.snapshot.context as object), ...doubts } } as ActorRecord['snapshot'],
  };
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
