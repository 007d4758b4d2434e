import type { Address, ObjectRef } from '../../machines/model/types.ts';
import type { GroupOffer, IPGroupObject, ReservedIP, VipService } from '../../machines/vip/objects.ts';
import type { Fence } from './fence.ts';

/** What is seen for the VIP allocator. Facts only: lost, doubled or late ones do no harm. */
export interface VipListener {
  /** Told of Services that want an address or bear our finalizer. One that does neither any more is told as gone. */
  serviceObserved(service: VipService): void;
  serviceGone(ref: ObjectRef): void;
  groupObserved(group: IPGroupObject): void;
  groupGone(ref: ObjectRef): void;
  ipObserved(ip: ReservedIP): void;
  ipGone(ip: ReservedIP): void;
  /** Everything of all kinds has been told since the first list, or since the kinds were installed. Nothing is allocated before. */
  vipsSynced(): void;
}

/** The watches of Services, IPGroups and IPs, while both CRDs are served. */
export interface VipSource {
  /** Starts watching. Resolves when all is told, or when the CRDs are known not to be served; they are looked for again, and `vipsSynced` says when they came. */
  start(listener: VipListener): Promise<void>;
  /** Tells everything again, as of now. */
  resync(): void;
  /** Takes every watch up again where it stands, as if the server had ended it. */
  renew(): void;
  close(): Promise<void>;
}

/** Writes of the VIP allocator. The API server is the lock: every one may be repeated, is checked against what stands there at that moment, and calls
 *  `fence.assertFresh` right before it sends what changes anything.
 *  @throws ProviderError (Conflict, NotFound, Invalid, Unauthorized for a 403, Unavailable …), Fenced, or Unreachable when the server does not answer */
export interface VipWriter extends GroupAddresses {
  /** Our finalizer stands on the Service. @throws ProviderError NotFound when the Service of that uid is gone, Conflict when it is being deleted without it */
  guard(service: ObjectRef, fence: Fence): Promise<void>;
  /** An IP of this address stands, owned by the Service; one that stands already and is the Service's is taken as it is. Of one that was reserved for a
   *  VirtualIP `migrates` takes the ownership over. Answers the object. @throws ProviderError Conflict when it is anybody else's */
  reserve(address: Address, group: string, service: ObjectRef, fence: Fence): Promise<ReservedIP>;
  /** The ingress of the Service's status is exactly this address, or empty. Answers whether anything had to be written. @throws ProviderError NotFound when it is gone, Conflict when
   *  it is to get an address while it is being deleted: that may be freed, and given to another one, by now */
  publish(service: ObjectRef, address: Address | null, fence: Fence): Promise<boolean>;
  /** Our condition that somebody else serves the Service stands in its status with this message, or, for null, not at all; servers that keep no conditions of Services
   *  keep none. @throws ProviderError NotFound when it is gone */
  contend(service: ObjectRef, message: string | null, fence: Fence): Promise<void>;
  /** The IP bears the label of this IPGroup, if it is still that object; one that is gone, or somebody else's by now, is left alone. */
  regroup(ip: ReservedIP, group: string, fence: Fence): Promise<void>;
  /** Our finalizer stands on the Service no more; one that is gone counts as done. */
  unguard(service: ObjectRef, fence: Fence): Promise<void>;
  /** The Service as the server has it now, not as a cache does; null when there is none of that name. A RoutedIP that is there is told as a Service that wants
   *  its address: whose owner is there is nobody's to free. */
  look(owner: OwnerName): Promise<VipService | null>;
}

/** Whoever has an address: a Service, unless the kind says otherwise. */
export interface OwnerName {
  readonly kind?: string;
  readonly namespace: string;
  readonly name: string;
}

/** Addresses of IPGroups for RoutedIPs: an object IP each, as for Services, whose owner cannot be taken for a Service. As there, every write may be repeated. */
export interface GroupAddresses {
  /** All that is reserved for the RoutedIP of this uid, as the server has it now, lowest name first; none where no IPs are served. */
  held(routedIP: ObjectRef): Promise<readonly ReservedIP[]>;
  /** An IP of this address stands, owned by the RoutedIP; one that stands already and is its, or was kept for one of its name, is taken over. Answers the object.
   *  @throws ProviderError Conflict when it is anybody else's */
  hold(offer: GroupOffer, routedIP: ObjectRef, reclaim: Reclaim, fence: Fence): Promise<ReservedIP>;
  /** The IP says that it stays when its owner is gone, if it is still that object; anybody else's is left alone. NotFound counts as done. */
  keep(ip: ReservedIP, fence: Fence): Promise<void>;
  /** The IP is gone, if it is still that object, still owned by who `ip` says and still to go with him; anybody else's is left alone. NotFound counts as gone. */
  free(ip: ReservedIP, fence: Fence): Promise<void>;
}

/** What becomes of an address when its RoutedIP is gone. */
export type Reclaim = NonNullable<ReservedIP['reclaim']>;
