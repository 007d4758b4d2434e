import type { ObjectRef } from '../model/types.ts';

/** The durable jobs of VirtualIPs. Each may be repeated: it looks at what stands before it writes, and what is done already is not done again. */
export interface MigrationJobs {
  /** The VirtualIP holds an IP of its own: the one that it had, the one that it asks for, or the lowest that is free. */
  readonly reserveVirtualIP: { readonly input: ReserveVirtualIPInput; readonly output: ReservedVirtualIP };
  /** The VirtualIP's copy of the Service stands, and is like the Service. */
  readonly exposeService: { readonly input: ExposeServiceInput; readonly output: ExposedService };
  /** No other VirtualIP is migrated to the Service. From then on the migration cannot be stopped, and the status says so before this answers. */
  readonly claimService: { readonly input: MigratedInput; readonly output: ClaimedService };
  /** The IP is the Service's. */
  readonly reassociateIP: { readonly input: MigratedInput; readonly output: ReassociatedIP };
  /** The VirtualIP does not hold the IP any more. */
  readonly handOverIP: { readonly input: MigratedInput; readonly output: Done };
  /** The Service is of type LoadBalancer, and asks for the address and no other. */
  readonly convertService: { readonly input: MigratedInput; readonly output: Done };
  /** The Service has the address as its ingress, and asks for it only if the VirtualIP did. */
  readonly assignIngress: { readonly input: AssignIngressInput; readonly output: Done };
  /** The copy is gone. Before the VirtualIP is migrated nothing is removed while the Service does not have its ingress. */
  readonly removeClone: { readonly input: RemoveCloneInput; readonly output: Done };
  /** What a VirtualIP that is deleted leaves is gone: its copy, its IP unless that is the Service's, and our finalizers. */
  readonly releaseVirtualIP: { readonly input: ReleaseVirtualIPInput; readonly output: ReleasedVirtualIP };
}

export type MigrationJobName = keyof MigrationJobs;
export type MigrationJobInput<N extends MigrationJobName> = MigrationJobs[N]['input'];
export type MigrationJobOutput<N extends MigrationJobName> = MigrationJobs[N]['output'];

export interface ReserveVirtualIPInput {
  readonly vip: ObjectRef;
  /** As it stands; empty for any. */
  readonly requested: string;
}

export interface ReservedVirtualIP {
  readonly address: string;
  /** Empty when the mapping is not there any more. */
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
  /** The annotation was taken off before the claim. */
  | { readonly kind: 'withdrawn' };

export interface ReassociatedIP {
  readonly group: string;
}

export type Done = Readonly<Record<string, never>>;

export interface AssignIngressInput extends MigratedInput {
  /** The VirtualIP asked for the address: the Service goes on asking for it. */
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
  /** Its address; null once it has been migrated, since then that is none of its concern, and where none is known: one may have been reserved for it all the same. */
  readonly address: string | null;
  /** The VirtualIP holds the IP: counts when it cannot be looked at any more. */
  readonly held: boolean;
}

export interface ReleasedVirtualIP {
  /** The IP was deleted. */
  readonly freed: boolean;
}
