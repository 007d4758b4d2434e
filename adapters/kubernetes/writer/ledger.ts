import type { LedgerStore } from '../../../actors/ports/ledger.ts';
import { parseAddress } from '../../../machines/model/address.ts';
import type { Kept } from '../../../machines/model/types.ts';
import { listAll } from '../cache/pages.ts';
import type { Trimmed } from '../cache/trim.ts';
import { isConflict, isNotFound } from '../client/api-error.ts';
import type { Connection } from '../client/connection.ts';

/** Where it is written down what a namespace keeps: in the namespace of the operator, where tenants have no rights. */
export const ledgerName = (namespace: string): string => `${PREFIX}${namespace}`;

const PREFIX = 'routedip-operator-addresses-';
const LABELS = { 'app.kubernetes.io/name': 'routedip-operator' };
/** The inventory may be large, and is not read. */
const LEDGERS = 'app.kubernetes.io/name=routedip-operator,app.kubernetes.io/component!=inventory';

const NOTE = 'Addresses that were made for one namespace. A line that is taken out counts no more. See docs/tenants.md';

interface ConfigMap {
  readonly metadata?: { readonly name?: string; readonly uid?: string; readonly resourceVersion?: string };
  readonly data?: { readonly addresses?: string } | null;
}

/** A ConfigMap for each namespace with a line for each address, for administrators to read and edit. One for all would be full as soon as one tenant has filled it.
 *  Needs the rights to create, get, list and update ConfigMaps in the namespace of the operator. */
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
        // 409: somebody else has written or created it. 404 of an update: somebody has deleted it.
        if (isConflict(error) || (!isNew && isNotFound(error))) return false;
        throw error;
      }
    },
  };
};

/** What a ConfigMap of a list says, by its namespace; null for one that is no ledger. */
function keptIn(object: unknown): Trimmed<readonly Kept[]> | null {
  const { metadata: { name = '', uid = '' } = {}, data } = object as ConfigMap;
  return name.startsWith(PREFIX) ? { key: name.slice(PREFIX.length), uid, value: linesIn(data?.addresses ?? '') } : null;
}

/** Stands for what is not known. */
const NOTHING = '-';
/** Stands where an address is still to be made, or nobody knows whether it was. */
const PLACE = 'pending';

/** The key of a provider has names of Secrets in it, in which tenants may write what they like: a line has six words all the same.
 *  `203.0.113.7 RoutedIP/shop ClusterRoutedIPClass/floating digitalocean 2026-11-27T09:00:00Z <uid>` */
const lineOf = ({ address, owner, source, provider, since, uid }: Kept): string =>
  [address ?? PLACE, owner, source, provider, since > 0 ? new Date(since).toISOString() : '', uid]
    .map((word) => word.replace(/\s+/g, '_') || NOTHING)
    .join(' ');

/** Of a line that somebody wrote by hand the address is enough. One that begins with no address, and is no place either, says nothing and goes with the next write. */
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
