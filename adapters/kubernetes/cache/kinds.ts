import * as clusterRoutedIPClasses from '../../../crds/generated/clusterroutedipclass.ts';
import * as floatingIPPools from '../../../crds/generated/floatingippool.ts';
import * as ips from '../../../crds/generated/ip.ts';
import * as ipGroups from '../../../crds/generated/ipgroup.ts';
import * as nodeDNSRecordSets from '../../../crds/generated/nodednsrecordset.ts';
import * as routedIPs from '../../../crds/generated/routedip.ts';
import * as routedIPIssuers from '../../../crds/generated/routedipissuer.ts';
import * as virtualIPs from '../../../crds/generated/virtualip.ts';
import type { WatchQuery } from './pages.ts';

/** What objects of a kind ask of the cluster: the nodes (and pods) that selectors of theirs let through, or what becomes of a Service. Policies ask for
 *  nothing: others go by them. Neither do addresses and their groups, which have a source of their own. */
export type Role = 'selects' | 'serves' | 'policy' | 'addresses';

/** A part of the operator that can be left out: then its kinds are neither watched nor needed. */
export type Controller = 'flipop' | 'routedip' | 'vip';

/** A kind of object that the operator watches, and writes about. */
export interface Kind {
  readonly kind: string;
  readonly apiVersion: string;
  readonly scope: 'Namespaced' | 'Cluster';
  /** All objects of all namespaces. */
  readonly collection: WatchQuery;
  readonly controller: Controller;
  readonly role: Role;
  /** It reads the addresses of its nodes. */
  readonly readsAddresses: boolean;
  /** Nothing begins while objects of this kind may not be listed: what is remembered of them would be taken for deleted, and given up. */
  readonly essential: boolean;
}

/** What the generated types of a CRD say of it. */
interface Definition {
  readonly KIND: string;
  readonly API_VERSION: string;
  readonly PLURAL: string;
}

const kind = (controller: Controller, { KIND, API_VERSION, PLURAL }: Definition, role: Role, more: Partial<Kind> = {}): Kind => ({
  controller,
  kind: KIND,
  apiVersion: API_VERSION,
  scope: 'Namespaced',
  collection: { path: `/apis/${API_VERSION}/${PLURAL}`, labelSelector: '' },
  role,
  readsAddresses: false,
  essential: false,
  ...more,
});

/** FloatingIPPools and NodeDNSRecordSets select nodes alike, but only the latter read the addresses of their nodes. */
const KINDS: readonly Kind[] = [
  kind('flipop', floatingIPPools, 'selects', { essential: true }),
  kind('flipop', nodeDNSRecordSets, 'selects', { readsAddresses: true }),
  kind('routedip', clusterRoutedIPClasses, 'policy', { scope: 'Cluster' }),
  kind('routedip', routedIPIssuers, 'policy'),
  kind('routedip', routedIPs, 'serves'),
  kind('vip', ipGroups, 'addresses', { scope: 'Cluster' }),
  kind('vip', ips, 'addresses', { scope: 'Cluster' }),
  kind('vip', virtualIPs, 'addresses'),
];

/** The kinds of these controllers, but those that have a source of their own. */
export const kindsOf = (controllers: readonly Controller[]): readonly Kind[] =>
  KINDS.filter(({ controller, role }) => controllers.includes(controller) && role !== 'addresses');

/** What these controllers do something for, in the plural: `FloatingIPPools`. */
export const ownersOf = (controllers: readonly Controller[]): readonly string[] =>
  kindsOf(controllers)
    .filter(({ role }) => role !== 'policy')
    .map(({ kind: name }) => `${name}s`);

/** @throws Error for a kind that is none of `KINDS` */
export const kindOf = (name: string): Kind => {
  const found = KINDS.find((each) => each.kind === name);
  if (found === undefined) throw new Error(`no such kind: ${name}`);
  return found;
};

/** Kinds of Kubernetes itself that Events are about. */
const CORE: readonly string[] = ['Node', 'Service'];

/** The group and version of a kind, as an Event names what it is about. */
export const apiVersionOf = (name: string): string => (CORE.includes(name) ? 'v1' : kindOf(name).apiVersion);

/** The path of one object. */
export const pathOf = (ref: { readonly kind: string; readonly namespace: string; readonly name: string }): string => {
  const { scope, collection } = kindOf(ref.kind);
  const place = collection.path.lastIndexOf('/');
  const plural = `${collection.path.slice(place)}/${encodeURIComponent(ref.name)}`;
  const group = collection.path.slice(0, place);
  return scope === 'Cluster' ? group + plural : `${group}/namespaces/${encodeURIComponent(ref.namespace)}${plural}`;
};
