import type { Address, ObjectRef } from '../../machines/model/types.ts';
import type { GroupOffer, IPGroupObject, ReservedIP, VipService } from '../../machines/vip/objects.ts';
import type { Fence } from './fence.ts';

/** Observations for the VIP allocator. Facts only: lost, duplicate or late ones do no harm. */
export interface VipListener {
  /** Called for Services that want an address or have our finalizer. One that no longer does either is reported as gone. */
  serviceObserved(service: VipService): void;
  serviceGone(ref: ObjectRef): void;
  groupObserved(group: IPGroupObject): void;
  groupGone(ref: ObjectRef): void;
  ipObserved(ip: ReservedIP): void;
  ipGone(ip: ReservedIP): void;
  /** All objects of all kinds have been sent since the first list, or since the kinds were installed. Nothing is allocated before that. */
  vipsSynced(): void;
}

/** The watches of Services, IPGroups and IPs, while both CRDs are served. */
export interface VipSource {
  /** Starts watching. Resolves when everything was sent, or when the CRDs are known not to be served; they are checked for again, and `vipsSynced` reports when they came. */
  start(listener: VipListener): Promise<void>;
  /** Sends everything again, as of now. */
  resync(): void;
  /** Restarts every watch from its current position, as if the server had ended it. */
  renew(): void;
  close(): Promise<void>;
}

/** Writes of the VIP allocator. The API server is the lock: every write may be repeated, is checked against the stored object at that moment, and calls `fence.assertFresh`
 *  right before it sends a change. @throws ProviderError (Conflict, NotFound, Invalid, Unauthorized for a 403, Unavailable …), Fenced, or Unreachable when the server does
 *  not answer */
export interface VipWriter extends GroupAddresses {
  /** Adds our finalizer to the Service. @throws ProviderError NotFound when the Service of that uid is gone, Conflict when it is being deleted without it */
  guard(service: ObjectRef, fence: Fence): Promise<void>;
  /** Ensures an IP of this address, owned by the Service; an existing one that is the Service's is taken as it is. One that is reserved for a VirtualIP changes owners only
   *  by `reassociate` of its migration. Returns the object. @throws ProviderError Conflict when it has another owner */
  reserve(address: Address, group: string, service: ObjectRef, fence: Fence): Promise<ReservedIP>;
  /** Sets the ingress of the Service's status to exactly this address, or to none. Returns whether a write was needed. @throws ProviderError NotFound when it is gone,
   *  Conflict when it would get an address while it is being deleted: the address may be freed, and given to another owner, by now */
  publish(service: ObjectRef, address: Address | null, fence: Fence): Promise<boolean>;
  /** Sets our condition that another controller serves the Service, with this message, or removes it for null; servers that keep no conditions of Services keep none.
   *  @throws ProviderError NotFound when it is gone */
  contend(service: ObjectRef, message: string | null, fence: Fence): Promise<void>;
  /** Sets the label of this IPGroup on the IP, if it is still that object; one that is gone or has another owner by now is left alone. */
  regroup(ip: ReservedIP, group: string, fence: Fence): Promise<void>;
  /** Removes our finalizer from the Service; one that is gone counts as done. */
  unguard(service: ObjectRef, fence: Fence): Promise<void>;
  /** The Service as the server has it now, not from a cache; null when there is none of that name. An existing RoutedIP is returned as a Service that wants its address: an
   *  address whose owner exists must not be freed. */
  look(owner: OwnerName): Promise<VipService | null>;
}

/** The owner of an address: a Service, unless the kind says otherwise. */
export interface OwnerName {
  readonly kind?: string;
  readonly namespace: string;
  readonly name: string;
}

/** Addresses of IPGroups for RoutedIPs: one IP object each, as for Services, with an owner that cannot be taken for a Service. Here too, every write may be repeated. */
export interface GroupAddresses {
  /** All IPs reserved for the RoutedIP of this uid, as the server has them now, lowest name first; none where no IPs are served. */
  held(routedIP: ObjectRef): Promise<readonly ReservedIP[]>;
  /** Ensures an IP of this address, owned by the RoutedIP; an existing one that belongs to it, or was kept for one of its name, is taken over. Returns the object.
   *  @throws ProviderError Conflict when it has another owner */
  hold(offer: GroupOffer, routedIP: ObjectRef, reclaim: Reclaim, fence: Fence): Promise<ReservedIP>;
  /** Marks the IP to stay when its owner is gone, if it is still that object; one with another owner is left alone. NotFound counts as done. */
  keep(ip: ReservedIP, fence: Fence): Promise<void>;
  /** Deletes the IP if it is still that object, with the owner in `ip`, and still to be deleted with it; one with another owner is left alone. NotFound counts as deleted. */
  free(ip: ReservedIP, fence: Fence): Promise<void>;
}

/** What happens to an address when its RoutedIP is gone. */
export type Reclaim = NonNullable<ReservedIP['reclaim']>;
