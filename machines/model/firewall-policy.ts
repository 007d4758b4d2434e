import type { ActorId, NodeRef } from './types.ts';
/** How an address is exposed, and whom a class's Jobs work for. */

/** What a class's Job is told of the RoutedIP that it works for. */
export interface RoutedIPSubject {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly serviceNamespace: string;
  readonly serviceName: string;
  readonly firewall: string;
  readonly reclaimPolicy: 'Retain' | 'Delete';
  /** The IPGroup that its address is from; absent for none. */
  readonly ipGroup?: string;
  /** `tcp/80`, sorted. */
  readonly ports: readonly string[];
  readonly region: string;
  readonly epoch: number;
  /** The node that is left, when there is one. */
  readonly previous: NodeRef | null;
  /** Counts tries of the same; 1 for the first. */
  readonly attempt: number;
}

/** What is the same for all Jobs about a RoutedIP. */
export type Subject = Pick<
  RoutedIPSubject,
  'namespace' | 'name' | 'uid' | 'serviceNamespace' | 'serviceName' | 'firewall' | 'region' | 'reclaimPolicy' | 'ipGroup'
>;

/** How an address is exposed. */
export interface FirewallPolicy {
  /** Actor of the firewall to work on; null for none. */
  readonly firewall: ActorId | null;
  /** True: touch the firewall only after the assignment is confirmed. */
  readonly postAllow: boolean;
  /** What is to be open on a holder, as texts of ports, sorted. */
  readonly ports: readonly string[];
  /** Nodes on which other ports are to be open than those; absent for none. */
  readonly portsOn?: Readonly<Record<string, readonly string[]>>;
  /** Rules that are not ours may be removed, too; absent for false. */
  readonly exclusive?: boolean;
  /** How a holder is marked by a taint; null or absent for not at all. */
  readonly taint?: 'PreferNoSchedule' | 'NoSchedule' | null;
  /** Addresses that one node may hold; absent where that is up to the provider alone. */
  readonly perNode?: number;
  /** Jobs drive the firewall; absent for as before. */
  readonly byJobs?: boolean;
  /** Changes with the templates and with the RoutedIP: what a Job said can never work may work then. Absent when no Job drives anything. */
  readonly revision?: string;
  /** Whom a class's Jobs work for; absent when no Job drives the addresses. */
  readonly subject?: Subject;
}
