import type { ClusterFact } from '../../machines/events.ts';
import type { CreateIntent, Published } from '../../machines/jobs.ts';
import type { Address, Condition, EvacuatedNode, Evacuation, Finding, ObjectEvent, ObjectRef } from '../../machines/model/types.ts';
import type { Json } from './records.ts';

/** A FloatingIPPool or a NodeDNSRecordSet, by `ref.kind`, as the API server serves it; `spec` and `status` are not validated yet. */
export interface PoolObject {
  readonly ref: ObjectRef;
  readonly generation: number;
  readonly createdAt: number;
  readonly deleting: boolean;
  readonly spec: Json;
  readonly status: Json;
  /** The relevant metadata; for kinds of the group routedip.io, and for FloatingIPPools with such annotations. */
  readonly marks?: Marks;
}

export interface Marks {
  readonly finalizers: readonly string[];
  /** Annotations whose key begins with `routedip.io/`. */
  readonly annotations: Readonly<Record<string, string>>;
}

export interface ClusterListener {
  poolObserved(pool: PoolObject): void;
  poolGone(ref: ObjectRef): void;
  /** Called only after every cache behind the query is synced. */
  clusterObserved(pool: ObjectRef, fact: ClusterFact): void;
  /** A ClusterRoutedIPClass or RoutedIPIssuer. */
  policyObserved?(policy: PoolObject): void;
  policyGone?(ref: ObjectRef): void;
  /** The missing permission to read what an object needs from the cluster, for users: no facts about it are sent, or no longer. Null once none is missing. */
  hindered?(ref: ObjectRef, why: string | null): void;
  /** The names of all nodes of the cluster by the machines behind them: by providerID, or by the name of a Node that has none. Called before any fact about nodes, and when
   *  the map has changed. */
  machinesObserved?(machines: ReadonlyMap<string, string>): void;
  /** All nodes that have to be evacuated, and those for which that cannot be determined; called when they have changed. */
  evacuationsObserved?(nodes: readonly EvacuatedNode[]): void;
}

/** The watches of FloatingIPPools and NodeDNSRecordSets, each while its CRD is served. Facts only: lost, duplicate or late ones do no harm. */
export interface ClusterSource {
  /** Starts watching; resolves when the pools and the caches of every pool with valid selectors are synced, and their facts sent. */
  start(listener: ClusterListener): Promise<void>;
  /** Sends all current facts again; resolves when they were sent. `restMs`: the minimum of each pause made for other work, when there is no hurry. */
  resync(restMs?: number): Promise<void>;
  /** Whether the objects of a kind are observed; while they are not, a missing one means nothing. */
  knows(kind: string): boolean;
  close(): Promise<void>;
}

/** How strongly the holder of a routed address keeps Pods away. */
export type HolderEffect = 'PreferNoSchedule' | 'NoSchedule';

/** What happens to the holder's taint of a node. `AsItIs`: it stays as it is, which may be none. */
export type HolderMark = HolderEffect | 'AsItIs';

export type ClusterEvent = ObjectEvent;

/** What should be visible in the cluster about a pool or a NodeDNSRecordSet. */
export interface PoolProjection {
  readonly ref: ObjectRef;
  readonly generation: number;
  /** Only these fields of the status and these conditions are written: the rest of the status stays, since it is the only memory, and so does its observed generation. */
  readonly partial?: true;
  /** It only says why the object is not served: it does not show the present generation. */
  readonly unserved?: true;
  /** The whole status except conditions. */
  readonly status: { readonly [key: string]: Json };
  readonly conditions: readonly Condition[];
  /** Node name → address, for the annotation of its family; several when a node has one of each. Empty for what annotates no nodes. */
  readonly annotated: Readonly<Record<string, Address | readonly Address[]>>;
  /** Every address that is or was this pool's: the annotation is removed from other nodes that carry one of these. */
  readonly addresses: readonly Address[];
  readonly events: readonly ClusterEvent[];
  /** When the last known intent to create an address was recorded: it is removed by a status that does not carry it. Absent for none. */
  readonly knownIntent?: string;
  /** The new value of the annotation that requests moves, null for none, provided it is unchanged; absent to leave it. */
  readonly moveTo?: { readonly from: string; readonly to: string | null };
  /** The new value of the annotation of a RoutedIP that names its address; absent to leave it. */
  readonly bound?: Address;
}

/** A creation that is about to begin. */
export interface NewIntent extends CreateIntent {
  readonly region: string;
  /** The term under which it was decided. */
  readonly term: number;
}

/** Writes to the cluster. */
export interface ClusterWriter {
  /** Returns at once. Writes soon, only differences, and again on conflict; the latest projection wins. */
  project(projection: PoolProjection): void;
  /** The generation whose projections this process has completely written to the status since it leads; null while it has not. */
  shownGeneration(ref: ObjectRef): number | null;
  /** Resolves once the status contains the last projection of the object, at once when there is none. @throws Unreachable; Refused when the cluster refuses; Fenced when
   *  the status was written under a higher term */
  written(ref: ObjectRef): Promise<void>;
  /** An object is gone: stops projecting it, and removes its annotations from the nodes. Resolves once they are removed, however long that takes. Our finalizer is removed
   *  from a RoutedIP once earlier changes of holder taints were attempted. */
  retract(ref: ObjectRef, addresses: readonly Address[]): Promise<void>;
  /** Resolves once the intent is in the owner's status. @throws Unreachable; Fenced when the status was written under a higher term */
  recordIntent(owner: ObjectRef, intent: NewIntent): Promise<void>;
  /** Resolves once `address` is in the owner's `spec.ips`; returns the whole list, and the generation of the spec that contains it. */
  appendAddress(owner: ObjectRef, address: Address): Promise<Published>;
  /** Resolves once our finalizer is on the object; at once when the object is gone. @throws Unreachable */
  guard(ref: ObjectRef): Promise<void>;
  /** Resolves once our finalizer is no longer on the object. @throws Unreachable */
  unguard(ref: ObjectRef): Promise<void>;
  /** Why our finalizer can be neither added to the object nor removed: the API server has answered that with errors alone for long. Null while it has not. */
  guardTrouble(ref: ObjectRef): Finding | null;
  /** Resolves once the address is in the status of a RoutedIP. @throws Unreachable */
  bindAddress(owner: ObjectRef, address: Address, origin: 'Found' | 'Created'): Promise<void>;
  /** Resolves once the node has the holder's taint. @throws Unreachable */
  markHolder(node: string, effect: HolderEffect): Promise<void>;
  /** Returns at once. The nodes that should have the holder's taint, each with its effect: it is added where it is missing and, when `complete`, removed from all others. */
  markHolders(wanted: Readonly<Record<string, HolderMark>>, complete: boolean): void;
  /** Returns at once. What to show on each node that has to be evacuated; it is removed from all other nodes. */
  showEvacuations(wanted: Readonly<Record<string, Evacuation>>): void;
  /** Resolves once an Event about the object reports it, or the cluster refused the Event; it is logged in any case. The object may be gone. Repeating it reports nothing
   *  twice. @throws Unreachable */
  announce(owner: ObjectRef, event: ClusterEvent): Promise<void>;
  /** This process no longer decides: pending projections are dropped. */
  forget(): void;
  /** Resolves when nothing is left to write, at the latest after `graceMs`. */
  flush(graceMs: number): Promise<void>;
}
