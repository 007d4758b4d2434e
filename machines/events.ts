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

/** Every event bears the time at which the runtime took it, ms since the epoch: charts have no clock. */
interface Timed {
  readonly at: number;
}

/** Issued once for every record after it was loaded: whatever the state waits for is asked for again. */
export interface Resume extends Timed {
  readonly type: 'RESUME';
}

// ---- facts, from the world to a pool

/** The pool's object as it is now. */
export interface SpecObserved extends Timed {
  readonly type: 'SPEC_OBSERVED';
  readonly spec: unknown;
  readonly generation: number;
  readonly registry: ProviderRegistry;
  /** Addresses that the object names and another one has, by the name of that one. */
  readonly conflicts: Readonly<Record<Address, string>>;
  /** Addresses that it runs still and another object has by now; absent for none. */
  readonly lost?: readonly Address[];
  /** Who has the name that its record set is to have; absent when it has it itself, or names none. */
  readonly nameOwner?: string;
  /** Whether its namespace may keep one address more; absent where there is no limit. */
  readonly room?: Room;
  /** Made for a RoutedIP of that name that is gone, and used by nobody: it is used again before another one is created. Absent for none. */
  readonly retained?: Address;
  /** Whether the object cannot go without our leave; absent where nothing depends on that. */
  readonly guarded?: boolean;
  /** Of all but RoutedIPs: why it may not use the operator's credentials; absent when it may. */
  readonly refusal?: CredentialsRefusal;
  /** An address that we did not make is to be deleted like one that we did; absent for false. */
  readonly deleteAdopted?: boolean;
  /** What people ask for by annotations; absent for nothing. */
  readonly marks?: Marks;
  /** Somebody has deleted the object, which stays until we let it go; absent for false. */
  readonly deleting?: boolean;
  /** The address that it has got, as its status says, and whether we made it; absent for none. */
  readonly bound?: BoundAddress;
  /** Which addresses a FloatingIPPool takes that it lists; absent for any. What a RoutedIP takes its class says. */
  readonly adoption?: Adoption;
}

/** What the leader says to whoever would create an address in a namespace that may keep so many. */
export interface Room {
  readonly isGranted: boolean;
  /** Why it is not; absent while that is to be found out. */
  readonly refusal?: Finding;
}

/** The nodes that a pool's selectors let through, as of now.
 *  `query` names the selectors that were watched: a fact gathered under other selectors than the pool's present ones is void. */
export interface ClusterFact {
  readonly query: string;
  readonly nodes: readonly ObservedNode[];
  /** Names of the nodes on which a pod serves that its selectors let through, sorted; null when it selects none. */
  readonly serving: readonly string[] | null;
  /** Of a RoutedIP: the Service that it names, null when there is none. */
  readonly service?: ObservedService | null;
}

export interface ClusterObserved extends Timed, ClusterFact {
  readonly type: 'CLUSTER_OBSERVED';
}

/** What the provider reports of all addresses of the token. */
export interface ProviderObserved extends Timed {
  readonly type: 'PROVIDER_OBSERVED';
  readonly addresses: readonly ObservedAddress[];
}

/** Nodes that others hold at the provider; `#create` stands for the right to create. Replaces what was said before. */
export interface ClaimsObserved extends Timed {
  readonly type: 'CLAIMS_OBSERVED';
  readonly fullNodes: readonly string[];
  /** What is told of those that share a turn with this one; absent when nobody does. */
  readonly shared?: Shared;
}

/** What RoutedIPs of one class know of each other. */
export interface Shared {
  /** When one of them was last confirmed on a new node, ms since the epoch. */
  readonly lastAssignmentAt: number | null;
  /** Addresses that others hold or are to get, by node; of nodes with none nothing is said. */
  readonly loads: Readonly<Record<string, number>>;
}

/** Which address of its IPGroup a RoutedIP is to have, or why it is to have none; both null when it asks for none. */
export interface GroupObserved extends Timed {
  readonly type: 'GROUP_OBSERVED';
  readonly offer: GroupOffer | null;
  readonly refusal: GroupRefusal | null;
}

/** No node bears an annotation of the deleted pool any more. */
export interface Cleared extends Timed {
  readonly type: 'CLEARED';
}

/** The pool's object is gone or going. */
export interface Deleted extends Timed {
  readonly type: 'DELETED';
  /** A person wants it gone without another call to the provider; absent for false. */
  readonly force?: boolean;
  /** Nothing is told of it any more; absent for one that stays until it has ended. */
  readonly gone?: true;
}

// ---- facts, from the world or the pool to an address

/** What the provider reports of this address; null when a complete list lacked it. */
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

/** How the address is to be exposed. A FloatingIPPool's addresses have no firewall. */
export interface PolicyObserved extends Timed {
  readonly type: 'POLICY_OBSERVED';
  readonly policy: FirewallPolicy;
  /** The provider whose Jobs the policy is for; absent when no Job drives the addresses, and in events of an older version. */
  readonly provider?: string;
}

/** The credentials of the provider changed. */
export interface SecretObserved extends Timed {
  readonly type: 'SECRET_OBSERVED';
}

// ---- sends between cells and within one

export interface NodeGranted extends Timed {
  readonly type: 'NODE_GRANTED';
  readonly node: NodeRef;
  /** True while the pool spaces its assignments: a failed one gives its grant back. */
  readonly spaced: boolean;
  /** It was never its owner's, and may not be taken from where somebody else needs it: it is looked at once more before anything is sent. Absent for false. */
  readonly looks?: true;
  /** Addresses that the pool gave up on the node; absent for none. */
  readonly vacates?: readonly Address[];
  /** Something has failed on the node, and the address serves on another one, which works: there is time. Absent for false. */
  readonly serves?: true;
}

export type RetirePolicy = 'Retain' | 'Delete' | 'DeleteAdopted';

/** Somebody wants the address on no node, or does not any more. */
export interface ParkAddress extends Timed {
  readonly type: 'PARK';
  readonly parked: boolean;
}

/** The address is no longer wanted: leave it where it is, or delete it. */
export interface Retire extends Timed {
  readonly type: 'RETIRE';
  /** `DeleteAdopted` deletes it even if it was there before us. */
  readonly policy: RetirePolicy;
  /** A person wants it gone without another call; absent for false. */
  readonly force?: boolean;
}

/** The address is known, unlocked, and wants a node. A grant that it had is given back. */
export interface Ready extends Timed {
  readonly type: 'READY';
  readonly address: Address;
  readonly holder: ProviderID | null;
  readonly region: string;
  /** Where it is, as long as it was never its owner's; absent for one that is. */
  readonly adopts?: Place;
}

/** The provider confirmed the address on the node. `moved` false when it sat there already. */
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
  /** What the provider said of the node that is given back; absent in events of before. */
  readonly message?: string;
  readonly holder: ProviderID | null;
}

/** The address is done with; its record goes. */
export interface Gone extends Timed {
  readonly type: 'GONE';
  readonly address: Address;
  /** Of its last election. */
  readonly epoch?: number;
}

/** The whole set of an address's claims on a firewall; empty gives all back. */
export interface Claim extends Timed {
  readonly type: 'CLAIM';
  readonly claimant: ActorId;
  readonly claimId: string;
  readonly node: NodeRef | null;
  readonly ports: readonly string[];
  /** `open` is answered once everything claimed is open, `prune` once everything unclaimed is closed as well. */
  readonly mode: 'open' | 'prune';
  /** The address, when it is confirmed on the node. */
  readonly holds?: Address;
  /** Nothing of what was claimed for other nodes is needed any more; absent for false. */
  readonly only?: true;
  readonly exclusive?: boolean;
  /** Jobs drive the firewall; absent for as before. */
  readonly byJobs?: boolean;
}

/** What a list of all firewalls says of this one; null when it lacked it. */
export interface FirewallObserved extends Timed {
  readonly type: 'FIREWALL_OBSERVED';
  readonly found: FirewallFound | null;
}

export interface Opened extends Timed {
  readonly type: 'OPENED';
  readonly claimId: string;
  /** What others have open in the same firewall, and therefore also on the node, as texts of ports; absent for nothing. */
  readonly also?: readonly string[];
}

export interface Pruned extends Timed {
  readonly type: 'PRUNED';
  readonly claimId: string;
  /** Why something that nobody claims was left in place; absent when nothing was. */
  readonly deferred?: string;
}

export interface Refused extends Timed {
  readonly type: 'REFUSED';
  readonly claimId: string;
  readonly kind: ErrorKind;
  readonly reason: string;
  /** A constant that says more than the kind; absent when nothing does. */
  readonly about?: JobFailure['reason'];
}

/** Rules of a firewall that refused a claim are free again, and it may be claimed anew. */
export interface RulesFreed extends Timed {
  readonly type: 'RULES_FREED';
}

/** What a pool's record set is to publish; `target` null for nothing. Replaces what was said before. */
export interface RecordsWanted extends Timed {
  readonly type: 'RECORDS_WANTED';
  readonly target: RecordTarget | null;
  /** Those that serve: assigned, and confirmed by the provider. */
  readonly addresses: readonly Address[];
  /** Who has the name instead; absent for nobody. */
  readonly owner?: string | null;
  /** Creation of the pool's object, ms since the epoch. */
  readonly since: number;
}

/** A record set's whole claim on a name of a zone; without addresses it is given back, and the records stay. */
export interface RecordsClaimed extends Timed, Records {
  readonly type: 'RECORDS';
  readonly claimant: ActorId;
  /** Counts the changes of what the claimant wants. */
  readonly revision: number;
  readonly since: number;
}

/** What came of the claim of that revision. */
export interface RecordsApplied extends Timed {
  readonly type: 'RECORDS_APPLIED';
  readonly revision: number;
  readonly failure: RecordsFailure | null;
}

export interface RecordsFailure {
  readonly kind: ErrorKind;
  readonly message: string;
  /** The name lies outside of the zone. */
  readonly outsideZone?: true;
}

/** A zone has not heard from a claimant since a load: one that still wants its records claims them again. */
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

/** Charts of which an actor may start another one in its cell. */
export type SpawnedChart = 'ip' | 'dns-record-set';

/** What decisions ask of the runtime besides a new context. Data: a chart emits it, the runtime carries it out after the save. */
export type Effect =
  | { readonly type: 'tell'; readonly params: { readonly to: ActorId; readonly event: { readonly type: string } } }
  | { readonly type: 'spawn'; readonly params: { readonly chart: SpawnedChart; readonly id: ActorId; readonly input: unknown } }
  | { readonly type: 'claim'; readonly params: { readonly to: ActorId; readonly event: { readonly type: 'CLAIM' } } };

/** A decision's answer: the next context and what is to be done. */
export interface Decision<C> {
  readonly context: C;
  readonly effects: readonly Effect[];
}
