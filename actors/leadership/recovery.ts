import type { AddressContext } from '../../machines/address/context.ts';
import { isFirewall } from '../../machines/model/actor-id.ts';
import { cloudOf } from '../../machines/model/provider-key.ts';
import type { ActorId } from '../../machines/model/types.ts';
import type { PoolContext } from '../../machines/pool/context.ts';
import { Unreachable } from '../ports/errors.ts';
import { inSlices } from '../ports/in-slices.ts';
import type { Log } from '../ports/observers.ts';
import type { ActorRecord, CellWrite, Claim, RecordStore, StoredCell } from '../ports/records.ts';
import { type Charts, claimsOf } from '../runtime/charts.ts';
import { unfit } from '../runtime/step.ts';
import { alsoOwned, type Memory, settledBy } from './in-doubt.ts';
import { type RebuildPorts, rebuilt } from './restored-pool.ts';

type Cells = ReadonlyMap<ActorId, StoredCell>;

export interface TakeoverPorts extends RebuildPorts {
  readonly store: RecordStore;
  readonly log: Log;
}

// ---------------------------------------------------------------- Continue

/** What the store holds, in today's form. A cell that cannot be migrated is rebuilt. @throws Unreachable */
export async function loadCells(ports: TakeoverPorts, term: number): Promise<Cells> {
  const cells = new Map<ActorId, StoredCell>();
  for (const id of await ports.store.cells()) {
    const stored = await ports.store.load(id);
    if (!stored) continue;
    const read = usable(id, stored, ports.charts);
    if ('why' in read)
      ports.log.warn('stored records are set aside and rebuilt from the status and the provider', { cell: id, message: read.why });
    const cell = 'why' in read ? await rebuild(id, stored, ports, term) : read.cell;
    if (cell) cells.set(id, cell);
  }
  return cells;
}

/** Overwrites the stored cells with what this process remembers. Other cells in the store have ended, or should have ended without this process knowing of them. `unread`:
 *  this process began without the store, the only source for what was added to firewalls earlier; that is kept as in a rebuild. @throws Unreachable */
export async function writeMemory(memory: Memory, ports: TakeoverPorts, term: number, unread: boolean): Promise<Cells> {
  const { store } = ports;
  const cells = new Map<ActorId, StoredCell>();
  for (const [id, records] of memory) {
    const first = records.get(id);
    if (!first) continue;
    const kept = unread && isFirewall(id) ? keptOf(id, (await store.load(id))?.records ?? {}, ports, term) : null;
    cells.set(id, await replace(id, kept ? new Map([[id, alsoOwned(first, kept)]]) : records, store, term));
  }
  for (const id of await store.cells()) {
    const cell = cells.has(id) ? null : await rebuild(id, await store.load(id), ports, term, memory);
    if (cell) cells.set(id, cell);
  }
  return cells;
}

/** Stored nodes may be stale: an outcome that arrives before the pool resumes must grant nothing based on them. */
export const withUnknownNodes = (cell: StoredCell): StoredCell => ({
  ...cell,
  records: Object.fromEntries(
    Object.entries(cell.records).map(([actor, record]) => [actor, record.chart === 'pool' ? unprimed(record) : record]),
  ),
});

const unprimed = (record: ActorRecord): ActorRecord => {
  const context = record.snapshot.context as unknown as PoolContext;
  return { ...record, snapshot: { ...record.snapshot, context: { ...context, query: null } } as unknown as ActorRecord['snapshot'] };
};

function usable(id: ActorId, stored: StoredCell, charts: Charts): { readonly cell: StoredCell } | { readonly why: string } {
  if (!stored.records[id]) return { why: 'its first record is missing' };
  const records: Record<ActorId, ActorRecord> = {};
  for (const [actor, record] of Object.entries(stored.records)) {
    const read = readable(record, charts);
    if ('why' in read) return { why: `${actor}: ${read.why}` };
    records[actor] = read.record;
  }
  return { cell: { ...stored, records } };
}

type Read = { readonly record: ActorRecord } | { readonly why: string };

function readable(record: ActorRecord, charts: Charts): Read {
  try {
    return migrated(record, charts);
  } catch (error) {
    return { why: String(error) };
  }
}

function migrated(record: ActorRecord, charts: Charts): Read {
  const chart = charts[record.chart];
  if (!chart) return { why: `no chart is named ${record.chart}` };
  const snapshot =
    record.chartVersion === chart.version ? record.snapshot : (chart.migrate?.(record.snapshot, record.chartVersion) ?? null);
  if (!snapshot) return { why: `${record.chart} is at version ${record.chartVersion}, this program knows ${chart.version}` };
  const why = unfit(chart, snapshot);
  if (why !== null) return { why: `${record.chart} ${why}` };
  return { record: { ...record, chartVersion: chart.version, snapshot: snapshot as ActorRecord['snapshot'] } };
}

/** Sets the end of what is in doubt to `until`, for a firewall to `until` at the latest: a process that carries out the next decisions need not know that this process came
 *  back. */
export const inDoubtUntil = (cells: Cells, until: number): Cells =>
  new Map([...cells].map(([id, cell]) => [id, { ...cell, records: Object.fromEntries(renewedIn(Object.entries(cell.records), until)) }]));

/** The same for what is only in memory yet. */
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

// ---------------------------------------------------------------- Rebuild

/** Replaces everything in the store with what is rebuilt, cell by cell. @throws Unreachable */
export async function rebuildCells(ports: TakeoverPorts, term: number): Promise<void> {
  for (const id of await ports.store.cells()) await rebuild(id, await ports.store.load(id), ports, term);
}

/** One write: a process that ends midway leaves each cell as it was, or rebuilt with everything that is kept of it. */
async function rebuild(
  id: ActorId,
  stored: StoredCell | null,
  ports: TakeoverPorts,
  term: number,
  memory?: Memory,
): Promise<StoredCell | null> {
  const record = keptOf(id, stored?.records ?? {}, ports, term, memory);
  if (record) return replace(id, new Map([[id, record]]), ports.store, term);
  if (!(await ports.store.drop(id, term))) throw new Unreachable(`the store does not hold term ${term} any more`);
  return null;
}

/** Unreadable records block no takeover. */
function keptOf(cell: ActorId, records: StoredCell['records'], ports: TakeoverPorts, term: number, memory?: Memory): ActorRecord | null {
  try {
    return rebuilt(cell, records, term, ports, memory);
  } catch (error) {
    ports.log.warn('nothing is kept of records that cannot be read', { cell, error: String(error) });
    return null;
  }
}

// ---------------------------------------------------------------- both

/** No record is written this often: higher versions are not trusted for counting. */
const FAR_VERSION = 1e12;

async function replace(cell: ActorId, records: ReadonlyMap<ActorId, ActorRecord>, store: RecordStore, term: number): Promise<StoredCell> {
  const stored = await store.load(cell);
  const versionOf = (actor: ActorId): number => stored?.records[actor]?.version ?? 0;
  const after = (...versions: number[]): number => Math.max(0, ...versions.filter((version) => version < FAR_VERSION)) + 1;
  const newer = Object.fromEntries(
    [...records].map(([actor, record]) => [actor, { ...record, version: after(record.version, versionOf(actor)), term }]),
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
    journal: [],
    overwrites: true,
  };
  const saved = await store.save(write);
  if (saved.kind !== 'saved') throw new Unreachable(`${cell} could not be written again: ${saved.kind}`);
  return { records: newer, outbox: [], seen: stored?.seen ?? {} };
}

/** Replaces the stored claims with those that the records imply, before any election. @throws Unreachable when the store no longer holds the term */
export async function resetClaims(
  cells: ReadonlyMap<ActorId, StoredCell>,
  { charts, store, providers, clock }: Pick<TakeoverPorts, 'charts' | 'store' | 'providers' | 'clock'>,
  term: number,
): Promise<void> {
  const held: Claim[] = [];
  const claimsIn = ([actor, record]: readonly [ActorId, ActorRecord]): readonly Claim[] => {
    const chart = charts[record.chart];
    return chart ? claimsOf(chart, actor, record.snapshot.context) : [];
  };
  await inSlices(
    cells.values(),
    clock,
    () => false,
    ({ records }) => void held.push(...Object.entries(records).flatMap(claimsIn)),
  );
  const claims = Map.groupBy(held, ({ provider }) => provider);
  for (const cloud of new Set([...Object.keys(providers.all).map(cloudOf), ...claims.keys()])) {
    if (!(await store.resetClaims(cloud, claims.get(cloud) ?? [], term)))
      throw new Unreachable(`the store does not hold term ${term} any more`);
  }
}
