import * as clusterRoutedIPClasses from '../../../crds/generated/clusterroutedipclass.ts';
import * as floatingIPPools from '../../../crds/generated/floatingippool.ts';
import * as ips from '../../../crds/generated/ip.ts';
import * as ipGroups from '../../../crds/generated/ipgroup.ts';
import * as nodeDNSRecordSets from '../../../crds/generated/nodednsrecordset.ts';
import * as routedIPs from '../../../crds/generated/routedip.ts';
import * as routedIPIssuers from '../../../crds/generated/routedipissuer.ts';
import * as virtualIPs from '../../../crds/generated/virtualip.ts';
import type { WatchQuery } from './pages.ts';

/** What objects of a kind need from the cluster: the nodes (and pods) that their selectors match, or the state of a Service. Policies need nothing:
 *  other kinds depend on them. Neither do addresses and their groups, which have a source of their own. */
export type Role = 'selects' | 'serves' | 'policy' | 'addresses';

/** A part of the operator that can be disabled: then its kinds are neither watched nor required. */
export type Controller = 'flipop' | 'routedip' | 'vip';

/** A kind of object that the operator watches and writes. */
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
  /** The operator does not start while listing this kind is forbidden: remembered objects would count as deleted, and be given up. */
  readonly essential: boolean;
}

/** Constants from the generated types of a CRD. */
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

/** FloatingIPPools and NodeDNSRecordSets both select nodes, but only the latter read the addresses of their nodes. */
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

/** The kinds of these controllers, except those that have a source of their own. */
export const kindsOf = (controllers: readonly Controller[]): readonly Kind[] =>
  KINDS.filter(({ controller, role }) => controllers.includes(controller) && role !== 'addresses');

/** The kinds these controllers work for, in the plural: `FloatingIPPools`. */
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

/** Core Kubernetes kinds that Events refer to. */
const CORE: readonly string[] = ['Node', 'Service'];

/** The apiVersion of a kind, for the `regarding` object of an Event. */
export const apiVersionOf = (name: string): string => (CORE.includes(name) ? 'v1' : kindOf(name).apiVersion);

/** The path of one object. */
export const pathOf = (ref: { readonly kind: string; readonly namespace: string; readonly name: string }): string => {
  const { scope, collection } = kindOf(ref.kind);
  const place = collection.path.lastIndexOf('/');
  const plural = `${collection.path.slice(place)}/${encodeURIComponent(ref.name)}`;
  const group = collection.path.slice(0, place);
  return scope === 'Cluster' ? group + plural : `${group}/namespaces/${encodeURIComponent(ref.namespace)}${plural}`;
};
