import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { isObject, type Json, type JsonObject } from '../simulator/kubernetes/objects.ts';

const ENTRY = join(import.meta.dirname, '../bin/routedip-operator.mjs');
const KEPT_LINES = 400;
const STOP_MS = 5_000;

interface OperatorEnvironment {
  readonly kubeconfig: string;
  readonly redisUrl: string;
  readonly digitaloceanUrl: string;
  readonly token: string;
  /** What the dashboards ask browsers for; null for what the environment says. */
  readonly dashboardToken?: string | null;
  /** Another entry point than this repository's, e.g. that of an installed package. */
  readonly entry?: string;
  /** Where all lines of its log are kept; nowhere by default. */
  readonly log?: string;
  /** A collector of OpenTelemetry traces; without it what the environment says. */
  readonly tracesUrl?: string;
  /** Options of Node to start it with. */
  readonly nodeFlags?: readonly string[];
  /** After `run`. */
  readonly flags: readonly string[];
}

/** What the operator says it serves. */
export interface Served {
  /** Base URL of /metrics, /healthz and /readyz. */
  readonly telemetry: string | null;
  readonly dashboard: string | null;
  readonly jobs: string | null;
  readonly inspector: string | null;
}

/** The operator as a process of its own, started by the entry point that production uses. */
export interface OperatorProcess {
  readonly pid: number;
  readonly served: Served;
  /** Why it is no longer there; null while it runs. */
  readonly ended: string | null;
  /** The newest lines of its log, oldest first. */
  lastLines(count: number): readonly string[];
  /** Resident memory in bytes; null where the system does not tell. */
  memory(): number | null;
  /** SIGTERM, and SIGKILL when it does not end; resolves once it is gone. */
  stop(): Promise<void>;
  /** SIGKILL without waiting. */
  kill(): void;
}

export function startOperator({
  kubeconfig,
  redisUrl,
  digitaloceanUrl,
  token,
  dashboardToken,
  flags,
  entry = ENTRY,
  log,
  tracesUrl,
  nodeFlags = [],
}: OperatorEnvironment): OperatorProcess {
  const child = spawn(process.execPath, [...nodeFlags, entry, 'run', ...flags], {
    env: {
      ...process.env,
      KUBECONFIG: kubeconfig,
      REDIS_URL: redisUrl,
      DIGITALOCEAN_API_URL: digitaloceanUrl,
      DIGITALOCEAN_ACCESS_TOKEN: token,
      ...(tracesUrl && { OTEL_EXPORTER_OTLP_ENDPOINT: tracesUrl, OTEL_BSP_SCHEDULE_DELAY: '200' }),
      ...(dashboardToken && { ROUTEDIP_DASHBOARD_TOKEN: dashboardToken }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    // Its own group: Ctrl-C in a terminal must not end it before the demo has said why.
    detached: true,
  });
  const lines: string[] = [];
  const state: { served: Served; ended: string | null } = {
    served: { telemetry: null, dashboard: null, jobs: null, inspector: null },
    ended: null,
  };
  const kept = log === undefined ? null : createWriteStream(log, { flags: 'a', mode: 0o600 });
  for (const stream of [child.stdout, child.stderr]) {
    if (kept) stream.pipe(kept, { end: false });
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
      if (lines.length > KEPT_LINES) lines.shift();
      state.served = servedBy(line, state.served);
    });
  }
  // What it said last is known without it, too.
  kept?.on('error', () => undefined);
  if (kept) child.on('close', () => kept.end());
  const leash = endWithParent(child);
  const gone = new Promise<void>((resolve) => {
    const end = (why: string) => () => {
      state.ended ??= why;
      leash();
      resolve();
    };
    child.on('error', (error) => end(`it could not be started: ${error.message}`)());
    child.on('exit', (code, signal) => end(signal === null ? `it ended with exit code ${code}` : `it was ended by ${signal}`)());
  });
  return {
    pid: child.pid ?? -1,
    get served() {
      return state.served;
    },
    get ended() {
      return state.ended;
    },
    lastLines: (count) => lines.slice(-count),
    // The process that watches is not the one that works.
    memory: () => (nodeFlags.includes('--watch') ? null : residentBytes(child.pid)),
    stop: async () => {
      child.kill('SIGTERM');
      const timer = setTimeout(() => killGroup(child), STOP_MS);
      await gone;
      clearTimeout(timer);
    },
    kill: () => killGroup(child),
  };
}

/** `served` with what a line of the log adds to it. */
export function servedBy(line: string, served: Served): Served {
  const { msg, url, jobsUrl } = fieldsOf(line);
  if (typeof msg !== 'string' || typeof url !== 'string') return served;
  if (/metrics/.test(msg)) return { ...served, telemetry: url };
  if (/inspector/.test(msg)) return { ...served, inspector: url };
  if (/dashboard/.test(msg)) return { ...served, dashboard: url, jobs: typeof jobsUrl === 'string' ? jobsUrl : null };
  return served;
}

function fieldsOf(line: string): JsonObject {
  try {
    const value = JSON.parse(line) as Json;
    return isObject(value) ? value : {};
  } catch {
    return {}; // A warning of Node or a stack: no line of the log.
  }
}

/** Ends the operator when this process dies without a word: a shell waits on a pipe that only this process holds. Call the result once it has ended. */
function endWithParent(child: ChildProcess): () => void {
  const script = 'read -r word; [ "$word" = released ] || kill -s KILL -- "-$1"';
  const shell = spawn('/bin/sh', ['-c', script, 'leash', String(child.pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    cwd: '/',
  });
  shell.on('error', () => undefined).unref();
  shell.stdin.on('error', () => undefined);
  return () => void shell.stdin.end('released\n');
}

/** With what it has started itself: Node starts the program that it watches as a process of its own. */
function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // It is gone.
  }
}

function residentBytes(pid: number | undefined): number | null {
  try {
    const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kilobytes === undefined ? null : Number(kilobytes) * 1024;
  } catch {
    return null;
  }
}
