import type { Json } from '../actors/ports/records.ts';
import type { DNSZone, ObservedAddress, ObservedNode, ObservedPod, ObservedService, ProviderID } from '../machines/model/types.ts';
import type { ReservedIP, VipService } from '../machines/vip/objects.ts';

/** An object of a kind that the operator looks after, or goes by. */
export interface Wish {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly spec: Json;
  /** Of the object as it stands; absent for one that does not. */
  readonly uid?: string;
  /** Of the object as it stands: what the operator remembers by. Absent for one that does not stand, and for one that nothing is remembered of. */
  readonly status?: Json;
  /** Those of the group routedip.io; absent for none. */
  readonly annotations?: Readonly<Record<string, string>>;
}

/** What a rehearsal begins with: the cluster and the account as they are now, as far as they are seen. */
export interface Scene {
  readonly nodes: readonly ObservedNode[];
  readonly pods: readonly ObservedPod[];
  /** Those that a pool waits for although the cluster has no node of theirs: the provider has not said that they are gone. */
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
  /** Null where nothing of IPGroups can differ. */
  readonly vips: VipScene | null;
  /** Labels by Namespace; empty where nothing goes by them. */
  readonly namespaces: ReadonlyMap<string, Readonly<Record<string, string>>>;
}

/** How things are at one time of a rehearsal. */
export interface Snapshot {
  readonly addresses: readonly ObservedAddress[];
  readonly zones: readonly DNSZone[];
  /** What is open in each firewall for somebody. They were empty when the rehearsal began. */
  readonly firewalls: readonly { readonly name: string; readonly ports: readonly string[] }[];
  /** Addresses of IPGroups → the Service that lists it, or the RoutedIP that it is reserved for, as `Kind namespace/name`. */
  readonly allocated: ReadonlyMap<string, string>;
  /** By `Kind namespace/name`: why a Service has not what it asks for. */
  readonly refusals: ReadonlyMap<string, string>;
  /** By `Kind namespace/name`: what the operator's status says. */
  readonly status: Readonly<Record<string, Json>>;
  readonly conditions: Readonly<
    Record<string, readonly { readonly type: string; readonly status: string; readonly reason: string; readonly message: string }[]>
  >;
}

/** What addresses of IPGroups are given from and to. */
export interface VipScene {
  /** The class of Services that is served besides none; null when none is seen to be. */
  readonly loadBalancerClass: string | null;
  readonly groups: readonly { readonly name: string; readonly spec: unknown }[];
  readonly ips: readonly ReservedIP[];
  /** All that want an address, have one, or bear the finalizer. */
  readonly services: readonly VipService[];
  /** Those of the manifest, as they would be. */
  readonly applied: readonly VipService[];
}

export const keyOf = ({ kind, namespace, name }: Pick<Wish, 'kind' | 'namespace' | 'name'>): string => `${kind} ${namespace}/${name}`;

/** An object for people: `Kind namespace/name`, or `Kind name`. */
export const called = ({ kind, namespace, name }: Omit<Wish, 'spec'>): string =>
  namespace === '' ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
