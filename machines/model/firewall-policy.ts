import type { ActorId, NodeRef } from './types.ts';
/** How an address is exposed, and the subject of a class's Jobs. */

/** The RoutedIP that a class's Job works for, as passed to the Job. */
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
  /** The node that the address leaves, if any. */
  readonly previous: NodeRef | null;
  /** Counts tries of the same request; 1 for the first. */
  readonly attempt: number;
}

/** The part that is the same for all Jobs about a RoutedIP. */
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
  /** What must be open on a holder, as texts of ports, sorted. */
  readonly ports: readonly string[];
  /** Nodes on which other ports must be open instead; absent for none. */
  readonly portsOn?: Readonly<Record<string, readonly string[]>>;
  /** Rules that are not ours may be removed, too; absent for false. */
  readonly exclusive?: boolean;
  /** How a holder is marked by a taint; null or absent for not at all. */
  readonly taint?: 'PreferNoSchedule' | 'NoSchedule' | null;
  /** Addresses that one node may hold; absent where the provider alone decides. */
  readonly perNode?: number;
  /** Jobs drive the firewall; absent for unchanged. */
  readonly byJobs?: boolean;
  /** Changes with the templates and with the RoutedIP: a request that a Job reported as impossible may then succeed. Absent when no Job drives anything. */
  readonly revision?: string;
  /** The subject of a class's Jobs; absent when no Job drives the addresses. */
  readonly subject?: Subject;
}
