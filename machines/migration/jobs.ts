import type { ObjectRef } from '../model/types.ts';

/** The durable jobs of VirtualIPs. Each may be repeated: it reads the current state before it writes, and skips what is already done. */
export interface MigrationJobs {
  /** The VirtualIP holds its own IP: the one that it had, the requested one, or the lowest free one. */
  readonly reserveVirtualIP: { readonly input: ReserveVirtualIPInput; readonly output: ReservedVirtualIP };
  /** The VirtualIP's copy of the Service exists and matches the Service. */
  readonly exposeService: { readonly input: ExposeServiceInput; readonly output: ExposedService };
  /** No other VirtualIP is migrated to the Service. From then on the migration cannot be stopped, and the status shows that before this completes. */
  readonly claimService: { readonly input: MigratedInput; readonly output: ClaimedService };
  /** The IP belongs to the Service. */
  readonly reassociateIP: { readonly input: MigratedInput; readonly output: ReassociatedIP };
  /** The VirtualIP no longer holds the IP. */
  readonly handOverIP: { readonly input: MigratedInput; readonly output: Done };
  /** The Service is of type LoadBalancer, and requests exactly this address. */
  readonly convertService: { readonly input: MigratedInput; readonly output: Done };
  /** The Service has the address as its ingress, and requests it only if the VirtualIP did. */
  readonly assignIngress: { readonly input: AssignIngressInput; readonly output: Done };
  /** The copy is gone. Before the VirtualIP is migrated nothing is removed while the Service lacks its ingress. */
  readonly removeClone: { readonly input: RemoveCloneInput; readonly output: Done };
  /** Everything that a deleted VirtualIP leaves is gone: its copy, its IP unless it belongs to the Service, and our finalizers. */
  readonly releaseVirtualIP: { readonly input: ReleaseVirtualIPInput; readonly output: ReleasedVirtualIP };
}

export type MigrationJobName = keyof MigrationJobs;
export type MigrationJobInput<N extends MigrationJobName> = MigrationJobs[N]['input'];
export type MigrationJobOutput<N extends MigrationJobName> = MigrationJobs[N]['output'];

export interface ReserveVirtualIPInput {
  readonly vip: ObjectRef;
  /** The raw value; empty for any. */
  readonly requested: string;
}

export interface ReservedVirtualIP {
  readonly address: string;
  /** Empty when the mapping no longer exists. */
  readonly gsm: string;
  readonly keepalivedGroup: string;
}

export interface ExposeServiceInput {
  readonly vip: ObjectRef;
  readonly service: string;
  readonly address: string;
  readonly clone: string;
}

export interface ExposedService {
  readonly service: string;
  readonly clone: string;
  /** Its migration to that Service has begun: nothing was done. Absent for false. */
  readonly begun?: true;
}

export interface MigratedInput {
  readonly vip: ObjectRef;
  readonly service: string;
  readonly address: string;
}

export type ClaimedService =
  | { readonly kind: 'claimed' }
  /** The Service is of type LoadBalancer, or has an ingress. */
  | { readonly kind: 'loadBalancer' }
  | { readonly kind: 'rival'; readonly name: string }
  /** The annotation was removed before the claim. */
  | { readonly kind: 'withdrawn' };

export interface ReassociatedIP {
  readonly group: string;
}

export type Done = Readonly<Record<string, never>>;

export interface AssignIngressInput extends MigratedInput {
  /** The VirtualIP requested the address: the Service keeps requesting it. */
  readonly pinned: boolean;
}

export interface RemoveCloneInput extends MigratedInput {
  readonly clone: string;
}

export interface ReleaseVirtualIPInput {
  readonly vip: ObjectRef;
  /** Empty when it never exposed one. */
  readonly service: string;
  readonly clone: string;
  /** Its address; null after its migration, when the address is no longer its concern, and where unknown: one may have been reserved for it nevertheless. */
  readonly address: string | null;
  /** The VirtualIP holds the IP: used when the VirtualIP can no longer be read. */
  readonly held: boolean;
}

export interface ReleasedVirtualIP {
  /** The IP was deleted. */
  readonly freed: boolean;
}
