import type { Ledger, LedgerStore } from '../../actors/ports/ledger.ts';
import { parseAddress } from '../../machines/address.ts';
import type { Kept } from '../../machines/types.ts';
import { isConflict, isNotFound } from './api-error.ts';
import type { Connection } from './connection.ts';

/** Where what namespaces keep is written down: in the namespace of the operator, where tenants have no rights. */
export const LEDGER_NAME = 'routedip-operator-addresses';

const NOTE = 'Addresses that were made for each namespace. A line that is taken out counts no more. See docs/tenants.md';

interface ConfigMap {
  readonly metadata?: { readonly resourceVersion?: string };
  readonly data?: Readonly<Record<string, string>> | null;
}

/** A ConfigMap with a key for each namespace and a line for each address, for administrators to read and edit.
 *  Needs the rights to create ConfigMaps in the namespace, and to get and update this one. */
export const kubernetesLedger = (connection: Connection, namespace: string): LedgerStore => {
  const collection = `/api/v1/namespaces/${encodeURIComponent(namespace)}/configmaps`;
  const path = `${collection}/${LEDGER_NAME}`;
  return {
    read: async () => {
      try {
        const { metadata, data } = (await connection.send({ method: 'GET', path })) as ConfigMap;
        const namespaces = Object.entries(data ?? {}).map(([name, text]) => [name, keptIn(text)] as const);
        return { namespaces: Object.fromEntries(namespaces), version: metadata?.resourceVersion ?? '' };
      } catch (error) {
        if (isNotFound(error)) return { namespaces: {}, version: null };
        throw error;
      }
    },
    write: async ({ namespaces, version }) => {
      try {
        const place = version === null ? ({ method: 'POST', path: collection } as const) : ({ method: 'PUT', path } as const);
        await connection.send({ ...place, body: configMap(namespace, namespaces, version) });
        return true;
      } catch (error) {
        // 409: somebody else has written or created it. 404 of an update: somebody has deleted it.
        if (isConflict(error) || (version !== null && isNotFound(error))) return false;
        throw error;
      }
    },
  };
};

const configMap = (namespace: string, namespaces: Ledger['namespaces'], version: string | null) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name: LEDGER_NAME,
    namespace,
    labels: { 'app.kubernetes.io/name': 'routedip-operator' },
    annotations: { 'routedip.io/about': NOTE },
    ...(version !== null && { resourceVersion: version }),
  },
  data: Object.fromEntries(Object.entries(namespaces).map(([name, kept]) => [name, `${kept.map(lineOf).join('\n')}\n`])),
});

/** Stands for what is not known. */
const NOTHING = '-';
/** Stands where an address is still to be made, or nobody knows whether it was. */
const PLACE = 'pending';

/** `203.0.113.7 RoutedIP/shop ClusterRoutedIPClass/floating digitalocean 2026-11-27T09:00:00Z <uid>` */
const lineOf = ({ address, owner, source, provider, since, uid }: Kept): string =>
  [address ?? PLACE, owner, source, provider, since > 0 ? new Date(since).toISOString() : '', uid].map((word) => word || NOTHING).join(' ');

/** Of a line that somebody wrote by hand the address is enough. One that begins with no address, and is no place either, says nothing and goes with the next write. */
function keptIn(text: unknown): readonly Kept[] {
  return String(text)
    .split('\n')
    .flatMap((line) => {
      const [what = '', ...words] = line.trim().split(/\s+/);
      const [owner = '', source = '', provider = '', since = '', uid = ''] = words.map((word) => (word === NOTHING ? '' : word));
      const address = parseAddress(what);
      if (address === null && (what !== PLACE || uid === '')) return [];
      return [{ address, owner, uid, source, provider, since: Date.parse(since) || 0 }];
    });
}
