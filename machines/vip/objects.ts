import ipaddr from 'ipaddr.js';
import { familyOf, parseAddress } from '../model/address.ts';
import type { Address, ObjectRef } from '../model/types.ts';

/** What the VIP allocator sees of the cluster. Its names are those of the allocator that it takes the place of: users and their scripts rely on them. */

/** On a Service: it may not go before its addresses are free. */
export const VIP_FINALIZER = 'ips.paas.org/finalizer';
/** On an IP: `<namespace>/<name>` of the Service. The domain is not that of the group, and has always been so. */
export const OWNER_ANNOTATION = 'virtualips.paas.il/owner';
/** On an IP: the uid of the Service. Absent on those of before. */
export const OWNER_UID_ANNOTATION = 'ips.paas.org/owner-uid';
/** On an IP whose name cannot be its address: an IPv6 address has colons, which no name may have. */
export const ADDRESS_ANNOTATION = 'ips.paas.org/address';
/** On an IP: the IPGroup that it was taken from. */
export const GROUP_LABEL = 'ipgroup';
/** On an IP that was reserved for a VirtualIP: its GroupSegmentMapping. */
export const LEGACY_GROUP_LABEL = 'gsm';
/** On an IP that is reserved for a RoutedIP, as a label: its uid, so that one request finds what is reserved for it. */
export const ROUTED_IP_LABEL = 'routedip.io/routedip-uid';
/** On an IP that is reserved for a RoutedIP: what becomes of it when that is gone. */
export const RECLAIM_ANNOTATION = 'routedip.io/reclaim-policy';
/** On a Service: the address that it asks for, instead of `spec.loadBalancerIP`. */
export const REQUESTED_IP_ANNOTATION = 'ips.paas.org/requested-ip';
/** On a Service: the IPGroup that its address is to be of. */
export const PINNED_GROUP_ANNOTATION = 'ips.paas.org/ipgroup';

/** Of a Service, in its status: somebody else writes its ingress, and it is left to them. */
export const CONTENDED_CONDITION = 'routedip.io/Contended';
/** The reason of that condition, of the Event, and the type of the condition of the IPGroup. */
export const CONTENDED = 'Contended';

/** A Service that wants an address, or bears our finalizer. */
export interface VipService {
  readonly ref: ObjectRef;
  /** ms since the epoch. */
  readonly createdAt: number;
  /** Type LoadBalancer, and of the class that we serve. */
  readonly wanting: boolean;
  readonly deleting: boolean;
  /** Bears our finalizer. */
  readonly guarded: boolean;
  /** What `status.loadBalancer.ingress` lists, in its order: `ip` as it stands, null for an entry with a hostname only. */
  readonly ingress: readonly { readonly ip: string | null }[];
  /** `spec.loadBalancerIP` as it stands; empty for none. */
  readonly loadBalancerIP: string;
  /** The annotation as it stands; null for none. */
  readonly requestedIP: string | null;
  readonly pinnedGroup: string | null;
  /** The first of `spec.ipFamilies`; null where the server does not say. */
  readonly family: 4 | 6 | null;
  /** Name of the VirtualIP that is being migrated to it; absent for none. */
  readonly migrating?: string;
  /** Who wrote the ingress that it lists, by the name of his field manager; null where the server does not say. Absent where that is us, or nothing is listed. */
  readonly by?: string | null;
  /** The message of our condition that somebody else serves it; absent where it does not stand. */
  readonly contended?: string;
  /** It names the class that we serve: no other controller may serve it. */
  readonly classed?: true;
}

/** A RoutedIP as a Service that wants what it has, for who asks whether the owner of an address is still there. */
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
  /** Of the object: the address itself, or a coded form of an IPv6 address. */
  readonly name: string;
  readonly uid: string;
  readonly address: Address;
  /** Null for one that nobody of ours has made. */
  readonly owner: { readonly namespace: string; readonly name: string; readonly uid: string | null } | null;
  /** The IPGroup; null when it has none, as one of a VirtualIP. */
  readonly group: string | null;
  /** Reserved for a VirtualIP: `owner` names that. */
  readonly legacy: boolean;
  /** Reserved for a RoutedIP: `owner` names that. Retain: it stays when that is gone, for another RoutedIP of its name. Absent for what is not. */
  readonly reclaim?: 'Retain' | 'Delete';
}

/** An address of an IPGroup that is nobody else's. */
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

/** The name of the object that reserves an address: the address itself, or all of an IPv6 address with `-` in place of `:`, which no name may have. */
export const ipNameOf = (address: Address): string =>
  familyOf(address) === 4
    ? address
    : ipaddr.IPv6.parse(address)
        .parts.map((part) => part.toString(16).padStart(4, '0'))
        .join('-');

const CODED = /^[0-9a-f]{4}(-[0-9a-f]{4}){7}$/;

/** The address that an object of this name reserves; null when the name is none that `ipNameOf` gives. */
export const addressOfIP = (name: string): Address | null => parseAddress(CODED.test(name) ? name.replaceAll('-', ':') : name);

/** Whether the Service holds the reserved address. One that names no uid was made before uids were noted: the name says it all. One that was
 *  reserved for a VirtualIP is no Service's, even of the same name. */
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

/** Whether the address was kept when a RoutedIP of this name went: this one gets it again. */
export const isKeptFor = ({ owner, reclaim }: ReservedIP, { namespace, name, uid }: Omit<ObjectRef, 'kind'>): boolean =>
  reclaim === 'Retain' && owner?.namespace === namespace && owner.name === name && owner.uid !== uid;

/** `NamespaceNotSelected`: it is not for the namespace. `IPGroupNotFound`: there is none of that name, or none is seen. `IPGroupInvalid`: nothing is taken from it as it is. `IPGroupExhausted`: all its addresses are
 *  somebody's. `AddressUnavailable`: the one that the RoutedIP names is not of the group, excluded there, or somebody's. */
export interface GroupRefusal {
  readonly reason: 'NamespaceNotSelected' | 'IPGroupNotFound' | 'IPGroupInvalid' | 'IPGroupExhausted' | 'AddressUnavailable';
  readonly message: string;
}
