import type { ObjectRef } from '../model/types.ts';

/** VirtualIPs gave Services their addresses before type LoadBalancer was served. The names are those of the allocator that created them. */

/** On a VirtualIP: its IP has to be freed before it goes. */
export const IP_FINALIZER = 'ip.finalizers.virtualips.paas.org';
/** On a VirtualIP: its copy of the Service has to be deleted before it goes. */
export const CLONE_FINALIZER = 'service.finalizers.virtualips.paas.org';
/** On a VirtualIP: requests its migration to a Service of type LoadBalancer. Its presence counts, whatever its value. */
export const MIGRATE_ANNOTATION = 'virtualips.paas.org/migrate';
/** On a Service: name of the VirtualIP that is being migrated to it. No other one is migrated meanwhile. */
export const MIGRATING_ANNOTATION = 'virtualips.paas.org/migrating';

/** The `status` of a VirtualIP; empty strings for missing fields. */
export interface VirtualIPStatus {
  readonly state: string;
  readonly message: string;
  readonly ip: string;
  readonly service: string;
  readonly keepalivedGroup: string;
  readonly gsm: string;
  readonly clonedService: string;
}

/** A VirtualIP as stored by the API server. */
export interface VirtualIP {
  readonly ref: ObjectRef;
  readonly deleting: boolean;
  /** Has the annotation that requests its migration. */
  readonly asked: boolean;
  readonly finalizers: readonly string[];
  /** Empty without one. */
  readonly service: string;
  /** The requested address, unparsed; empty for any. */
  readonly ip: string;
  readonly status: VirtualIPStatus;
}

/** A Service in full: the copy decides which parts it takes. */
export interface ServiceObject {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Kind and name of each. */
  readonly owners: readonly { readonly kind: string; readonly name: string }[];
  readonly spec: Readonly<Record<string, unknown>>;
  /** The entries of `status.loadBalancer.ingress`: the raw `ip`, null for a hostname. */
  readonly ingress: readonly { readonly ip: string | null }[];
}

/** Cluster state relevant to a VirtualIP, observed together with it. */
export interface Surroundings {
  /** The Service that it names; null when there is none. */
  readonly service: { readonly type: string; readonly ingress: readonly (string | null)[]; readonly loadBalancerIP: string } | null;
  readonly clone: 'missing' | 'drifted' | 'current';
  /** The kind of owner named by the IP of its address; null when there is none. */
  readonly owner: 'VirtualIP' | 'Service' | 'other' | null;
  /** The IPGroup whose segment contains its address. */
  readonly group: string | null;
  /** Another VirtualIP that is being migrated to the Service. */
  readonly rival: string | null;
}

/** Name of its copy of the Service: 17 characters longer than that of the VirtualIP. */
export const cloneName = ({ name }: { readonly name: string }): string => `${name}-keepalived-clone`;
