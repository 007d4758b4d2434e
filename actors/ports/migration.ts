import type { Address, ObjectRef } from '../../machines/model/types.ts';
import type { ReservedIP } from '../../machines/vip/objects.ts';
import type { ServiceObject, VirtualIP, VirtualIPStatus } from '../../machines/vip/virtualip.ts';
import type { Fence } from './fence.ts';

/** A name within a namespace. */
export interface Place {
  readonly namespace: string;
  readonly name: string;
}

/** An object as the server has it now, not from a cache. A write based on it is refused if the object has been written since. */
export type Live<T> = T & { readonly version: string };
export type LiveVirtualIP = Live<VirtualIP>;
export type LiveService = Live<ServiceObject>;
export type LiveIP = Live<LegacyIP>;

/** An IP, and the GroupSegmentMapping that it was allocated from; empty when it has none. */
export interface LegacyIP extends ReservedIP {
  readonly gsm: string;
}

/** A Service to create, or its desired content; see machines/migration/service-clone.ts. */
export interface CloneManifest extends Place {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly owner: ObjectRef;
  readonly spec: Readonly<Record<string, unknown>>;
}

/** The parts of a copy that follow its Service. */
export type CloneContent = Pick<CloneManifest, 'labels' | 'annotations' | 'spec'>;

/** The finalizers of a VirtualIP that are ours; see machines/vip/virtualip.ts. */
export type Hold = 'ip' | 'clone';

/** What the jobs of a VirtualIP read and write. Reads go to the server, not to a cache. Every write names the version that it is based on, may be repeated, and has the
 *  fence read and asserted right before it is sent; a write that would change nothing is not sent. @throws Overtaken when the object was written meanwhile, ProviderError
 *  (NotFound, Conflict for a name that is taken, Invalid, Unauthorized for what the ServiceAccount may not do), Fenced, or Unreachable when the server does not answer */
export interface MigrationWriter {
  /** Null when it is gone, another object has its name, or the kind is not served. */
  virtualIP(vip: ObjectRef): Promise<LiveVirtualIP | null>;
  service(place: Place): Promise<LiveService | null>;
  ip(address: Address): Promise<LiveIP | null>;
  ips(): Promise<readonly LegacyIP[]>;
  /** All of them; null where the kind is not served at present. */
  virtualIPs(): Promise<readonly VirtualIP[] | null>;
  /** IPGroups, unchecked. */
  groups(): Promise<readonly { readonly name: string; readonly spec: unknown }[]>;
  /** GroupSegmentMappings, unchecked; none where the kind is not served. */
  mappings(): Promise<readonly { readonly name: string; readonly spec: unknown }[]>;

  /** Adds the finalizer to the VirtualIP. Returns the updated VirtualIP. @throws ProviderError Conflict when it is being deleted without it */
  hold(vip: LiveVirtualIP, hold: Hold, fence: Fence): Promise<LiveVirtualIP>;
  /** Removes the finalizer. @throws VirtualIPNotFound */
  letGo(vip: ObjectRef, hold: Hold, fence: Fence): Promise<void>;
  /** Sets these fields of its status; empty ones are removed. @throws VirtualIPNotFound */
  report(vip: LiveVirtualIP, status: Partial<VirtualIPStatus>, fence: Fence): Promise<void>;

  /** Creates an IP of this address for the VirtualIP. @throws ProviderError Conflict when there is one already */
  reserve(address: Address, gsm: string, vip: ObjectRef, fence: Fence): Promise<void>;
  /** Gives the IP to the Service, in that group, replacing all its labels and annotations. */
  reassociate(ip: LiveIP, group: string, service: Place, fence: Fence): Promise<void>;
  /** Deletes this very IP; NotFound counts as deleted. @throws Overtaken when it was changed since it was read */
  free(ip: LiveIP, fence: Fence): Promise<void>;

  /** @throws ProviderError Conflict when a Service of that name exists */
  createClone(clone: CloneManifest, fence: Fence): Promise<void>;
  /** Sets the given parts of the copy, and removes those that are null; the rest of its spec stays. */
  syncClone(clone: LiveService, content: CloneContent, fence: Fence): Promise<void>;
  /** Deletes this very copy; NotFound counts as deleted. */
  deleteClone(clone: LiveService, fence: Fence): Promise<void>;

  /** Annotates the Service with the VirtualIP that is being migrated to it; null for none. */
  mark(service: LiveService, vip: string | null, fence: Fence): Promise<void>;
  /** Sets type LoadBalancer and `spec.loadBalancerIP` in one write: at no moment does the Service request an arbitrary address. */
  convert(service: LiveService, address: Address, fence: Fence): Promise<void>;
  /** Sets the ingress of the Service's status to exactly this address. Returns the updated Service. */
  setIngress(service: LiveService, address: Address, fence: Fence): Promise<LiveService>;
  /** Removes the annotation that names a VirtualIP and, unless `pinned`, the requested address. */
  settle(service: LiveService, pinned: boolean, fence: Fence): Promise<void>;
}

/** Observations of VirtualIPs. Facts only: lost, duplicate or late ones do no harm. */
export interface VirtualIPListener {
  virtualIPObserved(vip: VirtualIP): void;
  virtualIPGone(ref: ObjectRef): void;
  /** A Service of any type was changed, created or deleted. */
  serviceTouched(place: Place): void;
  /** All VirtualIPs have been sent since the first list, or since the kind was installed. */
  virtualIPsSynced(): void;
}

/** The watch of VirtualIPs, while their kind is served. */
export interface VirtualIPSource {
  /** Starts watching. Resolves when all were sent, or when the kind is known not to be served, or not to be readable; it is checked for again. */
  start(listener: VirtualIPListener): Promise<void>;
  /** Sends all again, as of now. */
  resync(): void;
  close(): Promise<void>;
}

/** The kinds of the allocator that VirtualIPs come from. */
export interface LegacyKinds {
  readonly source: VirtualIPSource;
  readonly writer: MigrationWriter;
}
