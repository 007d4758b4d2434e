import * as clusterRoutedIPClasses from '../../crds/generated/clusterroutedipclass.ts';
import * as floatingIPPools from '../../crds/generated/floatingippool.ts';
import * as nodeDNSRecordSets from '../../crds/generated/nodednsrecordset.ts';
import * as routedIPs from '../../crds/generated/routedip.ts';
import * as routedIPIssuers from '../../crds/generated/routedipissuer.ts';
import type { WatchQuery } from './selection.ts';
import type { Detail } from './shared-watches.ts';

/** A kind of object that the operator writes. */
interface Served {
  readonly kind: string;
  readonly apiVersion: string;
  readonly scope: 'Namespaced' | 'Cluster';
  /** All objects of all namespaces. */
  readonly collection: WatchQuery;
}

/** A kind of object that selects nodes. */
export interface Kind extends Served {
  /** How much it has to know of its nodes. */
  readonly detail: Detail;
  /** Nothing begins while objects of this kind may not be listed: what is remembered of them would be taken for deleted, and given up. */
  readonly essential: boolean;
}

/** What the generated types of a CRD say of it. */
interface Definition {
  readonly KIND: string;
  readonly API_VERSION: string;
  readonly PLURAL: string;
}

const served = ({ KIND, API_VERSION, PLURAL }: Definition): Served => ({
  kind: KIND,
  apiVersion: API_VERSION,
  scope: 'Namespaced',
  collection: { path: `/apis/${API_VERSION}/${PLURAL}`, labelSelector: '' },
});

/** Both kinds select nodes alike, but only a NodeDNSRecordSet reads the addresses of its nodes. */
export const KINDS: readonly Kind[] = [
  { ...served(floatingIPPools), detail: 'plain', essential: true },
  { ...served(nodeDNSRecordSets), detail: 'full', essential: false },
];

/** @throws Error for a kind that is none of `KINDS` */
export const kindOf = (name: string): Kind => {
  const found = KINDS.find(({ kind }) => kind === name);
  if (found === undefined) throw new Error(`no such kind: ${name}`);
  return found;
};

const WRITTEN: readonly Served[] = [
  ...KINDS,
  served(routedIPs),
  served(routedIPIssuers),
  { ...served(clusterRoutedIPClasses), scope: 'Cluster' },
];

const writtenOf = (name: string): Served => {
  const found = WRITTEN.find(({ kind }) => kind === name);
  if (found === undefined) throw new Error(`no such kind: ${name}`);
  return found;
};

/** The group and version of a kind, as an Event names what it is about. Nodes are marked, and told of, too. */
export const apiVersionOf = (kind: string): string => (kind === 'Node' ? 'v1' : writtenOf(kind).apiVersion);

/** The path of one object. */
export const pathOf = ({ kind, namespace, name }: { readonly kind: string; readonly namespace: string; readonly name: string }): string => {
  const { scope, collection } = writtenOf(kind);
  const place = collection.path.lastIndexOf('/');
  const plural = `${collection.path.slice(place)}/${encodeURIComponent(name)}`;
  const group = collection.path.slice(0, place);
  return scope === 'Cluster' ? group + plural : `${group}/namespaces/${encodeURIComponent(namespace)}${plural}`;
};
