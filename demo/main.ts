import { constants } from 'node:os';
import { freePorts } from '../tools/free-ports.mjs';
import { type Args, HELP, parse, UsageError } from './args.ts';
import type { Cast } from './cast.ts';
import { dashboardsOf, FREE_PORT } from './dashboards.ts';
import { invitation, summary, whereabouts } from './ending.ts';
import { DemoFailure, Interrupted } from './failure.ts';
import { type Follower, follow } from './follow.ts';
import { openScreen, type Screen } from './screen.ts';
import { prepareShop, type Shop } from './shop.ts';
import { openStage, POOL_PATH, ROUTED_PATH, recordOf, SERVICES_NAMESPACE, type Stage } from './stage.ts';
import { play, readiness } from './story.ts';
import { waiting } from './wait.ts';

const LAST_LINES = 15;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

async function main(argv: readonly string[]): Promise<number> {
  try {
    const args = parse(argv);
    if (args !== null) return await demo(args, process.env.REDIS_URL);
    console.log(HELP);
    return 0;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(`demo: ${error.message}\nTry --help.`);
    return 2;
  }
}

/** Shows the demo; whatever happens, all that it started has ended when it resolves with the exit code. */
async function demo(args: Args, redisUrl: string | undefined): Promise<number> {
  if (!redisUrl) throw new UsageError('REDIS_URL is not set: `npm run demo` starts a private Redis and sets it');
  const interruption = untilSignal();
  const screen = openScreen(args, process.stdout, process.env);
  // One that starts again has the same ports each time: pages stay open.
  const [bind, inspect, metrics] = await portsFor(args);
  const dashboards = dashboardsOf(args, process.env, { bind, inspect });
  const stage = await openStage({ seed: args.seed, redisUrl, dashboards, metrics, isWatched: args.watch, debug: args.debug });
  const shop = prepareShop(stage);
  const look = () => ({ record: recordOf(stage), ...shop.look() });
  const ofNamespace = `/api/v1/namespaces/${SERVICES_NAMESPACE}`;
  const paths = {
    poolPath: POOL_PATH,
    routedPath: ROUTED_PATH,
    servicesPath: `${ofNamespace}/services`,
    eventsPath: `${ofNamespace}/events`,
    reservationsPath: '/apis/paas.org/v1/ips',
  };
  const follower = follow({ apiUrl: stage.kubernetes.url, ...paths, look }, (sentences) => {
    screen.show(follower.view);
    for (const sentence of sentences) screen.note(sentence);
  });
  // For whatever ends this process at once: a second Ctrl-C, an error nobody expected.
  const abandon = (): void => {
    screen.close();
    stage.abandon();
  };
  process.on('exit', abandon);
  try {
    return await perform({ args, stage, shop, follower, screen, signal: interruption });
  } catch (error) {
    screen.close();
    return explain(error, stage);
  } finally {
    screen.close();
    follower.close();
    await shop.close();
    await stage.close();
    process.off('exit', abandon);
  }
}

async function portsFor({ watch }: Args): Promise<readonly [dashboard: string, inspector: string, metrics: string]> {
  if (!watch) return [FREE_PORT, FREE_PORT, FREE_PORT];
  const [dashboard, inspector, metrics] = await freePorts(3);
  return [`127.0.0.1:${dashboard}`, `127.0.0.1:${inspector}`, `127.0.0.1:${metrics}`];
}

interface Performance {
  readonly args: Args;
  readonly stage: Stage;
  readonly shop: Shop;
  readonly follower: Follower;
  readonly screen: Screen;
  readonly signal: AbortSignal;
}

async function perform({ args, stage, shop, follower, screen, signal }: Performance): Promise<number> {
  const hindrance = (): string | null => {
    const ended = stage.operator?.ended;
    return ended ? `since the operator is gone: ${ended}` : null;
  };
  const standing = async (): Promise<string> => `${standingOf(follower)}  /readyz says: ${await readiness(stage)}`;
  const until = waiting({ deadlineMs: args.deadlineMs, signal, hindrance, standing });
  const cast: Cast = { stage, shop, follower, screen, until, seed: args.seed, act: args.act };
  const outcome = await play(cast);
  screen.print(['', ...(await summary(outcome, stage)), '']);
  if (!args.keep) return 0;
  if (args.json) console.log(JSON.stringify(whereabouts(stage)));
  screen.print(invitation(stage, follower.view));
  screen.stay();
  const forever = waiting({ deadlineMs: Number.POSITIVE_INFINITY, signal, hindrance, standing });
  try {
    return await forever<number>('to stay up', () => null);
  } catch (error) {
    if (error instanceof Interrupted) return 0;
    throw error;
  }
}

function standingOf({ view }: Follower): string {
  const rows = view.addresses.map(({ address, state, node, error }) => `  ${address} is ${state} ${node && `on ${node}`} ${error}\n`);
  const { name = '', address = '', state = '', node = '', error = '' } = view.routed ?? {};
  if (view.routed) rows.push(`  RoutedIP ${name}, ${address || 'without an address'}, is ${state} ${node && `on ${node}`} ${error}\n`);
  return `${rows.join('')}${view.error && `  the pool says: ${view.error}\n`}`;
}

function explain(error: unknown, { operator }: Stage): number {
  if (error instanceof Interrupted) {
    console.error(`demo: ${error.message} before the end`);
    return 128 + constants.signals[error.signal];
  }
  const reason = error instanceof DemoFailure ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error);
  const lines = operator?.lastLines(LAST_LINES) ?? [];
  console.error(`demo: FAILED: ${reason}`);
  if (lines.length > 0) console.error(`The operator's last words:\n${lines.map((line) => `  ${line}`).join('\n')}`);
  return 1;
}

/** Aborted by the first signal; a second one ends this process at once. A reader of the output that goes away counts as a signal. */
function untilSignal(): AbortSignal {
  const controller = new AbortController();
  const stop = (signal: NodeJS.Signals): void => {
    if (controller.signal.aborted) process.exit(128 + constants.signals[signal]);
    controller.abort(new Interrupted(signal));
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  process.stdout.on('error', () => {
    if (!controller.signal.aborted) controller.abort(new Interrupted('SIGPIPE'));
  });
  return controller.signal;
}

process.exitCode = await main(process.argv.slice(2));
