import type { Address, ObjectRef } from '../../machines/model/types.ts';
import type { ReservedIP } from '../../machines/vip/objects.ts';
import type { ServiceObject, VirtualIP, VirtualIPStatus } from '../../machines/vip/virtualip.ts';
import type { Fence } from './fence.ts';

/** A name within a namespace. */
export interface Place {
  readonly namespace: string;
  readonly name: string;
}

/** An object as the server has it now, not as a cache does. A write that is based on it is refused once somebody else has written. */
export type Live<T> = T & { readonly version: string };
export type LiveVirtualIP = Live<VirtualIP>;
export type LiveService = Live<ServiceObject>;
export type LiveIP = Live<LegacyIP>;

/** An IP, and the GroupSegmentMapping that it was taken from; empty when it has none. */
export interface LegacyIP extends ReservedIP {
  readonly gsm: string;
}

/** A Service that is to be created, or what it is to become; see machines/migration/service-clone.ts. */
export interface CloneManifest extends Place {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly owner: ObjectRef;
  readonly spec: Readonly<Record<string, unknown>>;
}

/** What of a copy is to follow its Service. */
export type CloneContent = Pick<CloneManifest, 'labels' | 'annotations' | 'spec'>;

/** The finalizers of a VirtualIP that are ours; see machines/vip/virtualip.ts. */
export type Hold = 'ip' | 'clone';

/** What the jobs of a VirtualIP read and write. Reads are of the server, not of a cache. Every write names the version that it is based on, may be
 *  repeated, and has the fence read and asserted right before it is sent; one that would change nothing is not sent.
 *  @throws Overtaken when somebody else wrote meanwhile, ProviderError (NotFound, Conflict for a name that is taken, Invalid, Unauthorized
 *  for what the ServiceAccount may not do), Fenced, or Unreachable when the server does not answer */
export interface MigrationWriter {
  /** Null when it is gone, another one has its name, or the kind is not served. */
  virtualIP(vip: ObjectRef): Promise<LiveVirtualIP | null>;
  service(place: Place): Promise<LiveService | null>;
  ip(address: Address): Promise<LiveIP | null>;
  ips(): Promise<readonly LegacyIP[]>;
  /** All; null where the kind is not served at present. */
  virtualIPs(): Promise<readonly VirtualIP[] | null>;
  /** IPGroups, unchecked. */
  groups(): Promise<readonly { readonly name: string; readonly spec: unknown }[]>;
  /** GroupSegmentMappings, unchecked; none where the kind is not served. */
  mappings(): Promise<readonly { readonly name: string; readonly spec: unknown }[]>;

  /** The finalizer stands on the VirtualIP. Answers it as it is then. @throws ProviderError Conflict when it is being deleted without it */
  hold(vip: LiveVirtualIP, hold: Hold, fence: Fence): Promise<LiveVirtualIP>;
  /** The finalizer stands on it no more. @throws VirtualIPNotFound */
  letGo(vip: ObjectRef, hold: Hold, fence: Fence): Promise<void>;
  /** Of its status these members say this; those that are empty are not there. @throws VirtualIPNotFound */
  report(vip: LiveVirtualIP, status: Partial<VirtualIPStatus>, fence: Fence): Promise<void>;

  /** An IP of this address is created for the VirtualIP. @throws ProviderError Conflict when there is one already */
  reserve(address: Address, gsm: string, vip: ObjectRef, fence: Fence): Promise<void>;
  /** The IP is the Service's, and of the group: these are all labels and annotations that it has from then on. */
  reassociate(ip: LiveIP, group: string, service: Place, fence: Fence): Promise<void>;
  /** This very IP is gone; NotFound counts as gone. @throws Overtaken when it was changed since it was read */
  free(ip: LiveIP, fence: Fence): Promise<void>;

  /** @throws ProviderError Conflict when a Service of that name is there */
  createClone(clone: CloneManifest, fence: Fence): Promise<void>;
  /** What is named of the copy is as given, and not there when it is null; what of its spec is not named stays. */
  syncClone(clone: LiveService, content: CloneContent, fence: Fence): Promise<void>;
  /** This very copy is gone; NotFound counts as gone. */
  deleteClone(clone: LiveService, fence: Fence): Promise<void>;

  /** The Service names the VirtualIP as the one that is migrated to it; null for none. */
  mark(service: LiveService, vip: string | null, fence: Fence): Promise<void>;
  /** Type LoadBalancer and `spec.loadBalancerIP`, in one write: there is no moment at which it asks for any address. */
  convert(service: LiveService, address: Address, fence: Fence): Promise<void>;
  /** The ingress of the Service's status is exactly this address. Answers the Service as it is then. */
  setIngress(service: LiveService, address: Address, fence: Fence): Promise<LiveService>;
  /** The Service names no VirtualIP any more, and, unless `pinned`, asks for no address. */
  settle(service: LiveService, pinned: boolean, fence: Fence): Promise<void>;
}

/** What is seen of VirtualIPs. Facts only: lost, doubled or late ones do no harm. */
export interface VirtualIPListener {
  virtualIPObserved(vip: VirtualIP): void;
  virtualIPGone(ref: ObjectRef): void;
  /** Something of a Service is another thing than before, or it has come, or gone: whichever, of any type. */
  serviceTouched(place: Place): void;
  /** All that there are have been told, since the first list or since the kind was installed. */
  virtualIPsSynced(): void;
}

/** The watch of VirtualIPs, while their kind is served. */
export interface VirtualIPSource {
  /** Starts watching. Resolves when all are told, or when the kind is known not to be served, or not to be seen; it is looked for again. */
  start(listener: VirtualIPListener): Promise<void>;
  /** Tells all again, as of now. */
  resync(): void;
  close(): Promise<void>;
}

/** The kinds of the allocator that VirtualIPs come from. */
export interface LegacyKinds {
  readonly source: VirtualIPSource;
  readonly writer: MigrationWriter;
}
