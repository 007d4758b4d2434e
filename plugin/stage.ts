import type { Json } from '../actors/ports/records.ts';
import type { DNSZone, ObservedAddress, ObservedNode, ObservedPod, ObservedService, ProviderID } from '../machines/model/types.ts';
import type { ReservedIP, VipService } from '../machines/vip/objects.ts';

/** An object of a kind that the operator serves or depends on. */
export interface Wish {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly spec: Json;
  /** Uid of the existing object; absent when there is none. */
  readonly uid?: string;
  /** Status of the existing object, which the operator remembers by. Absent when there is no object, or nothing to remember. */
  readonly status?: Json;
  /** Annotations of the group routedip.io; absent for none. */
  readonly annotations?: Readonly<Record<string, string>>;
}

/** What a rehearsal starts from: the present cluster and account, as far as observed. */
export interface Scene {
  readonly nodes: readonly ObservedNode[];
  readonly pods: readonly ObservedPod[];
  /** Machines that a pool waits for although they have no Node in the cluster: the provider has not said that they are gone. */
  readonly machines: readonly ProviderID[];
  /** `namespace/name` → Service. */
  readonly services: ReadonlyMap<string, ObservedService>;
  /** Classes and issuers. */
  readonly policies: readonly Wish[];
  /** Oldest first. */
  readonly wishes: readonly Wish[];
  readonly addresses: readonly Omit<ObservedAddress, 'locked'>[];
  readonly zones: readonly string[];
  readonly firewalls: readonly string[];
  /** Null when nothing about IPGroups can differ. */
  readonly vips: VipScene | null;
  /** Labels by Namespace; empty when nothing depends on them. */
  readonly namespaces: ReadonlyMap<string, Readonly<Record<string, string>>>;
}

/** State at one time of a rehearsal. */
export interface Snapshot {
  readonly addresses: readonly ObservedAddress[];
  readonly zones: readonly DNSZone[];
  /** Ports opened in each firewall. They were empty when the rehearsal began. */
  readonly firewalls: readonly { readonly name: string; readonly ports: readonly string[] }[];
  /** Addresses of IPGroups → the Service that lists it, or the RoutedIP that it is reserved for, as `Kind namespace/name`. */
  readonly allocated: ReadonlyMap<string, string>;
  /** By `Kind namespace/name`: why a Service does not get what it asks for. */
  readonly refusals: ReadonlyMap<string, string>;
  /** By `Kind namespace/name`: the status that the operator wrote. */
  readonly status: Readonly<Record<string, Json>>;
  readonly conditions: Readonly<
    Record<string, readonly { readonly type: string; readonly status: string; readonly reason: string; readonly message: string }[]>
  >;
}

/** IPGroups and their users. */
export interface VipScene {
  /** The Service class that is served besides Services without one; null when none is known to be. */
  readonly loadBalancerClass: string | null;
  readonly groups: readonly { readonly name: string; readonly spec: unknown }[];
  readonly ips: readonly ReservedIP[];
  /** All that want an address, have one, or have the finalizer. */
  readonly services: readonly VipService[];
  /** Services of the manifest, as they would be. */
  readonly applied: readonly VipService[];
}

export const keyOf = ({ kind, namespace, name }: Pick<Wish, 'kind' | 'namespace' | 'name'>): string => `${kind} ${namespace}/${name}`;

/** Display name: `Kind namespace/name`, or `Kind name`. */
export const called = ({ kind, namespace, name }: Omit<Wish, 'spec'>): string =>
  namespace === '' ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
