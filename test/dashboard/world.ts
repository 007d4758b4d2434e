import type { Transition } from '../../actors/ports/observers.ts';
import type { ActorRecord, JournalEntry, Json, Waiting } from '../../actors/ports/records.ts';
import type { MachineLike } from '../../adapters/dashboard/definition.ts';
import { type Dashboard, startDashboard } from '../../adapters/dashboard/server.ts';
import { accessTo } from '../../adapters/telemetry/access.ts';
import { redaction } from '../../adapters/telemetry/redaction.ts';
import { sampleMachine } from './sample-machine.ts';

type Options = Parameters<typeof startDashboard>[0];

interface Change {
  readonly event: string;
  readonly to: Json;
  readonly context?: { readonly [key: string]: Json };
  readonly waiting?: Readonly<Record<string, Waiting>>;
}

/** Records as a leader would hold them, a journal of what became of them, and the dashboard that shows both. */
export interface World {
  readonly dashboard: Dashboard;
  readonly url: string;
  inventory: object | null;
  leadership: { leading: boolean; term: number; leader: string | null; reach: string | null; observes?: true };
  /** Puts actors there without telling the dashboard, as they are when a process starts to lead. */
  put(chart: string, actor: string, change: Omit<Change, 'event'>): void;
  /** What the journal tells of before this process led. */
  wrote(entry: JournalEntry): void;
  /** One saved turn that changes these actors. */
  turn(changes: Readonly<Record<string, Change | null>>): void;
  readonly records: ReadonlyMap<string, ActorRecord>;
}

export const SECRET = 'dop_v1_never_shown';

export const addressActor = (index: number, pool = 'default/ingress'): string => `pool/${pool}/ip/${addressAt(index)}`;
export const addressAt = (index: number): string => `203.0.${113 + Math.floor(index / 250)}.${(index % 250) + 1}`;

export async function startWorld(change: Partial<Options> = {}, charts: Readonly<Record<string, MachineLike>> = {}): Promise<World> {
  const records = new Map<string, ActorRecord>();
  const journal: JournalEntry[] = [];
  const bind = { host: '127.0.0.1', port: 0 };
  const leadership: World['leadership'] = { leading: true, term: 7, leader: 'this-replica', reach: null };
  const world = { inventory: null as object | null, leadership };
  const dashboard = await startDashboard({
    bind,
    access: accessTo(bind, null),
    pageFolder: new URL('../../dashboard/', import.meta.url),
    machines: { ip: sampleMachine, ...charts },
    records: () => [...records].map(([actor, record]) => ({ actor, record })),
    inventory: () => world.inventory,
    journal: async (actor, limit) => journal.filter((entry) => entry.actor === actor).slice(0, limit),
    lastChanges: async (actors) =>
      new Map(journal.toReversed().flatMap(({ actor, at }) => (actors.includes(actor) ? [[actor, at] as const] : []))),
    leadership: () => world.leadership,
    links: { Jobs: 'http://127.0.0.1:8082/jobs' },
    version: '0.0.0',
    now: () => Date.now(),
    hide: redaction([{ text: SECRET, what: 'token' }]).hide,
    ...change,
  });

  const recordOf = (chart: string, { to, context, waiting = {} }: Omit<Change, 'event'>, before: ActorRecord | undefined): ActorRecord => ({
    chart,
    chartVersion: 1,
    snapshot: { value: to, context: context ?? before?.snapshot.context ?? {} },
    waiting,
    version: (before?.version ?? 0) + 1,
    term: 7,
  });

  const part = (actor: string, next: Change | null, at: number): Transition => {
    const before = records.get(actor);
    const chart = before?.chart ?? 'ip';
    const after = next ? recordOf(chart, next, before) : null;
    if (after) records.set(actor, after);
    else records.delete(actor);
    const event = next?.event ?? 'GONE';
    journal.unshift({ actor, at, event, from: before?.snapshot.value ?? null, to: after?.snapshot.value ?? null });
    return { actor, chart, events: [event], heard: [], consumed: [], before: before ?? null, after };
  };

  return Object.assign(world, {
    dashboard,
    url: dashboard.url,
    records,
    put: (chart: string, actor: string, next: Omit<Change, 'event'>) => void records.set(actor, recordOf(chart, next, undefined)),
    wrote: (entry: JournalEntry) => void journal.push(entry),
    turn: (changes: Readonly<Record<string, Change | null>>) => {
      const at = Date.now();
      const transitions = Object.entries(changes).map(([actor, next]) => part(actor, next, at));
      dashboard.observer.turnSaved({ cell: 'pool/default/ingress', term: 7, at, transitions });
    },
  });
}
