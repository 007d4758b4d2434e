import type { ActorRecord, Command, JournalEntry, StoredCell, Waiting } from '../../actors/ports/records.ts';
import { fieldsOf, isFields } from '../../machines/model/types.ts';

/** Alternating fields and values, as returned by HGETALL inside a script. */
export type CellReply = readonly [records: readonly string[], heads: readonly string[], outbox: readonly string[], seen: readonly string[]];

/** A longer value is not a record, characters. */
const LONGEST_RECORD = 8 * 2 ** 20;

const pairs = (flat: readonly string[]): [string, string][] =>
  flat.flatMap((field, index) => (index % 2 === 0 ? [[field, flat[index + 1] ?? ''] as [string, string]] : []));

/** Splits `<number> <JSON>`; the number is 0 when missing. */
const split = (numbered: string): [number, unknown] => {
  const [, digits = '0', json = ''] = /^(\d{1,15}) (.*)$/s.exec(numbered) ?? [];
  return [Number(digits), parsed(json)];
};

function parsed(json: string): unknown {
  if (json.length > LONGEST_RECORD) return undefined;
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** The version of a record, and what it waits for: 0 and nothing when not written by this operator. */
export const headIn = (head: string | null): { readonly version: number; readonly waiting: Readonly<Record<string, Waiting>> } => {
  const [version, waiting] = split(head ?? '');
  return { version, waiting: fieldsOf(waiting) as Readonly<Record<string, Waiting>> };
};

/** Replaces an unreadable record: its chart does not exist, so the cell is rebuilt. */
const unreadable = (version: number): ActorRecord =>
  ({ chart: 'unreadable', chartVersion: 0, snapshot: { context: {} }, waiting: {}, version, term: 0 }) as unknown as ActorRecord;

const isRecord = (value: unknown): value is ActorRecord => {
  const { chart, chartVersion, snapshot, waiting, term } = fieldsOf(value);
  const isNamed = typeof chart === 'string' && typeof chartVersion === 'number' && typeof term === 'number';
  return isNamed && isFields(waiting) && isFields(snapshot) && isFields(snapshot.context);
};

/** The stored cell. The heads define which records exist. */
export const cellIn = ([records, heads, outbox, seen]: CellReply): StoredCell => {
  const stored = new Map(pairs(records));
  const recordOf = (actor: string, head: string): ActorRecord => {
    const { version } = headIn(head);
    const record = parsed(stored.get(actor) ?? '');
    return isRecord(record) && record.version === version ? record : unreadable(version);
  };
  return {
    records: Object.fromEntries(pairs(heads).map(([actor, head]) => [actor, recordOf(actor, head)])),
    outbox: pairs(outbox)
      .map(([id, numbered]) => [id, ...split(numbered)] as const)
      .filter(([id, , command]) => fieldsOf(command).id === id)
      .sort(([, a], [, b]) => a - b)
      .map(([, , command]) => command as Command),
    seen: Object.fromEntries(pairs(seen)),
  };
};

export const journalIn = (entries: readonly string[]): readonly JournalEntry[] =>
  entries.map(parsed).filter((entry) => isFields(entry)) as unknown as readonly JournalEntry[];
