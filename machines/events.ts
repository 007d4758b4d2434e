import type { FirewallFound } from './jobs.ts';
import type { Records, RecordTarget } from './model/dns.ts';
import type { FirewallPolicy } from './model/firewall-policy.ts';
import type {
  ActorId,
  Address,
  Adoption,
  BoundAddress,
  ErrorKind,
  Finding,
  JobFailure,
  NodeRef,
  ObservedAddress,
  ObservedNode,
  ObservedService,
  Place,
  ProviderID,
} from './model/types.ts';
import type { Marks } from './pool/annotations.ts';
import type { CredentialsRefusal } from './spec/operator-credentials.ts';
import type { ProviderRegistry } from './spec/providers.ts';
import type { GroupOffer, GroupRefusal } from './vip/objects.ts';

/** Every event carries the time at which the runtime took it, ms since the epoch: charts have no clock. */
interface Timed {
  readonly at: number;
}

/** Issued once for every record after it is loaded: the state requests again whatever it waits for. */
export interface Resume extends Timed {
  readonly type: 'RESUME';
}

// ---- facts, from the world to a pool

/** The current object of the pool. */
export interface SpecObserved extends Timed {
  readonly type: 'SPEC_OBSERVED';
  readonly spec: unknown;
  readonly generation: number;
  readonly registry: ProviderRegistry;
  /** Addresses that the object names but another object owns, with the name of that owner. */
  readonly conflicts: Readonly<Record<Address, string>>;
  /** Addresses that it still runs but another object now owns; absent for none. */
  readonly lost?: readonly Address[];
  /** Owner of the name that its record set wants; absent when it owns the name itself, or names none. */
  readonly nameOwner?: string;
  /** Whether its namespace may keep one more address; absent where there is no limit. */
  readonly room?: Room;
  /** Created for a RoutedIP of this name that is gone, and unused: reused before another one is created. Absent for none. */
  readonly retained?: Address;
  /** Whether our finalizer keeps the object from being removed; absent where nothing depends on that. */
  readonly guarded?: boolean;
  /** For all but RoutedIPs: why it may not use the operator's credentials; absent when it may. */
  readonly refusal?: CredentialsRefusal;
  /** Also delete an address that we did not create; absent for false. */
  readonly deleteAdopted?: boolean;
  /** What users request by annotations; absent for nothing. */
  readonly marks?: Marks;
  /** The object has been deleted and stays until we release it; absent for false. */
  readonly deleting?: boolean;
  /** The address bound to it, according to its status, and whether we created it; absent for none. */
  readonly bound?: BoundAddress;
  /** Which of its listed addresses a FloatingIPPool takes; absent for any. For a RoutedIP its class decides. */
  readonly adoption?: Adoption;
}

/** The leader's answer to a request to create an address in a namespace with a limit. */
export interface Room {
  readonly isGranted: boolean;
  /** Why it is not granted; absent while that is being determined. */
  readonly refusal?: Finding;
}

/** The nodes that currently match a pool's selectors. `query` names the selectors that were watched: a fact gathered under selectors other than the pool's current ones is
 *  void. */
export interface ClusterFact {
  readonly query: string;
  readonly nodes: readonly ObservedNode[];
  /** Names of the nodes that run a serving pod matched by its selectors, sorted; null when it selects no pods. */
  readonly serving: readonly string[] | null;
  /** For a RoutedIP: the Service that it names, null when there is none. */
  readonly service?: ObservedService | null;
}

export interface ClusterObserved extends Timed, ClusterFact {
  readonly type: 'CLUSTER_OBSERVED';
}

/** What the provider reports about all addresses of the token. */
export interface ProviderObserved extends Timed {
  readonly type: 'PROVIDER_OBSERVED';
  readonly addresses: readonly ObservedAddress[];
}

/** Nodes that others hold at the provider; `#create` stands for the right to create. Replaces the previous claims. */
export interface ClaimsObserved extends Timed {
  readonly type: 'CLAIMS_OBSERVED';
  readonly fullNodes: readonly string[];
  /** Facts about the pools that share a turn with this one; absent when there are none. */
  readonly shared?: Shared;
}

/** State shared among the RoutedIPs of one class. */
export interface Shared {
  /** When one of them was last confirmed on a new node, ms since the epoch. */
  readonly lastAssignmentAt: number | null;
  /** Addresses that others hold or are about to get, by node; nodes without any are left out. */
  readonly loads: Readonly<Record<string, number>>;
}

/** Which address of its IPGroup a RoutedIP gets, or why it gets none; both null when it requests none. */
export interface GroupObserved extends Timed {
  readonly type: 'GROUP_OBSERVED';
  readonly offer: GroupOffer | null;
  readonly refusal: GroupRefusal | null;
}

/** No node still carries an annotation of the deleted pool. */
export interface Cleared extends Timed {
  readonly type: 'CLEARED';
}

/** The pool's object is gone or being deleted. */
export interface Deleted extends Timed {
  readonly type: 'DELETED';
  /** A user wants it gone without another call to the provider; absent for false. */
  readonly force?: boolean;
  /** The object is gone and no further events follow; absent for one that stays until it has ended. */
  readonly gone?: true;
}

// ---- facts, from the world or the pool to an address

/** What the provider reports about this address; null when a complete list lacked it. */
export interface AddressObserved extends Timed {
  readonly type: 'ADDRESS_OBSERVED';
  readonly observed: ObservedAddress | null;
}

/** Whether the node that was granted to the address may (still) hold one. */
export interface NodeObserved extends Timed {
  readonly type: 'NODE_OBSERVED';
  readonly name: string;
  readonly eligible: boolean;
}

/** How the address is exposed. A FloatingIPPool's addresses have no firewall. */
export interface PolicyObserved extends Timed {
  readonly type: 'POLICY_OBSERVED';
  readonly policy: FirewallPolicy;
  /** The provider whose Jobs the policy is for; absent when no Job drives the addresses, and in events written by earlier versions. */
  readonly provider?: string;
}

/** The credentials of the provider changed. */
export interface SecretObserved extends Timed {
  readonly type: 'SECRET_OBSERVED';
}

// ---- messages between cells and within one

export interface NodeGranted extends Timed {
  readonly type: 'NODE_GRANTED';
  readonly node: NodeRef;
  /** True while the pool spaces its assignments: a failed one gives its grant back. */
  readonly spaced: boolean;
  /** The address is not owned yet (see isOwn) and may not be taken from another user: it is read once more before any call is sent. Absent for false. */
  readonly looks?: true;
  /** Addresses that the pool gave up on the node; absent for none. */
  readonly vacates?: readonly Address[];
  /** Something has failed on the node, but the address serves on another, working node: there is no hurry. Absent for false. */
  readonly serves?: true;
}

export type RetirePolicy = 'Retain' | 'Delete' | 'DeleteAdopted';

/** The address was requested to be on no node, or that request was withdrawn. */
export interface ParkAddress extends Timed {
  readonly type: 'PARK';
  readonly parked: boolean;
}

/** The address is no longer wanted: leave it where it is, or delete it. */
export interface Retire extends Timed {
  readonly type: 'RETIRE';
  /** `DeleteAdopted` deletes it even if we did not create it. */
  readonly policy: RetirePolicy;
  /** A user wants it gone without another call; absent for false. */
  readonly force?: boolean;
}

/** The address is known, unlocked, and wants a node. Any grant that it had is given back. */
export interface Ready extends Timed {
  readonly type: 'READY';
  readonly address: Address;
  readonly holder: ProviderID | null;
  readonly region: string;
  /** Where it is, as long as it is not owned (see isOwn); absent once it is. */
  readonly adopts?: Place;
}

/** The provider confirmed the address on the node. `moved` is false when it was already there. */
export interface Assigned extends Timed {
  readonly type: 'ASSIGNED';
  readonly address: Address;
  readonly node: NodeRef;
  readonly moved: boolean;
}

export interface Failed extends Timed {
  readonly type: 'FAILED';
  readonly address: Address;
  readonly kind: ErrorKind;
  /** The node whose grant is given back; null when it is kept or there was none. */
  readonly returned: NodeRef | null;
  /** What the provider said about the node that is given back; absent in events written by earlier versions. */
  readonly message?: string;
  readonly holder: ProviderID | null;
}

/** The address has ended; its record is removed. */
export interface Gone extends Timed {
  readonly type: 'GONE';
  readonly address: Address;
  /** Epoch of its last election. */
  readonly epoch?: number;
}

/** The complete set of an address's claims on a firewall; an empty set gives all back. */
export interface Claim extends Timed {
  readonly type: 'CLAIM';
  readonly claimant: ActorId;
  readonly claimId: string;
  readonly node: NodeRef | null;
  readonly ports: readonly string[];
  /** `open` is answered once everything claimed is open, `prune` once everything unclaimed is also closed. */
  readonly mode: 'open' | 'prune';
  /** The address, when it is confirmed on the node. */
  readonly holds?: Address;
  /** Nothing that was claimed for other nodes is still needed; absent for false. */
  readonly only?: true;
  readonly exclusive?: boolean;
  /** Jobs drive the firewall; absent for unchanged. */
  readonly byJobs?: boolean;
}

/** What a list of all firewalls says about this one; null when the list lacked it. */
export interface FirewallObserved extends Timed {
  readonly type: 'FIREWALL_OBSERVED';
  readonly found: FirewallFound | null;
}

export interface Opened extends Timed {
  readonly type: 'OPENED';
  readonly claimId: string;
  /** Ports that others have open in the same firewall, and therefore on the node as well, as text; absent for none. */
  readonly also?: readonly string[];
}

export interface Pruned extends Timed {
  readonly type: 'PRUNED';
  readonly claimId: string;
  /** Why something unclaimed was left in place; absent when nothing was. */
  readonly deferred?: string;
}

export interface Refused extends Timed {
  readonly type: 'REFUSED';
  readonly claimId: string;
  readonly kind: ErrorKind;
  readonly reason: string;
  /** A constant more specific than the kind; absent when there is none. */
  readonly about?: JobFailure['reason'];
}

/** A firewall that refused a claim has free rules again, and may be claimed again. */
export interface RulesFreed extends Timed {
  readonly type: 'RULES_FREED';
}

/** What a pool's record set should publish; `target` null for nothing. Replaces the previous request. */
export interface RecordsWanted extends Timed {
  readonly type: 'RECORDS_WANTED';
  readonly target: RecordTarget | null;
  /** Addresses that serve: assigned, and confirmed by the provider. */
  readonly addresses: readonly Address[];
  /** The other owner of the name; absent for none. */
  readonly owner?: string | null;
  /** Creation time of the pool's object, ms since the epoch. */
  readonly since: number;
}

/** A record set's complete claim on a name of a zone; without addresses the claim is given back and the records stay. */
export interface RecordsClaimed extends Timed, Records {
  readonly type: 'RECORDS';
  readonly claimant: ActorId;
  /** Counts the changes of what the claimant wants. */
  readonly revision: number;
  readonly since: number;
}

/** Outcome of the claim of that revision. */
export interface RecordsApplied extends Timed {
  readonly type: 'RECORDS_APPLIED';
  readonly revision: number;
  readonly failure: RecordsFailure | null;
}

export interface RecordsFailure {
  readonly kind: ErrorKind;
  readonly message: string;
  /** The name lies outside the zone. */
  readonly outsideZone?: true;
}

/** True: if the Service lists one of these, its list is cleared first. False: nothing is freed while it lists one. */
export interface RecordsAsked extends Timed {
  readonly type: 'RECORDS_ASKED';
  readonly zone: ActorId;
}

export type AddressEvent =
  | AddressObserved
  | NodeObserved
  | PolicyObserved
  | SecretObserved
  | NodeGranted
  | ParkAddress
  | Retire
  | Opened
  | Pruned
  | Refused
  | RulesFreed
  | Resume;

export type PoolEvent =
  | SpecObserved
  | ClusterObserved
  | ProviderObserved
  | ClaimsObserved
  | GroupObserved
  | SecretObserved
  | Deleted
  | Cleared
  | Ready
  | Assigned
  | Failed
  | Gone
  | Resume;

/** Charts that an actor may start in its own cell. */
export type SpawnedChart = 'ip' | 'dns-record-set';

/** What a decision asks of the runtime besides a new context. Data: a chart emits it, the runtime carries it out after the save. */
export type Effect =
  | { readonly type: 'tell'; readonly params: { readonly to: ActorId; readonly event: { readonly type: string } } }
  | { readonly type: 'spawn'; readonly params: { readonly chart: SpawnedChart; readonly id: ActorId; readonly input: unknown } }
  | { readonly type: 'claim'; readonly params: { readonly to: ActorId; readonly event: { readonly type: 'CLAIM' } } };

/** Result of a decision: the next context and the effects. */
export interface Decision<C> {
  readonly context: C;
  readonly effects: readonly Effect[];
}
