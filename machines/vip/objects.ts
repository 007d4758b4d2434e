import ipaddr from 'ipaddr.js';
import { familyOf, parseAddress } from '../model/address.ts';
import type { Address, ObjectRef } from '../model/types.ts';

/** The VIP allocator's view of the cluster. The names are those of the allocator that it replaces: users and their scripts rely on them. */

/** On a Service: it must not go before its addresses are free. */
export const VIP_FINALIZER = 'ips.paas.org/finalizer';
/** On an IP: `<namespace>/<name>` of the Service. The domain differs from that of the group, and always has. */
export const OWNER_ANNOTATION = 'virtualips.paas.il/owner';
/** On an IP: the uid of the Service. Absent on IPs written by earlier versions. */
export const OWNER_UID_ANNOTATION = 'ips.paas.org/owner-uid';
/** On an IP whose name cannot be its address: an IPv6 address has colons, which no name may have. */
export const ADDRESS_ANNOTATION = 'ips.paas.org/address';
/** On an IP: its IPGroup. */
export const GROUP_LABEL = 'ipgroup';
/** On an IP that was reserved for a VirtualIP: its GroupSegmentMapping. */
export const LEGACY_GROUP_LABEL = 'gsm';
/** On an IP that is reserved for a RoutedIP, as a label: its uid, so that one request finds what is reserved for it. */
export const ROUTED_IP_LABEL = 'routedip.io/routedip-uid';
/** On an IP that is reserved for a RoutedIP: what happens to it when the RoutedIP is gone. */
export const RECLAIM_ANNOTATION = 'routedip.io/reclaim-policy';
/** On a Service: the requested address, instead of `spec.loadBalancerIP`. */
export const REQUESTED_IP_ANNOTATION = 'ips.paas.org/requested-ip';
/** On a Service: the IPGroup that its address must come from. */
export const PINNED_GROUP_ANNOTATION = 'ips.paas.org/ipgroup';

/** On a Service, in its status: another controller writes its ingress, and the Service is left to it. */
export const CONTENDED_CONDITION = 'routedip.io/Contended';
/** The reason of that condition and of the Event, and the type of the condition of the IPGroup. */
export const CONTENDED = 'Contended';

/** A Service that wants an address, or has our finalizer. */
export interface VipService {
  readonly ref: ObjectRef;
  /** ms since the epoch. */
  readonly createdAt: number;
  /** Of type LoadBalancer and the class that we serve. */
  readonly wanting: boolean;
  readonly deleting: boolean;
  /** Has our finalizer. */
  readonly guarded: boolean;
  /** The entries of `status.loadBalancer.ingress`, in order: the raw `ip`, null for an entry with only a hostname. */
  readonly ingress: readonly { readonly ip: string | null }[];
  /** The raw `spec.loadBalancerIP`; empty for none. */
  readonly loadBalancerIP: string;
  /** The raw annotation; null for none. */
  readonly requestedIP: string | null;
  readonly pinnedGroup: string | null;
  /** The first of `spec.ipFamilies`; null where the server does not say. */
  readonly family: 4 | 6 | null;
  /** Name of the VirtualIP that is being migrated to it; absent for none. */
  readonly migrating?: string;
  /** The field manager that wrote the listed ingress; null where unknown. Absent where that is ours, or nothing is listed. */
  readonly by?: string | null;
  /** The message of our condition that another controller serves it; absent where the condition is absent. */
  readonly contended?: string;
  /** It sets the class that we serve: no other controller may serve it. */
  readonly classed?: true;
}

/** A RoutedIP in the form of a Service that wants its current address, for callers that check whether the owner of an address still exists. */
export const asOwner = ({ ref, createdAt, deleting }: Pick<VipService, 'ref' | 'createdAt' | 'deleting'>): VipService => ({
  ref,
  createdAt,
  deleting,
  wanting: true,
  guarded: true,
  ingress: [],
  loadBalancerIP: '',
  requestedIP: null,
  pinnedGroup: null,
  family: null,
});

/** A reserved address: an object of kind IP, whose existence is the reservation. */
export interface ReservedIP {
  /** Name of the object: the address itself, or an encoded IPv6 address. */
  readonly name: string;
  readonly uid: string;
  readonly address: Address;
  /** Null for an IP that we did not create. */
  readonly owner: { readonly namespace: string; readonly name: string; readonly uid: string | null } | null;
  /** The IPGroup; null when it has none, like one of a VirtualIP. */
  readonly group: string | null;
  /** Reserved for a VirtualIP, which `owner` names. */
  readonly legacy: boolean;
  /** Reserved for a RoutedIP, which `owner` names. Retain: it stays when that is gone, for another RoutedIP of the same name. Absent for other owners. */
  readonly reclaim?: 'Retain' | 'Delete';
}

/** An address of an IPGroup that is not reserved for another owner. */
export interface GroupOffer {
  readonly address: Address;
  readonly group: string;
}

/** An IPGroup as the API server serves it; `spec` and `status` are not yet checked. */
export interface IPGroupObject {
  readonly ref: ObjectRef;
  readonly generation: number;
  readonly deleting: boolean;
  readonly spec: unknown;
  readonly status: unknown;
}

/** The name of the object that reserves an address: the address itself, or for IPv6 the full form with `-` in place of `:`, which no name may contain. */
export const ipNameOf = (address: Address): string =>
  familyOf(address) === 4
    ? address
    : ipaddr.IPv6.parse(address)
        .parts.map((part) => part.toString(16).padStart(4, '0'))
        .join('-');

const CODED = /^[0-9a-f]{4}(-[0-9a-f]{4}){7}$/;

/** The address that an object of this name reserves; null when `ipNameOf` does not produce such a name. */
export const addressOfIP = (name: string): Address | null => parseAddress(CODED.test(name) ? name.replaceAll('-', ':') : name);

/** Whether the Service holds the reserved address. A reservation without uid predates the uid annotation: then the name decides. One reserved for a VirtualIP belongs to no
 *  Service, even of the same name. */
export const isOwnedBy = ({ owner, legacy, reclaim }: ReservedIP, { namespace, name, uid }: ObjectRef): boolean =>
  owner !== null &&
  !legacy &&
  reclaim === undefined &&
  owner.namespace === namespace &&
  owner.name === name &&
  (owner.uid === null || owner.uid === uid);

/** Whether the address is reserved for this RoutedIP. */
export const isHeldBy = ({ owner, reclaim }: ReservedIP, { uid }: Pick<ObjectRef, 'uid'>): boolean =>
  reclaim !== undefined && owner?.uid === uid;

/** Whether the address was kept when a RoutedIP of this name was deleted: this one gets it again. */
export const isKeptFor = ({ owner, reclaim }: ReservedIP, { namespace, name, uid }: Omit<ObjectRef, 'kind'>): boolean =>
  reclaim === 'Retain' && owner?.namespace === namespace && owner.name === name && owner.uid !== uid;

/** `NamespaceNotSelected`: the group does not admit the namespace. `IPGroupNotFound`: there is none of that name, or none is observed. `IPGroupInvalid`: nothing is taken from
 *  it in its current state. `IPGroupExhausted`: all its addresses are taken. `AddressUnavailable`: the address named by the RoutedIP is not in the group, excluded there, or
 *  taken. */
export interface GroupRefusal {
  readonly reason: 'NamespaceNotSelected' | 'IPGroupNotFound' | 'IPGroupInvalid' | 'IPGroupExhausted' | 'AddressUnavailable';
  readonly message: string;
}
