import type { ClusterFact } from '../../machines/events.ts';
import type { CreateIntent, Published } from '../../machines/jobs.ts';
import type { Address, Condition, EvacuatedNode, Evacuation, Finding, ObjectEvent, ObjectRef } from '../../machines/model/types.ts';
import type { Json } from './records.ts';

/** A FloatingIPPool or a NodeDNSRecordSet, as `ref.kind` tells, as the API server serves it; `spec` and `status` are not yet checked. */
export interface PoolObject {
  readonly ref: ObjectRef;
  readonly generation: number;
  readonly createdAt: number;
  readonly deleting: boolean;
  readonly spec: Json;
  readonly status: Json;
  /** Of kinds of the group routedip.io, and of FloatingIPPools that bear such annotations: what of the metadata decides. */
  readonly marks?: Marks;
}

export interface Marks {
  readonly finalizers: readonly string[];
  /** Those whose key begins with `routedip.io/`. */
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
  /** Which right is missing to see what an object asks of the cluster, for people: no facts are told of it, or none any more. Null once none is missing. */
  hindered?(ref: ObjectRef, why: string | null): void;
  /** The names of all nodes of the cluster by the machines behind them: by providerID, or by the name of a Node that has none. Told before any fact about nodes, and when
   *  they are others than before. */
  machinesObserved?(machines: ReadonlyMap<string, string>): void;
  /** The nodes that are to be evacuated, all of them, and those of which nobody can tell; told when they are others than before. */
  evacuationsObserved?(nodes: readonly EvacuatedNode[]): void;
}

/** The watches of FloatingIPPools and NodeDNSRecordSets, each while its CRD is served. Facts only: lost, doubled or late ones do no harm. */
export interface ClusterSource {
  /** Starts watching; resolves when the pools and the caches of every pool with valid selectors are synced, and told. */
  start(listener: ClusterListener): Promise<void>;
  /** Tells everything again, as of now; resolves when it was told. `restMs`: how long each pause is at least that it makes for others, where there is no hurry. */
  resync(restMs?: number): Promise<void>;
  /** Whether the objects of a kind are seen; while they are not, that one is missing says nothing. */
  knows(kind: string): boolean;
  close(): Promise<void>;
}

/** How strongly the holder of a routed address keeps Pods away. */
export type HolderEffect = 'PreferNoSchedule' | 'NoSchedule';

/** What becomes of the holder's taint of a node. `AsItIs`: it bears what it bore, which may be none. */
export type HolderMark = HolderEffect | 'AsItIs';

export type ClusterEvent = ObjectEvent;

/** What should be visible of a pool, or of a NodeDNSRecordSet, in the cluster. */
export interface PoolProjection {
  readonly ref: ObjectRef;
  readonly generation: number;
  /** Only these fields of the status and these conditions are shown: the rest of the status stays, since it is the only memory that there is, and so does the
   *  generation that it is about. */
  readonly partial?: true;
  /** It says only why the object is not served: its present generation is not shown by it. */
  readonly unserved?: true;
  /** All of status but conditions. */
  readonly status: { readonly [key: string]: Json };
  readonly conditions: readonly Condition[];
  /** Node name → address, for the annotation of its family; several when a node has one of each. Empty for what annotates no nodes. */
  readonly annotated: Readonly<Record<string, Address | readonly Address[]>>;
  /** Every address that is or was this pool's: the annotation is removed from other nodes that bear one of these. */
  readonly addresses: readonly Address[];
  readonly events: readonly ClusterEvent[];
  /** When the last intent to create an address was recorded that is known: it is not left in a status that does not tell of it. Absent for none. */
  readonly knownIntent?: string;
  /** What is to stand in the annotation that asks for moves, null for none, as long as it is still as it was; absent to leave it. */
  readonly moveTo?: { readonly from: string; readonly to: string | null };
  /** What is to stand in the annotation of a RoutedIP that names its address; absent to leave it. */
  readonly bound?: Address;
}

/** A creation that is about to begin. */
export interface NewIntent extends CreateIntent {
  readonly region: string;
  /** Under which it was decided. */
  readonly term: number;
}

/** Writes to the cluster. */
export interface ClusterWriter {
  /** Returns at once; written soon, latest wins, only what differs, again on conflict. */
  project(projection: PoolProjection): void;
  /** The generation of which the status says all that was projected, since this process leads; null while it does not. */
  shownGeneration(ref: ObjectRef): number | null;
  /** Resolves once the status says what was projected last of the object, at once when there is nothing to say. @throws Unreachable; Refused
   *  when the cluster refuses; Fenced when the status was written under a higher term */
  written(ref: ObjectRef): Promise<void>;
  /** An object is gone: nothing more is shown of it, and its annotations are removed from the nodes. Resolves once they are, however long that takes. Of a
   *  RoutedIP our finalizer is taken off, after what was said of holders before was written once, or failed. */
  retract(ref: ObjectRef, addresses: readonly Address[]): Promise<void>;
  /** Resolves once the intent stands in the owner's status. @throws Unreachable; Fenced when the status was written under a higher term */
  recordIntent(owner: ObjectRef, intent: NewIntent): Promise<void>;
  /** Resolves once `address` stands in the owner's `spec.ips`; answers the whole list, and the generation of the spec that has it. */
  appendAddress(owner: ObjectRef, address: Address): Promise<Published>;
  /** Resolves once our finalizer stands in the object; at once when the object is gone. @throws Unreachable */
  guard(ref: ObjectRef): Promise<void>;
  /** Resolves once our finalizer does not stand in the object any more. @throws Unreachable */
  unguard(ref: ObjectRef): Promise<void>;
  /** Why our finalizer is neither put on the object nor taken off: for long the API server has answered that with errors alone. Null while it does not. */
  guardTrouble(ref: ObjectRef): Finding | null;
  /** Resolves once the address stands in the status of a RoutedIP. @throws Unreachable */
  bindAddress(owner: ObjectRef, address: Address, origin: 'Found' | 'Created'): Promise<void>;
  /** Resolves once the node bears the holder's taint. @throws Unreachable */
  markHolder(node: string, effect: HolderEffect): Promise<void>;
  /** Returns at once. The nodes that bear the holder's taint by right, each with its effect: it is put on those that lack it and, when `complete`, taken off all others. */
  markHolders(wanted: Readonly<Record<string, HolderMark>>, complete: boolean): void;
  /** Returns at once. By node, what is said of those that are to be evacuated; nothing is said of such a thing on any other node. */
  showEvacuations(wanted: Readonly<Record<string, Evacuation>>): void;
  /** Resolves once an Event about the object tells it, or the cluster refused to take one; the log tells it in any case. The object may be gone.
   *  Repeating it tells nothing twice. @throws Unreachable */
  announce(owner: ObjectRef, event: ClusterEvent): Promise<void>;
  /** This process decides no longer: nothing that was to be shown is shown any more. */
  forget(): void;
  /** Resolves when nothing is left to write, at the latest after `graceMs`. */
  flush(graceMs: number): Promise<void>;
}
