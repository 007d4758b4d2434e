import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { get as httpGet, type IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import { text as textOf } from 'node:stream/consumers';
import { endWithParent } from '../../tools/leash.mjs';
import { entryOf } from './entry.ts';
import { waitFor } from './wait-for.ts';

export interface OperatorOptions {
  readonly kubeconfig: string;
  readonly redisUrl: string;
  readonly digitaloceanUrl: string;
  /** Null starts it without one. */
  readonly token?: string | null;
  readonly flags?: readonly string[];
  /** Node flags, e.g. `--import` of a module that kills the process at a named point. */
  readonly nodeFlags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Started from a bundle of its sources, see tools/bundle.ts. Default true. */
  readonly isBundled?: boolean;
  /** Another version of it, in the place of the one that is tested otherwise. */
  readonly program?: Program;
}

export interface Program {
  /** The Node that runs it. */
  readonly node: string;
  /** The file that starts it. */
  readonly entry: string;
  /** Whether it has a flag, e.g. `--lock-duration`: one that it has not is left out. */
  readonly knows: (flag: string) => boolean;
}

export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** The operator as a process of its own, started as production starts it. It ends with this process, even when that is killed: it would go on trying to reach what
 *  was there, for ever. */
export interface Operator {
  readonly pid: number;
  /** What it has logged, oldest first. */
  readonly log: readonly LogLine[];
  /** What it printed that was no log line: nothing, unless something is wrong. */
  readonly noise: readonly string[];
  metrics(path?: string): Promise<{ readonly status: number; readonly text: string }>;
  /** Resolves once /readyz says so. */
  ready(deadlineMs?: number): Promise<void>;
  kill(signal: NodeJS.Signals): void;
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
  readonly exited: Promise<number | null>;
  isRunning(): boolean;
  /** What ended it, when it was a signal. */
  signal(): NodeJS.Signals | null;
}

/** Figures short enough for a test; the production tables are proven on the virtual clock. Locks and the Lease last as long as in production: with short ones a
 *  machine that is busy for a second has a job taken from the run that has just sent, and run again; that run reads the address, is shown what was true before, and
 *  sends once more: to the same node, so no harm, but more than scenarios count. One that is busy for three seconds has another term. */
export const TEST_FLAGS: readonly string[] = [
  '--backoff-fast=100ms,100ms,300ms,500ms',
  '--backoff-slow=500ms,1s',
  '--call-deadline=1500ms',
  '--verify-interval=2s',
  '--resync-interval=5s',
  '--rate-limit-per-minute=6000',
  '--rate-limit-per-hour=100000',
  '--lock-duration=30s',
  '--leader-elect-lease-duration=15s',
  '--leader-elect-renew-deadline=10s',
  '--leader-elect-retry-period=2s',
];

/** For scenarios in which operators die, stand still or are cut off, so that what they had is soon others'. */
export const MORTAL_FLAGS: readonly string[] = [
  '--lock-duration=1500ms',
  '--leader-elect-lease-duration=3s',
  '--leader-elect-renew-deadline=2s',
  '--leader-elect-retry-period=500ms',
];

export function startOperator({
  kubeconfig,
  redisUrl,
  digitaloceanUrl,
  token = 'test-token-0123456789',
  flags = [],
  nodeFlags = [],
  env = {},
  isBundled = true,
  program = { node: process.execPath, entry: entryOf('routedip-operator', isBundled), knows: () => true },
}: OperatorOptions): Operator {
  const log: LogLine[] = [];
  const noise: string[] = [];
  const { DIGITALOCEAN_ACCESS_TOKEN: _, CLOUDFLARE_TOKEN: __, ...inherited } = process.env;
  const { node, entry, knows } = program;
  const known = [...TEST_FLAGS, ...flags].filter((flag) => knows(flag.replace(/=.*/s, '')));
  const child = spawn(node, [...nodeFlags, entry, 'run', '--metrics-bind-addr=127.0.0.1:0', ...known], {
    env: {
      ...inherited,
      KUBECONFIG: kubeconfig,
      REDIS_URL: redisUrl,
      DIGITALOCEAN_API_URL: digitaloceanUrl,
      ...(token !== null && { DIGITALOCEAN_ACCESS_TOKEN: token }),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on('line', (line) => keep(line, log, noise));
  const leash = child.pid === undefined ? null : endWithParent(child.pid);
  child.once('exit', () => leash?.release());
  // Not with its exit: what it has said last may still be on its way then.
  const exited = once(child, 'close').then(([code]) => code as number | null);
  const url = () => log.find(({ msg }) => msg === 'serves metrics and probes')?.url as string | undefined;
  const get = async (path: string) => {
    await waitFor('the operator serves metrics', () => url() !== undefined || hasEnded(child), 30_000);
    return ask(`${url()}${path}`);
  };
  return {
    pid: child.pid ?? -1,
    log,
    noise,
    metrics: (path = '/metrics') => get(path),
    ready: (deadlineMs = 30_000) => waitFor('the operator is ready', async () => (await get('/readyz')).status === 200, deadlineMs),
    kill: (signal) => void child.kill(signal),
    stop: async () => {
      if (!hasEnded(child)) child.kill('SIGTERM');
      return exited;
    },
    exited,
    isRunning: () => !hasEnded(child),
    signal: () => child.signalCode,
  };
}

/** Over a connection of its own: one that was kept may be ended by an operator that stood still for a while, in the moment in which it is used again. */
async function ask(url: string): Promise<{ readonly status: number; readonly text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  httpGet(url, { agent: false }, resolve).on('error', reject);
  const response = await promise;
  return { status: response.statusCode ?? 0, text: await textOf(response) };
}

const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;

function keep(line: string, log: LogLine[], noise: string[]): void {
  try {
    log.push(JSON.parse(line) as LogLine);
  } catch {
    noise.push(line);
  }
}
