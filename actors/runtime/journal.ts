import { type AddressContext, addressContext } from '../../machines/address/context.ts';
import { cellOf } from '../../machines/model/actor-id.ts';
import type { ActorId, Address } from '../../machines/model/types.ts';
import type { JournalEntry, Json } from '../ports/records.ts';
import type { Chart, StoredSnapshot } from './charts.ts';
import type { MachineEvent } from './step.ts';

/** The only chart whose transitions are kept with their input. Other charts observe the whole cluster, so only their states are kept. */
const ADDRESS = 'ip';

/** Limit for the JSON of an event, and for that of a context, in characters; if either is longer, neither is kept. */
const LONGEST = 1_500;

/** One transition as it is stored. */
export function journalEntry(actor: ActorId, chart: Chart, before: StoredSnapshot, event: MachineEvent, to: unknown): JournalEntry {
  const { type, at, ...data } = event;
  const entry: JournalEntry = { actor, at, event: type, from: before.value as Json, to: to as Json };
  if (chart.name !== ADDRESS) return entry;
  const was = differing(before.context as AddressContext);
  const fits = JSON.stringify(data).length <= LONGEST && JSON.stringify(was).length <= LONGEST;
  return fits ? { ...entry, chart: chart.version, data: data as Json, was: was as Json } : entry;
}

/** The snapshot before the transition, and the event: the input from which `step` reproduces it. Null where the entry does not hold enough. */
export function remembered({ actor, at, event, from, data, was }: JournalEntry): {
  readonly before: StoredSnapshot;
  readonly event: MachineEvent;
} | null {
  if (data === undefined || was === undefined) return null;
  return {
    before: { value: from, context: { ...blank(actor), ...(was as Partial<AddressContext>) } },
    event: { ...(data as Readonly<Record<string, unknown>>), type: event, at },
  };
}

/** Most fields of a context keep their initial values: only the others are kept. */
function differing(context: AddressContext): Partial<AddressContext> {
  const base: Readonly<Record<string, unknown>> = { ...blank(context.id) };
  return Object.fromEntries(Object.entries(context).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(base[name])));
}

const blank = (id: ActorId): AddressContext =>
  addressContext({
    id,
    pool: cellOf(id),
    provider: '',
    address: id.slice(id.lastIndexOf('/') + 1) as Address,
    origin: 'Found',
    observed: null,
  });
