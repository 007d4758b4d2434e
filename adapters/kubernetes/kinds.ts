import * as floatingIPPools from '../../crds/generated/floatingippool.ts';
import * as nodeDNSRecordSets from '../../crds/generated/nodednsrecordset.ts';
import type { WatchQuery } from './selection.ts';
import type { Detail } from './shared-watches.ts';

/** A kind of object that selects nodes. */
export interface Kind {
  readonly kind: string;
  readonly apiVersion: string;
  /** All objects of all namespaces. */
  readonly collection: WatchQuery;
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

const served = ({ KIND, API_VERSION, PLURAL }: Definition): Pick<Kind, 'kind' | 'apiVersion' | 'collection'> => ({
  kind: KIND,
  apiVersion: API_VERSION,
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

/** The path of one object. */
export const pathOf = ({ kind, namespace, name }: { readonly kind: string; readonly namespace: string; readonly name: string }): string => {
  const { path } = kindOf(kind).collection;
  const place = path.lastIndexOf('/');
  return `${path.slice(0, place)}/namespaces/${encodeURIComponent(namespace)}${path.slice(place)}/${encodeURIComponent(name)}`;
};
