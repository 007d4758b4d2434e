import type { LedgerStore } from '../../../actors/ports/ledger.ts';
import { parseAddress } from '../../../machines/model/address.ts';
import type { Kept } from '../../../machines/model/types.ts';
import { listAll } from '../cache/pages.ts';
import type { Trimmed } from '../cache/trim.ts';
import { isConflict, isNotFound } from '../client/api-error.ts';
import type { Connection } from '../client/connection.ts';

/** The name of the ledger of a namespace. It is in the operator's namespace, where tenants have no rights. */
export const ledgerName = (namespace: string): string => `${PREFIX}${namespace}`;

const PREFIX = 'routedip-operator-addresses-';
const LABELS = { 'app.kubernetes.io/name': 'routedip-operator' };
/** Excludes the inventory, which may be large. */
const LEDGERS = 'app.kubernetes.io/name=routedip-operator,app.kubernetes.io/component!=inventory';

const NOTE = 'Addresses that were made for one namespace. A line that is taken out counts no more. See docs/tenants.md';

interface ConfigMap {
  readonly metadata?: { readonly name?: string; readonly uid?: string; readonly resourceVersion?: string };
  readonly data?: { readonly addresses?: string } | null;
}

/** A ConfigMap per namespace with a line per address, for administrators to read and edit. A single tenant could fill up a shared one.
 *  Needs the rights to create, get, list and update ConfigMaps in the operator's namespace. */
export const kubernetesLedger = (connection: Connection, own: string): LedgerStore => {
  const collection = `/api/v1/namespaces/${encodeURIComponent(own)}/configmaps`;
  const pathOf = (namespace: string): string => `${collection}/${encodeURIComponent(ledgerName(namespace))}`;
  return {
    all: async () => {
      const { entries } = await listAll(connection, { path: collection, labelSelector: LEDGERS }, keptIn);
      return new Map(entries.map(({ key, value }) => [key, value]));
    },
    read: async (namespace) => {
      try {
        const { metadata, data } = (await connection.send({ method: 'GET', path: pathOf(namespace) })) as ConfigMap;
        return { kept: linesIn(data?.addresses ?? ''), version: metadata?.resourceVersion ?? '' };
      } catch (error) {
        if (isNotFound(error)) return { kept: [], version: null };
        throw error;
      }
    },
    write: async (namespace, { kept, version }) => {
      const isNew = version === null;
      const place = isNew ? ({ method: 'POST', path: collection } as const) : ({ method: 'PUT', path: pathOf(namespace) } as const);
      const metadata = {
        name: ledgerName(namespace),
        namespace: own,
        labels: LABELS,
        annotations: { 'routedip.io/about': NOTE },
        ...(!isNew && { resourceVersion: version }),
      };
      const addresses = kept.map((each) => `${lineOf(each)}\n`).join('');
      try {
        await connection.send({ ...place, body: { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { addresses } } });
        return true;
      } catch (error) {
        // 409: another client wrote or created it. 404 on update: it was deleted.
        if (isConflict(error) || (!isNew && isNotFound(error))) return false;
        throw error;
      }
    },
  };
};

/** The content of a ledger, by its namespace; null for any other ConfigMap. */
function keptIn(object: unknown): Trimmed<readonly Kept[]> | null {
  const { metadata: { name = '', uid = '' } = {}, data } = object as ConfigMap;
  return name.startsWith(PREFIX) ? { key: name.slice(PREFIX.length), uid, value: linesIn(data?.addresses ?? '') } : null;
}

/** Placeholder for an unknown value. */
const NOTHING = '-';
/** Placeholder for an address that is yet to be created, or whose creation is in doubt. */
const PLACE = 'pending';

/** A provider key contains names of Secrets, which tenants may choose freely: whitespace is replaced, so that a line always has six words.
 *  `203.0.113.7 RoutedIP/shop ClusterRoutedIPClass/floating digitalocean 2026-11-27T09:00:00Z <uid>` */
const lineOf = ({ address, owner, source, provider, since, uid }: Kept): string =>
  [address ?? PLACE, owner, source, provider, since > 0 ? new Date(since).toISOString() : '', uid]
    .map((word) => word.replace(/\s+/g, '_') || NOTHING)
    .join(' ');

/** In a line written by hand the address is enough. A line that starts with neither an address nor a valid placeholder is ignored, and dropped by the next write. */
function linesIn(text: unknown): readonly Kept[] {
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
