import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError, isConflict, isForbidden, isNotFound } from '../adapters/kubernetes/client/api-error.ts';
import { type Connection, connect, identityOf, MERGE_PATCH } from '../adapters/kubernetes/client/connection.ts';
import { loadConfig, ownNamespace } from '../adapters/kubernetes/client/kube-config.ts';
import { parsePlugin } from '../plugin/command-line.ts';
import { Changed, type ClusterAPI, Refused } from '../plugin/ports.ts';
import { printable } from '../plugin/printable.ts';
import { run } from '../plugin/run.ts';
import { clusterFacts } from './cluster-facts.ts';

const VERSION = (
  JSON.parse(
    readFileSync(new URL(import.meta.url.endsWith('.ts') ? '../package.json' : '../../package.json', import.meta.url), 'utf8'),
  ) as {
    version: string;
  }
).version;

/** `kubectl routedip …`. Resolves with the exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  const parsed = parsePlugin(argv, VERSION);
  if (typeof parsed === 'number') return parsed;
  const { asked, flags } = parsed;
  let connection: Connection | null = null;
  try {
    const config = loadConfig(flags.kubeconfig, flags.context);
    connection = connect(config, identityOf({ program: 'kubectl-routedip', version: VERSION, purpose: asked.command }));
    const api = clusterAPI(connection);
    return await run(asked, {
      api,
      facts: clusterFacts(api),
      namespace: flags.allNamespaces ? null : (flags.namespace ?? ownNamespace(config)),
      output: flags.output,
      journalService: flags.journalService,
      operatorNamespace: flags.operatorNamespace,
      now: Date.now(),
      read: (file) => readFileSync(file === '-' ? 0 : file, 'utf8'),
      sleep: (ms) => sleep(ms),
      out: (lines) => process.stdout.write(printable(lines)),
      problem: (text) => process.stderr.write(printable([text])),
    });
  } catch (error) {
    process.stderr.write(printable([error instanceof Error ? error.message : String(error)]));
    return 1;
  } finally {
    await connection?.close();
  }
}

/** Objects per page, the same as kubectl's. */
const PAGE = 500;

const clusterAPI = (connection: Connection): ClusterAPI => ({
  list: async (path, query = {}) => {
    const items: unknown[] = [];
    let next: string | undefined;
    do {
      const page = { ...query, limit: PAGE, ...(next !== undefined && { continue: next }) };
      const around = await asUser(connection.list({ path, query: page }, (item) => items.push(item))).catch(nullIfMissing);
      if (around === null) return null;
      next = (around as { readonly metadata?: { readonly continue?: string } }).metadata?.continue || undefined;
    } while (next !== undefined);
    return items;
  },
  get: (path) => asUser(connection.send({ method: 'GET', path })).catch(nullIfMissing),
  review: (path, body) => asUser(connection.send({ method: 'POST', path, body })),
  patch: (path, body) => asUser(connection.send({ method: 'PATCH', path, body, contentType: MERGE_PATCH })),
});

const nullIfMissing = (error: unknown): null => {
  if (isNotFound(error)) return null;
  throw error;
};

/** The operator's errors name its ServiceAccount; here a user asks. */
async function asUser<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (isForbidden(error)) throw new Refused(error.message.replace(/^the ServiceAccount may not/, 'you may not'), { cause: error });
    throw isConflict(error) ? new Changed(error.message, { cause: error }) : error;
  }
}
