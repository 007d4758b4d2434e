import type { ObjectRef } from '../model/types.ts';

/** VirtualIPs, as Services got their addresses before type LoadBalancer was served. The names are those of the allocator that made them. */

/** On a VirtualIP: its IP is to be freed before it goes. */
export const IP_FINALIZER = 'ip.finalizers.virtualips.paas.org';
/** On a VirtualIP: its copy of the Service is to be deleted before it goes. */
export const CLONE_FINALIZER = 'service.finalizers.virtualips.paas.org';
/** On a VirtualIP: it is to be turned into a Service of type LoadBalancer. Its presence counts, whatever its value. */
export const MIGRATE_ANNOTATION = 'virtualips.paas.org/migrate';
/** On a Service: name of the VirtualIP that is being migrated to it. No other one is meanwhile. */
export const MIGRATING_ANNOTATION = 'virtualips.paas.org/migrating';

/** What `status` of a VirtualIP says; empty for what it does not say. */
export interface VirtualIPStatus {
  readonly state: string;
  readonly message: string;
  readonly ip: string;
  readonly service: string;
  readonly keepalivedGroup: string;
  readonly gsm: string;
  readonly clonedService: string;
}

/** A VirtualIP as the API server has it. */
export interface VirtualIP {
  readonly ref: ObjectRef;
  readonly deleting: boolean;
  /** Bears the annotation that asks for its migration. */
  readonly asked: boolean;
  readonly finalizers: readonly string[];
  /** Empty without one. */
  readonly service: string;
  /** The address that it asks for, as it stands; empty for any. */
  readonly ip: string;
  readonly status: VirtualIPStatus;
}

/** A Service in full: what of it goes into a copy is up to the copy. */
export interface ServiceObject {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Kind and name of each. */
  readonly owners: readonly { readonly kind: string; readonly name: string }[];
  readonly spec: Readonly<Record<string, unknown>>;
  /** What `status.loadBalancer.ingress` lists: `ip` as it stands, null for a hostname. */
  readonly ingress: readonly { readonly ip: string | null }[];
}

/** What of the cluster bears on a VirtualIP: told with it. */
export interface Surroundings {
  /** The Service that it names; null when there is none. */
  readonly service: { readonly type: string; readonly ingress: readonly (string | null)[]; readonly loadBalancerIP: string } | null;
  readonly clone: 'missing' | 'drifted' | 'current';
  /** Whom the IP of its address names as owner; null when there is none. */
  readonly owner: 'VirtualIP' | 'Service' | 'other' | null;
  /** The IPGroup whose segment has its address. */
  readonly group: string | null;
  /** Another VirtualIP that is being migrated to the Service. */
  readonly rival: string | null;
}

/** How its copy of the Service is called. 17 characters more than the VirtualIP. */
export const cloneName = ({ name }: { readonly name: string }): string => `${name}-keepalived-clone`;
