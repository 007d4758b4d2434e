import { hostname } from 'node:os';
import type { Log, Observer } from '../actors/ports/observers.ts';
import type { Clock, JournalEntry, RecordStore } from '../actors/ports/records.ts';
import type { Charts } from '../actors/runtime/charts.ts';
import type { Supervisor } from '../actors/supervisor.ts';
import type { BullQueues } from '../adapters/bullmq/queues.ts';
import type { Environment, Options } from '../adapters/cli/options.ts';
import { accessTo } from '../adapters/telemetry/access.ts';
import { parseBindAddress } from '../adapters/telemetry/bind-address.ts';
import type { Redaction } from '../adapters/telemetry/redaction.ts';
import { cellOf } from '../machines/model/actor-id.ts';
import type { ActorId, Difference } from '../machines/model/types.ts';

/** Next to this folder in the source and in the build. */
const FILES = new URL('../dashboard/', import.meta.url);

/** Number of transitions of a cell that are read. */
const JOURNAL = 200;

export interface PagesContext {
  readonly version: string;
  /** The namespace of the operator's Pods; null when it runs outside a cluster. */
  readonly podNamespace: string | null;
  readonly log: Log;
  readonly clock: Clock;
  readonly secrets: Redaction;
  readonly charts: Charts;
  /** Null when jobs are in memory: then there is no job dashboard. */
  readonly board: BullQueues | null;
  readonly queueNames: () => readonly string[];
  readonly store: RecordStore;
  readonly supervisor: () => Supervisor | undefined;
  /** What an observe-only operator withholds; absent for a normal one. */
  readonly changes?: () => readonly Difference[];
}

export interface Pages {
  readonly observers: readonly Observer[];
  readonly close: () => Promise<void>;
}

interface Page {
  readonly observers: readonly Observer[];
  readonly close: () => Promise<void>;
}

/** The pages for users. Each is loaded only when enabled: an operator without them stays lean. */
export async function servePages(options: Options, { dashboardToken }: Environment, context: PagesContext): Promise<Pages> {
  const pages: Page[] = [];
  if (options.dashboardBindAddr) pages.push(await dashboard(options.dashboardBindAddr, options, dashboardToken, context));
  if (options.inspect) pages.push(await inspector(options.inspect, options, dashboardToken, context));
  if (options.journalBindAddr) pages.push(await journal(options.journalBindAddr, context));
  return {
    observers: pages.flatMap(({ observers }) => observers),
    close: async () => void (await Promise.all(pages.map(({ close }) => close()))),
  };
}

async function dashboard(address: string, { jobsWritable }: Options, token: string | null, context: PagesContext): Promise<Page> {
  const { version, log, clock, secrets, store, changes } = context;
  const bind = parseBindAddress(address);
  const [{ startDashboard }, board] = await Promise.all([import('../adapters/dashboard/server.ts'), jobBoard(jobsWritable, context)]);
  const served = await startDashboard({
    bind,
    access: accessTo(bind, token),
    pageFolder: FILES,
    ...shown(context),
    inventory: () => context.supervisor()?.inventory ?? null,
    journal: async (actor, limit) => (await journalOf(store, actor)).slice(0, limit),
    lastChanges: (actors) => lastChanges(store, actors),
    leadership: () => leadership(context, bind.port),
    links: { Inventory: '/inventory.html', ...(board && { Jobs: '/jobs' }) },
    notes: board ? [] : ['jobs in memory: no job dashboard'],
    mounts: board ? { '/jobs': (request, response) => board.handle(request, response) } : {},
    version,
    ...(changes && { changes }),
    now: () => clock.now(),
    hide: (json) => secrets.hideIn(json),
  });
  log.info('serves the dashboard', { url: served.url, ...(board && { jobsUrl: `${served.url}/jobs` }) });
  return { observers: [served.observer], close: async () => void (await Promise.all([served.close(), board?.close()])) };
}

/** The newest transitions of an actor, newest first. */
const journalOf = async (store: RecordStore, actor: ActorId): Promise<readonly JournalEntry[]> =>
  (await store.journal(cellOf(actor), JOURNAL)).filter((entry) => entry.actor === actor);

/** Any replica serves it: the journal is in the store. */
async function journal(address: string, { version, log, secrets, store, changes }: PagesContext): Promise<Page> {
  const { startJournalServer } = await import('../adapters/journal/server.ts');
  const served = await startJournalServer({
    bind: parseBindAddress(address),
    journal: (actor) => journalOf(store, actor),
    ...(changes && { changes }),
    version,
    hide: (json) => secrets.hideIn(json),
  });
  log.info('serves the journal', { url: served.url });
  return { observers: [], close: () => served.close() };
}

async function jobBoard(writable: boolean, { board: queues, queueNames: names }: PagesContext) {
  if (queues === null) return null;
  const { createBoard } = await import('../adapters/bullmq/board.ts');
  return createBoard({ queues, names, path: '/jobs', writable });
}

/** When each of these actors last changed its state, as far as the journals of their cells go back. */
async function lastChanges(store: RecordStore, actors: readonly ActorId[]): Promise<ReadonlyMap<ActorId, number>> {
  const times = new Map<ActorId, number>();
  for (const cell of new Set(actors.map(cellOf))) {
    // The newest is first.
    for (const { actor, at } of await store.journal(cell, JOURNAL)) if (!times.has(actor)) times.set(actor, at);
  }
  return times;
}

async function inspector(
  address: string,
  { inspectViewerUrl, inspectOrigins }: Options,
  token: string | null,
  context: PagesContext,
): Promise<Page> {
  const bind = parseBindAddress(address);
  const { startInspector } = await import('../adapters/inspector/server.ts');
  const { chartDefinition } = await import('../adapters/dashboard/definition.ts');
  const { serveAsset } = await import('../adapters/dashboard/assets.ts');
  const { machines, records } = shown(context);
  const drawings = new Map(Object.entries(machines).map(([name, machine]) => [machine.id, { name, machine }]));
  const served = await startInspector({
    bind,
    access: accessTo(bind, token),
    asset: (path, headers, response) => serveAsset(path, FILES, response, headers),
    viewerUrl: inspectViewerUrl ?? 'https://stately.ai/inspect',
    origins: inspectOrigins ?? [],
    machines,
    drawing: (id) => {
      const found = drawings.get(id);
      return found ? chartDefinition(found.name, found.machine) : null;
    },
    records,
    parentOf: (actor) => (cellOf(actor) === actor ? null : cellOf(actor)),
    leadership: () => leadership(context, bind.port),
    hide: (json) => context.secrets.hideIn(json),
  });
  context.log.info('serves the inspector', { url: served.url });
  return { observers: [served.observer], close: () => served.close() };
}

/** The leader, and the command to reach its page: a replica that does not lead has nothing to show. A Pod's name is its hostname. This process already holds the Lease while
 *  it takes the records over. */
function leadership({ supervisor, podNamespace, changes }: PagesContext, port: number) {
  const { leading = false, term = 0, leader = null } = supervisor() ?? {};
  const pod = (leader ?? '').replace(/_[^_]*$/, '');
  const isElsewhere = pod !== '' && pod !== hostname();
  const reach = isElsewhere && podNamespace !== null ? `kubectl -n ${podNamespace} port-forward pod/${pod} ${port}` : null;
  return { leading, term, leader, reach, ...(changes && { observes: true as const }) };
}

/** The charts, and every record of this process while it leads. */
const shown = ({ charts, supervisor }: PagesContext) => ({
  machines: Object.fromEntries(Object.entries(charts).map(([name, { machine }]) => [name, machine])),
  records: () => [...(supervisor()?.records().values() ?? [])].flatMap((cell) => [...cell].map(([actor, record]) => ({ actor, record }))),
});
