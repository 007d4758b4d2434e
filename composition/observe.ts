import { hostname } from 'node:os';
import { withheldIn } from '../actors/jobs/withheld.ts';
import type { ClusterSource } from '../actors/ports/cluster.ts';
import type { Log } from '../actors/ports/observers.ts';
import type { Provider } from '../actors/ports/provider.ts';
import type { Options } from '../adapters/cli/options.ts';
import { messageOf } from '../adapters/kubernetes/client/api-error.ts';
import type { Connection } from '../adapters/kubernetes/client/connection.ts';
import { readOnly, showObserveOnly } from '../adapters/kubernetes/client/read-only.ts';
import { byName, type Shadow, shadowOf } from '../adapters/shadow/provider.ts';
import { guardedSource } from '../adapters/shadow/source.ts';
import type { Difference } from '../machines/model/types.ts';
import type { Parts } from './readiness.ts';

const OBSERVES = 'only observes: nothing is changed at any provider or in the cluster';

/** An observe-only operator contends for nothing that another one may hold, and leaves nothing behind. */
export const asObserver = ({ vipLease: _, ...options }: Options): Options => ({ ...options, jobs: 'memory', admission: 'off' });

/** Wraps a provider client: the provider is never changed through it, and what it withholds counts while `isOpen` says so. */
export type Shadowing = (provider: Provider, isOpen: () => boolean) => Provider;

/** Additions to the parts of an observe-only operator; empty for a normal one. */
export interface Observing {
  /** For a process in this namespace. */
  readonly over: (connection: Connection, namespace: string) => Connection;
  readonly source: (source: ClusterSource) => ClusterSource;
  readonly notices: Readonly<Record<string, () => string>>;
  readonly providers: { readonly shadow?: Shadowing };
  readonly pages: { readonly changes?: () => readonly Difference[] };
  readonly supervisor: { readonly observes?: true };
}

export function observing({ observe }: Options, parts: Readonly<Parts>, log: Log): Observing {
  if (!observe)
    return { over: (connection) => connection, source: (source) => source, notices: {}, providers: {}, pages: {}, supervisor: {} };
  log.info(OBSERVES);
  const shadows = new Map<Shadow, () => boolean>();
  return {
    over: (connection, namespace) => {
      void showOnPod(connection, namespace, log);
      return readOnly(connection);
    },
    source: guardedSource,
    notices: { observe: () => OBSERVES },
    providers: {
      shadow: (provider, isOpen) => {
        const shadow = shadowOf(provider);
        shadows.set(shadow, isOpen);
        return shadow.provider;
      },
    },
    pages: { changes: () => changesIn(shadows, parts) },
    supervisor: { observes: true },
  };
}

/** Changes withheld now. */
function changesIn(shadows: Map<Shadow, () => boolean>, { source, supervisor }: Readonly<Parts>): readonly Difference[] {
  for (const [shadow, isOpen] of shadows) if (!isOpen()) shadows.delete(shadow);
  const inWords = byName([...(source?.nodes() ?? [])].map(({ node }) => node));
  const shadowed = [...shadows.keys()].flatMap(({ changes }) => changes().map(inWords));
  const records = [...(supervisor?.records().values() ?? [])].flatMap((cell) => [...cell.values()]);
  return [...shadowed, ...records.flatMap(withheldIn)];
}

/** Shows observe-only in a condition of the operator's own Pod, if it runs in one. */
async function showOnPod(connection: Connection, namespace: string, log: Log): Promise<void> {
  if (process.env.KUBERNETES_SERVICE_HOST === undefined) return;
  try {
    await showObserveOnly(connection, { namespace, name: hostname() }, `the operator ${OBSERVES}`, Date.now());
  } catch (error) {
    log.warn('the Pod does not say that it only observes', { error: messageOf(error) });
  }
}
