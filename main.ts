import { createHash } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { charts } from './actors/catalogue.ts';
import { type Charts, cellOf } from './actors/charts.ts';
import { poolFigures } from './actors/figures.ts';
import type { KnownProvider } from './actors/leader.ts';
import type { Clock, Log, Observer, Probe, Queues, RecordStore } from './actors/ports.ts';
import { DEFAULT_SETTINGS, type Settings } from './actors/settings.ts';
import { Supervisor } from './actors/supervisor.ts';
import { OUTCOMES, TIMERS } from './actors/worker.ts';
import { type BullQueues, bullQueues } from './adapters/bullmq/queues.ts';
import { type Environment, type Options, parseCommandLine } from './adapters/cli/options.ts';
import { createDigitalOceanProvider } from './adapters/digitalocean/provider.ts';
import { type Connection, connect } from './adapters/kubernetes/connection.ts';
import { clusterUid } from './adapters/kubernetes/identity.ts';
import { loadConfig, ownNamespace } from './adapters/kubernetes/kube-config.ts';
import { kubernetesLeadership } from './adapters/kubernetes/leadership-factory.ts';
import { TIMINGS } from './adapters/kubernetes/reflector.ts';
import { KubernetesSource } from './adapters/kubernetes/source.ts';
import { KubernetesWriter } from './adapters/kubernetes/writer.ts';
import { redisBudget } from './adapters/redis/budget.ts';
import { patientClient } from './adapters/redis/client.ts';
import { type RedisLink, redisLink } from './adapters/redis/link.ts';
import { redisStore } from './adapters/redis/store.ts';
import { systemClock } from './adapters/system/clock.ts';
import { accessTo } from './adapters/telemetry/access.ts';
import { parseBindAddress } from './adapters/telemetry/bind-address.ts';
import { instrumentProviders } from './adapters/telemetry/instrument-provider.ts';
import { createLog } from './adapters/telemetry/log.ts';
import { createMetrics, type Metrics } from './adapters/telemetry/metrics.ts';
import { type Redaction, redaction } from './adapters/telemetry/redaction.ts';
import { type Check, startTelemetryServer } from './adapters/telemetry/server.ts';
import { queryOf } from './machines/match.ts';
import type { ProviderFacts } from './machines/validate.ts';

const VERSION = (
  JSON.parse(readFileSync(new URL(import.meta.url.endsWith('.ts') ? './package.json' : '../package.json', import.meta.url), 'utf8')) as {
    version: string;
  }
).version;

const KILL_POINTS = channel('routedip:kill-point');

/** Tells whoever subscribed, e.g. a test that ends the process there, which named point was reached. Nobody does in production. */
const probe: Probe = (point, about) => {
  if (KILL_POINTS.hasSubscribers) KILL_POINTS.publish({ point, about });
};

/** The pages; the compiled program stands one folder deeper. */
const PAGES = new URL(import.meta.url.endsWith('.ts') ? './dashboard/' : '../dashboard/', import.meta.url);

/** Every queue that this program uses. */
const QUEUES: readonly string[] = ['digitalocean', OUTCOMES, TIMERS];

/** Runs the command line. Resolves with the exit code once the operator was stopped, or could not start. */
export async function main(argv: readonly string[]): Promise<number> {
  const parsed = parseCommandLine(argv, process.env, VERSION);
  if (!parsed) return Number(process.exitCode ?? 0);
  const { options, environment } = parsed;
  const secrets = redaction(
    [environment.digitaloceanToken, environment.dashboardToken, passwordOf(environment.redisUrl)].filter((text) => text !== null),
  );
  const log = createLog({ debug: options.debug, redaction: secrets });
  const stopped = stopSignal(log);
  const opened: Closer[] = [];
  try {
    await start({ options, environment, log, secrets, stopping: stopped.requested, opened });
    await stopped.requested;
    log.info('stops');
    return 0;
  } catch (error) {
    if (error instanceof StoppedEarly) return 0;
    log.error('cannot run', { error: error instanceof Error ? error.message : String(error) });
    return 1;
  } finally {
    // Last opened, first closed; one that fails to close does not keep the others open.
    for (const close of opened.reverse()) {
      await Promise.resolve(close()).catch((error) => log.warn('not closed', { error: String(error) }));
    }
    stopped.forget();
  }
}

type Closer = () => unknown;

class StoppedEarly extends Error {}

/** The first SIGTERM or SIGINT asks for a clean stop; the second one ends the process at once. */
function stopSignal(log: Log): { readonly requested: Promise<void>; readonly forget: () => void } {
  let asked = false;
  let resolve = (): void => undefined;
  const requested = new Promise<void>((done) => {
    resolve = done;
  });
  const onSignal = (signal: NodeJS.Signals): void => {
    if (asked) process.exit(1);
    asked = true;
    log.info('was asked to stop; a second signal ends it at once', { signal });
    resolve();
  };
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal);
  return { requested, forget: () => void process.off('SIGTERM', onSignal).off('SIGINT', onSignal) };
}

interface Start {
  readonly options: Options;
  readonly environment: Environment;
  readonly log: Log;
  readonly secrets: Redaction;
  readonly stopping: Promise<void>;
  /** Takes what has to be closed in the end, in the order in which it was opened. */
  readonly opened: Closer[];
}

async function start({ options, environment, log, secrets, stopping, opened }: Start): Promise<void> {
  const clock = systemClock();
  const waitingFor: { what: string | null } = { what: 'starting' };
  const parts: { supervisor?: Supervisor; queues?: Queues; source?: KubernetesSource } = {};
  const metrics = createMetrics({
    version: VERSION,
    now: () => clock.now(),
    queues: () => queueCounts(parts.queues),
    leadership: () => ({ leading: parts.supervisor?.leading ?? false, term: parts.supervisor?.term ?? 0 }),
  });
  const server = await startTelemetryServer({
    bind: parseBindAddress(options.metricsBindAddr),
    scrape: () => metrics.scrape(),
    checks: readiness(waitingFor, parts),
    fatal: () => null,
    hide: (text) => secrets.hide(text),
  });
  opened.push(() => server.close());
  log.info('serves metrics and probes', { url: server.url });

  const config = loadConfig(options.kubeconfig);
  const connection = connect(config);
  opened.push(() => connection.close());
  const prefix = await redisPrefix(options, connection, { clock, log, waitingFor, stopping });
  const link = redisLink({
    url: environment.redisUrl,
    name: 'routedip',
    onTrouble: (message) => log.warn('trouble with Redis', { message }),
  });
  opened.push(() => link.close());
  const queues = bullQueues({
    link: { redis: link.redis, call: (what, run) => link.call(what, run) },
    connectPatient: () => patientClient({ url: environment.redisUrl, name: 'routedip-jobs' }),
    prefix,
    clock,
    onTrouble: (message) => log.warn('trouble with the job queues', { message }),
    ...(options.lockDuration !== undefined && { lockDurationMs: options.lockDuration }),
  });
  opened.push(() => queues.close());
  const settings = settingsOf(options);
  const leadership = kubernetesLeadership({
    connection,
    clock,
    log,
    namespace: options.namespace ?? ownNamespace(config),
    elect: options.leaderElect,
    leaseDurationMs: options.leaseDuration,
    renewDeadlineMs: options.renewDeadline,
    retryPeriodMs: options.retryPeriod,
  });
  const known = providers(options, environment, { log, link, prefix, metrics, settings });
  opened.push(() => Object.values(known).map(({ provider }) => (provider as { close?: () => void } | null)?.close?.()));
  const catalogue = charts(settings, (name) => known[name]?.facts.addressesPerNode ?? 1);
  const source = new KubernetesSource({
    connection,
    clock,
    log,
    random: Math.random,
    timings: TIMINGS,
    queryOf,
    served: (served) => {
      waitingFor.what = served ? null : 'the FloatingIPPool CRD is not served: install crds/floatingippools.yaml';
      if (!served) log.warn('FloatingIPPools are not served by this cluster: install the CRD; looks again every few seconds');
    },
  });
  const writer = new KubernetesWriter({ connection, clock, log, random: Math.random, seen: source, instance: hostname() });
  opened.push(() => writer.close());
  const store = redisStore({ link, prefix, onWarning: (message) => log.warn('Redis is not set up for safety', { message }) });
  const views = await dashboards(options, environment, {
    log,
    clock,
    secrets,
    charts: catalogue,
    queues,
    store,
    supervisor: () => parts.supervisor ?? null,
  });
  opened.push(() => views.close());
  const figures = poolFigures({
    recordsOf: (cell) => parts.supervisor?.records().get(cell) ?? null,
    show: (pool) => metrics.pools.show(pool),
    forget: (namespace, name) => metrics.pools.forget(namespace, name),
  });
  const supervisor = new Supervisor({
    charts: catalogue,
    store,
    queues,
    clock,
    log,
    probe,
    leadership,
    source,
    writer,
    providers: known,
    observers: [metrics.observer, figures, ...views.observers],
    settings,
  });
  Object.assign(parts, { supervisor, queues, source });
  waitingFor.what = null;
  opened.push(() => supervisor.stop());
  await Promise.race([supervisor.start(), stopping]);
}

/** Names this cluster's keys in a Redis that several clusters may share. Waits for the API server as long as it takes. */
async function redisPrefix(
  options: Options,
  connection: Connection,
  { clock, log, waitingFor, stopping }: { clock: Clock; log: Log; waitingFor: { what: string | null }; stopping: Promise<void> },
): Promise<string> {
  if (options.redisPrefix) return `{${options.redisPrefix}}`;
  let isStopping = false;
  void stopping.then(() => {
    isStopping = true;
  });
  for (let attempt = 1; !isStopping; attempt += 1) {
    try {
      return `{${await clusterUid(connection)}}`;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      waitingFor.what = message;
      log.warn('the API server cannot be used yet', { attempt, error: message });
      await Promise.race([stopping, new Promise<void>((resolve) => clock.after(Math.min(500 * attempt, 10_000), resolve))]);
    }
  }
  throw new StoppedEarly('stopped before the API server answered');
}

function settingsOf(options: Options): Settings {
  return {
    ...DEFAULT_SETTINGS,
    backoff: { fast: options.backoffFast ?? DEFAULT_SETTINGS.backoff.fast, slow: options.backoffSlow ?? DEFAULT_SETTINGS.backoff.slow },
    pollSteps: options.pollSteps ?? DEFAULT_SETTINGS.pollSteps,
    verifyEveryMs: options.verifyInterval ?? DEFAULT_SETTINGS.verifyEveryMs,
    resyncEveryMs: options.resyncInterval ?? DEFAULT_SETTINGS.resyncEveryMs,
    callDeadlineMs: options.callDeadline ?? DEFAULT_SETTINGS.callDeadlineMs,
  };
}

/** The registry of providers. One without credentials stands in it too: its pools say in their status what is missing. */
function providers(
  options: Options,
  environment: Environment,
  { log, link, prefix, metrics, settings }: { log: Log; link: RedisLink; prefix: string; metrics: Metrics; settings: Settings },
): Readonly<Record<string, KnownProvider>> {
  const facts: ProviderFacts = {
    addresses: true,
    dns: true,
    ipv6: false,
    addressesPerNode: 1,
    providerIDPrefix: 'digitalocean://',
    missing: null,
  };
  const cloudflare: KnownProvider = {
    provider: null,
    facts: { ...facts, addresses: false, addressesPerNode: 0, providerIDPrefix: '' },
  };
  const token = environment.digitaloceanToken;
  if (token === null) {
    if (options.controllers?.includes('flipop'))
      throw new Error('the controller "flipop" was asked for, but DIGITALOCEAN_ACCESS_TOKEN is not set');
    return { digitalocean: { facts: { ...facts, missing: 'set DIGITALOCEAN_ACCESS_TOKEN for the operator' }, provider: null }, cloudflare };
  }
  const budget = redisBudget({
    link,
    prefix,
    tokenHash: createHash('sha256').update(token).digest('hex').slice(0, 16),
    ...(options.rateLimitPerMinute !== undefined && {
      perMinute: options.rateLimitPerMinute,
      createsPerMinute: Math.max(12, options.rateLimitPerMinute / 10),
    }),
    ...(options.rateLimitPerHour !== undefined && { perHour: options.rateLimitPerHour }),
  });
  const provider = createDigitalOceanProvider({
    token,
    url: environment.digitaloceanUrl ?? undefined,
    budget,
    log,
    probe,
    deadlineMs: settings.callDeadlineMs,
    addressAPI: options.digitaloceanAddressApi,
  });
  return {
    digitalocean: { facts, provider: Object.assign(instrumentProviders(metrics.registry)(provider), { close: () => provider.close() }) },
    cloudflare,
  };
}

const queueCounts = async (queues: Queues | undefined): Promise<Readonly<Record<string, Readonly<Record<string, number>>>>> => {
  if (!queues) return {};
  return Object.fromEntries(await Promise.all(QUEUES.map(async (name) => [name, await queues.queue(name).counts()] as const)));
};

/** What /readyz asks: each answers null, or what is missing. */
function readiness(
  waitingFor: { what: string | null },
  parts: { readonly supervisor?: Supervisor; readonly source?: KubernetesSource },
): Readonly<Record<string, Check>> {
  const caches = () => {
    const missing = parts.source?.missing() ?? [];
    return missing.length > 0 ? `caches not synced: ${missing.join('; ')}` : null;
  };
  return {
    kubernetes: () => waitingFor.what ?? caches() ?? parts.supervisor?.hindrances().caches ?? null,
    redis: () => parts.supervisor?.hindrances().store ?? null,
    leadership: () => parts.supervisor?.hindrances().leadership ?? null,
  };
}

interface Views {
  readonly observers: readonly Observer[];
  readonly close: () => Promise<void>;
}

interface ViewContext {
  readonly log: Log;
  readonly clock: Clock;
  readonly secrets: Redaction;
  readonly charts: Charts;
  readonly queues: BullQueues;
  readonly store: RecordStore;
  readonly supervisor: () => Supervisor | null;
}

/** The pages for people. Each is loaded only when it is asked for: an operator without them stays lean. */
async function dashboards(options: Options, { dashboardToken }: Environment, context: ViewContext): Promise<Views> {
  const { log, clock, secrets, charts: catalogue, queues, store, supervisor } = context;
  const machines = Object.fromEntries(Object.entries(catalogue).map(([name, { machine }]) => [name, machine]));
  const records = () =>
    [...(supervisor()?.records().values() ?? [])].flatMap((cell) => [...cell].map(([actor, record]) => ({ actor, record })));
  const views: { readonly observer: Observer; readonly close: () => Promise<void> }[] = [];
  if (options.dashboardBindAddr) {
    const bind = parseBindAddress(options.dashboardBindAddr);
    const [{ startDashboard }, { createBoard }] = await Promise.all([
      import('./adapters/dashboard/server.ts'),
      import('./adapters/bullmq/board.ts'),
    ]);
    const board = await createBoard({ queues, names: QUEUES, path: '/jobs', writable: options.jobsWritable });
    const dashboard = await startDashboard({
      bind,
      access: accessTo(bind, dashboardToken),
      pageFolder: PAGES,
      machines,
      records,
      journal: (actor, limit) =>
        store.journal(cellOf(actor), 200).then((entries) => entries.filter((entry) => entry.actor === actor).slice(0, limit)),
      leadership: () => ({ leading: supervisor()?.leading ?? false, term: supervisor()?.term ?? 0, leader: null }),
      links: { Jobs: '/jobs' },
      mounts: { '/jobs': (request, response) => board.handle(request, response) },
      version: VERSION,
      now: () => clock.now(),
      hide: (text) => secrets.hide(text),
    });
    log.info('serves the dashboard', { url: dashboard.url, jobs: `${dashboard.url}/jobs` });
    views.push({ observer: dashboard.observer, close: async () => void (await Promise.all([dashboard.close(), board.close()])) });
  }
  if (options.inspect) {
    const bind = parseBindAddress(options.inspect);
    const { startInspector } = await import('./adapters/inspector/server.ts');
    const inspector = await startInspector({
      bind,
      access: accessTo(bind, dashboardToken),
      pageFolder: PAGES,
      viewerUrl: options.inspectViewerUrl ?? 'https://stately.ai/inspect',
      machines,
      records,
      hide: (text) => secrets.hide(text),
    });
    log.info('serves the inspector', { url: inspector.url });
    views.push(inspector);
  }
  return {
    observers: views.map(({ observer }) => observer),
    close: async () => void (await Promise.all(views.map(({ close }) => close()))),
  };
}

const passwordOf = (url: string): string | null => {
  const password = URL.parse(url)?.password;
  return password ? decodeURIComponent(password) : null;
};

if (import.meta.main) process.exitCode = await main(process.argv.slice(2));
