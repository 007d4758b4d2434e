import { channel } from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import { charts } from './actors/controllers/chart-registry.ts';
import type { Log, Probe } from './actors/ports/observers.ts';
import { OUTCOMES, TIMERS } from './actors/runtime/queue-data.ts';
import { part } from './actors/runtime/shutdown.ts';
import { Supervisor } from './actors/supervisor.ts';
import { type Environment, type Options, parseCommandLine } from './adapters/cli/options.ts';
import { connect, identityOf } from './adapters/kubernetes/client/connection.ts';
import { loadConfig, ownNamespace } from './adapters/kubernetes/client/kube-config.ts';
import { reachable } from './adapters/kubernetes/client/reachability.ts';
import { redisAddress } from './adapters/redis/settings.ts';
import { systemClock } from './adapters/system/clock.ts';
import { parseBindAddress } from './adapters/telemetry/bind-address.ts';
import { createLog } from './adapters/telemetry/log.ts';
import { toldToo } from './adapters/telemetry/objects.ts';
import { type Redaction, redaction } from './adapters/telemetry/redaction.ts';
import { startTelemetryServer } from './adapters/telemetry/server.ts';
import { otherCommands } from './composition/commands.ts';
import { directory } from './composition/directory.ts';
import { jobs } from './composition/jobs.ts';
import { kubernetes } from './composition/kubernetes.ts';
import { metricsGate } from './composition/metrics-gate.ts';
import { asObserver, observing } from './composition/observe.ts';
import { servePages } from './composition/pages.ts';
import { countQueues } from './composition/queues.ts';
import { fatal, notices, type Parts, readiness } from './composition/readiness.ts';
import { StoppedEarly } from './composition/redis-prefix.ts';
import { secretsIn } from './composition/secrets.ts';
import { settingsOf } from './composition/settings.ts';
import { stopSignal } from './composition/signals.ts';
import { telemetry } from './composition/telemetry.ts';
import { traces } from './composition/traces.ts';
import { vips } from './composition/vips.ts';
import { VIP_QUEUE } from './machines/vip/decisions.ts';

const VERSION = (
  JSON.parse(readFileSync(new URL(import.meta.url.endsWith('.ts') ? './package.json' : '../package.json', import.meta.url), 'utf8')) as {
    version: string;
  }
).version;

/** How long the operator waits at most for the Secret with its own tokens, ms. */
const TOKENS_MS = 30_000;

const KILL_POINTS = channel('routedip:kill-point');

/** Publishes that a named point was reached, e.g. for a test that ends the process there. There are no subscribers in production. */
const probe: Probe = (point, about) => {
  if (KILL_POINTS.hasSubscribers) KILL_POINTS.publish({ point, about });
};

/** Runs the command line. Resolves with the exit code once the operator has stopped, or could not start. */
export async function main(argv: readonly string[]): Promise<number> {
  const others = otherCommands({ out: (text) => process.stdout.write(text), problem: console.error }, VERSION);
  const parsed = parseCommandLine(argv, process.env, VERSION, others.add);
  const other = others.asked();
  if (other !== null) return other();
  if (!parsed) return Number(process.exitCode ?? 0);
  const { environment } = parsed;
  const options = parsed.options.observe ? asObserver(parsed.options) : parsed.options;
  const { shutdownGraceMs } = settingsOf(options);
  const secrets = redaction(secretsIn(environment));
  const log = createLog({ debug: options.debug, redaction: secrets, base: options.observe ? { observeOnly: true } : undefined });
  const stopped = stopSignal(log);
  const opened: Closer[] = [];
  try {
    const { lost } = await start({ options, environment, log, secrets, stopping: stopped.requested, opened });
    await Promise.race([stopped.requested, ...(lost ? [lost] : [])]);
    log.info('stops');
    return 0;
  } catch (error) {
    if (error instanceof StoppedEarly) return 0;
    log.error('cannot run', { error: error instanceof Error ? error.message : String(error) });
    return 1;
  } finally {
    // Last opened, first closed.
    const partings = opened.reverse().map((run) => ({ what: 'what was opened', until: 1, run }));
    await part(partings, { graceMs: shutdownGraceMs, clock: systemClock(), log });
    // Handles left open would keep the process until it is killed.
    setTimeout(() => process.exit(), 500).unref();
    stopped.forget();
  }
}

type Closer = () => unknown;

interface Start {
  readonly options: Options;
  readonly environment: Environment;
  readonly log: Log;
  readonly secrets: Redaction;
  readonly stopping: Promise<void>;
  /** Collects what has to be closed in the end, in the order in which it was opened. */
  readonly opened: Closer[];
}

/** Returns what may end the process before a stop is requested; null for nothing. */
async function start({ options, environment, log, secrets, stopping, opened }: Start): Promise<{ readonly lost: Promise<never> | null }> {
  const clock = systemClock();
  const settings = settingsOf(options);
  for (const warning of environment.warnings) log.warn(warning);
  const address = options.jobs === 'memory' ? null : redisAddress(environment.redis);
  const parts: Parts = { waitingFor: 'starting' };
  const waitsFor = (what: string | null) => {
    parts.waitingFor = what;
  };

  const observed = observing(options, parts, log);
  const { metrics, observers } = telemetry(VERSION, { clock, log, observes: options.observe }, parts);
  const traced = await traces(environment.isTraced, { version: VERSION, clock });
  opened.push(() => traced.close());
  const config = loadConfig(options.kubeconfig);
  const direct = connect(config, identityOf({ program: 'routedip-operator', version: VERSION, purpose: 'controller' }));
  const connection = reachable(observed.over(direct, ownNamespace(config)), clock);
  parts.connection = connection;
  opened.push(() => connection.close());
  const server = await startTelemetryServer({
    bind: options.metricsBindAddr === '' ? null : parseBindAddress(options.metricsBindAddr),
    scrape: () => metrics.scrape(),
    ...metricsGate(options, connection, clock, log),
    checks: readiness(parts),
    notices: { ...notices(parts), ...observed.notices },
    fatal: fatal(parts),
    hide: (text) => secrets.hide(text),
  });
  opened.push(() => server.close());
  if (server.url !== null) log.info('serves metrics and probes', { url: server.url });

  const { queues, store, budgetOf, board, away, close } = await jobs(options, address, { connection, clock, log, stopping, waitsFor });
  opened.push(close);
  const { callDeadlineMs } = settings;
  const podNamespace = ownNamespace(config);
  const namespace = options.namespace ?? podNamespace;
  const sources = { version: VERSION, connection, namespace: podNamespace, secrets, ...observed.providers };
  const known = directory(options, environment, { log, probe, budgetOf, metrics, callDeadlineMs, clock, ...sources });
  opened.push(() => known.close());
  const { leadership, source, writer, ledger, inventoryWriter, namespaces } = kubernetes(options, {
    connection,
    namespace,
    clock,
    log,
    waitsFor,
    hide: (json) => secrets.hideIn(json),
    shown: traced.shown,
  });
  opened.push(() => writer.close());
  opened.push(() => namespaces.close());
  const served = (isServed: boolean) => source.othersServed(isServed);
  const allocator = vips(options, { config, connection, namespace, clock, log, secrets, stopping, served });
  opened.push(() => allocator?.close());
  const catalogue = charts(settings, known.addressesPerNode);

  const queueNames = () => [...Object.keys(known.providers.all), ...(allocator ? [VIP_QUEUE] : []), OUTCOMES, TIMERS];
  const pages = await servePages(options, environment, {
    version: VERSION,
    podNamespace: process.env.KUBERNETES_SERVICE_HOST === undefined ? null : namespace,
    log,
    clock,
    secrets,
    charts: catalogue,
    board,
    queueNames,
    store,
    supervisor: () => parts.supervisor,
    ...observed.pages,
  });
  opened.push(() => pages.close());
  const supervisor = new Supervisor({
    charts: catalogue,
    store: metrics.outbox.store(store),
    queues: metrics.outbox.queues(traced.queues(queues)),
    ...(away && { away }),
    clock,
    log,
    probe,
    leadership,
    source: toldToo(observed.source(source), metrics.objects),
    writer,
    ledger,
    inventoryWriter,
    namespaces,
    providers: known.providers,
    observers: [...observers, ...traced.observers, ...pages.observers],
    settings,
    operatorNamespace: namespace,
    ...observed.supervisor,
    ...(allocator && { vips: allocator }),
  });
  const queueCounts = () => countQueues(queues, queueNames());
  Object.assign(parts, {
    supervisor,
    source,
    writer,
    ...(allocator && { allocator }),
    queueCounts,
    budgets: known.budgets,
  } satisfies Partial<Parts>);
  waitsFor('the Secret of --tokens-secret');
  // Objects that need no token must not wait for a Secret that cannot be read.
  await Promise.race([known.tokensRead, stopping, new Promise<void>((resolve) => clock.after(TOKENS_MS, resolve))]);
  waitsFor(null);
  opened.push(() => supervisor.stop());
  await Promise.race([supervisor.start(), stopping]);
  return { lost: allocator?.lost ?? null };
}

if (import.meta.main) process.exitCode = await main(process.argv.slice(2));
