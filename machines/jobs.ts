import type { MigrationJobName, MigrationJobs } from './migration/jobs.ts';
import type { Records } from './model/dns.ts';
import type { RoutedIPSubject } from './model/firewall-policy.ts';
import type { ActorId, Address, Family, JobFailure, NodeRef, ObjectRef, ObservedAddress, PortClaim, ProviderID } from './model/types.ts';
import type { GroupOffer, ReservedIP } from './vip/objects.ts';

/** The durable jobs that charts may invoke, by name, with their input and output. A job is one try; its body is in actors/jobs/. Everything here survives JSON. */
export interface JobContracts extends MigrationJobs {
  /** Read one address; waits while it is locked. Returns what the provider reports. */
  readonly find: { readonly input: FindInput; readonly output: ObservedAddress };
  /** Point the address at the node and confirm it: completes once the provider shows the node as holder and the address unlocked. */
  readonly assign: { readonly input: AssignInput; readonly output: Confirmation };
  /** Detach the address from its node and confirm it; returns where it is then. An address that has moved elsewhere meanwhile stays there. */
  readonly unassign: { readonly input: UnassignInput; readonly output: Unassigned };
  /** Whether the machines behind nodes still exist. A machine about which the provider says nothing counts as existing. */
  readonly findNodes: { readonly input: FindNodesInput; readonly output: FoundNodes };
  /** List all addresses before a creation and record the intent in the owner's status. Returns the existing addresses. */
  readonly intendCreate: { readonly input: IntendCreateInput; readonly output: CreateIntent };
  /** Create one address, after the intent was recorded. */
  readonly create: { readonly input: CreateInput; readonly output: Created };
  /** After a creation with unknown outcome: the one new address, none, or too many to identify it. */
  readonly reconcileCreate: { readonly input: CreateInput; readonly output: CreateFinding };
  /** Write a new address into the owner's spec, or the status of a RoutedIP, before it is used. */
  readonly publish: { readonly input: PublishInput; readonly output: Published };
  /** Emit an event about something that a status can no longer show. */
  readonly announce: { readonly input: AnnounceInput; readonly output: Announced };
  /** Mark the granted node as a holder of a routed address. */
  readonly elect: { readonly input: ElectInput; readonly output: Elected };
  /** What is open in a firewall now. */
  readonly findFirewall: { readonly input: FindFirewallInput; readonly output: FirewallFound };
  /** Add ports and nodes to a firewall; completes once the provider has applied them. */
  readonly openFirewall: { readonly input: FirewallInput; readonly output: FirewallChange };
  /** Remove from a firewall what we added and is no longer claimed. */
  readonly prune: { readonly input: FirewallInput; readonly output: FirewallChange };
  /** Give an address back to the provider, or keep it. */
  readonly release: { readonly input: ReleaseInput; readonly output: Released };
  /** List a zone once and bring its record sets to the wanted state. A failed set does not block the others. */
  readonly ensureRecords: { readonly input: EnsureRecordsInput; readonly output: EnsuredRecords };
  /** Put our finalizer on a Service and reserve this address for it. Returns the reservation. */
  readonly reserveVip: { readonly input: ReserveVipInput; readonly output: ReservedIP };
  /** Make this address the only one listed in the status of a Service, or clear the list. */
  readonly publishVip: { readonly input: PublishVipInput; readonly output: PublishedVip };
  /** Free addresses that a Service no longer lists. */
  readonly freeVips: { readonly input: FreeVipsInput; readonly output: FreedVips };
  /** Remove everything of ours from a Service. */
  readonly releaseVip: { readonly input: ReleaseVipInput; readonly output: ReleasedVips };
  /** Set or clear the condition of a Service saying that another controller serves it. */
  readonly markVip: { readonly input: MarkVipInput; readonly output: MarkedVip };
  /** Whether a Service exists and wants an address, read from the API server and not from a cache. */
  readonly lookVip: { readonly input: LookVipInput; readonly output: { readonly wanting: boolean } };
  /** Read all addresses of a token with list calls. */
  readonly verifyAll: { readonly input: VerifyAllInput; readonly output: Verification };
}

export type JobName = keyof JobContracts;
/** Jobs that write only to the API server, about Services. */
export type VipJobName = Extract<JobName, `${string}Vip` | `${string}Vips`>;
/** Jobs that call a provider, or run Kubernetes Jobs that stand in for one. */
export type ProviderJobName = Exclude<JobName, VipJobName | MigrationJobName>;
export type JobInput<N extends JobName> = JobContracts[N]['input'];
export type JobOutput<N extends JobName> = JobContracts[N]['output'];

export interface FindInput {
  /** Absent when no Job drives it. */
  readonly subject?: RoutedIPSubject;
  /** Earliest time (ms since the epoch) at which the answer can be trusted; null for now. */
  readonly notBefore: number | null;
  readonly provider: string;
  readonly address: Address;
  /** Where it was last read or confirmed: workers of earlier versions use it where the address cannot be read. */
  readonly holder: ProviderID | null;
}

export interface FindNodesInput {
  readonly provider: string;
  readonly nodes: readonly NodeRef[];
  /** `failover` may use the whole budget, `verify` leaves part of it in reserve. */
  readonly purpose: 'failover' | 'verify';
}

export interface FoundNodes {
  /** Machines that no longer exist. */
  readonly gone: readonly ProviderID[];
}

export interface AssignInput extends Pick<FindInput, 'subject' | 'provider' | 'address' | 'holder'> {
  readonly node: NodeRef;
  /** Not null when an earlier call may still take effect: read first, and send nothing before this time (ms since the epoch). */
  readonly inDoubtUntil: number | null;
  /** It is not owned yet (see isOwn) and may not be taken from another user: it is read before any call is sent. Absent for false. */
  readonly looksFirst?: true;
  /** Addresses that the owner gave up on the node: one is detached if the node is full and nothing else needs that address. Absent for none. */
  readonly vacates?: readonly Address[];
}

/** `rerun`: the job ran again because its first worker went silent: a call of that worker may still take effect. Absent for false. */
export interface Unassigned {
  readonly providerID: ProviderID | null;
  readonly rerun?: boolean;
}

export interface UnassignInput extends Pick<FindInput, 'provider' | 'address' | 'holder'> {}

export interface Confirmation {
  readonly providerID: ProviderID;
}

export interface IntendCreateInput {
  /** Absent when no Job drives it. */
  readonly subject?: RoutedIPSubject;
  readonly provider: string;
  readonly owner: ObjectRef;
  readonly region: string;
  /** The firewall in which its ports will be opened: no address is created unless it exists. Absent for none. */
  readonly firewall?: string;
}

export interface CreateIntent {
  /** The provider of these addresses; absent in outcomes written by earlier versions. */
  readonly provider?: string;
  readonly knownAddresses: readonly Address[];
  /** When the list was complete, ms since the epoch. */
  readonly listedAt: number;
}

export interface CreateInput extends Pick<IntendCreateInput, 'subject' | 'provider' | 'owner' | 'region'> {
  readonly intent: CreateIntent;
  /** Earliest time at which a list can show the outcome of the call, ms since the epoch; null before the first call. */
  readonly inDoubtUntil: number | null;
  /** The address of an IPGroup to reserve instead; null when it has since gone to another owner. Absent where addresses are created. */
  readonly offer?: GroupOffer | null;
}

export interface Created {
  /** Null when no call was sent because the list needed to determine its outcome is out of date. */
  readonly address: Address | null;
}

export type CreateFinding =
  | { readonly found: 'one'; readonly address: Address }
  | { readonly found: 'none' }
  | { readonly found: 'several'; readonly addresses: readonly Address[] };

export interface PublishInput {
  readonly provider: string;
  readonly owner: ObjectRef;
  readonly address: Address;
  /** True for one that was created long ago: it may have been deleted since. */
  readonly mayBeGone: boolean;
  /** Present for an address known only from a list: it may belong to another owner that has since claimed it. */
  readonly mayBeOthers?: true;
}

export interface Published {
  readonly ips: readonly Address[];
  /** Generation of the spec that lists them. */
  readonly generation: number;
}

export interface ElectInput {
  readonly provider: string;
  readonly address: Address;
  readonly node: NodeRef;
  readonly effect: 'PreferNoSchedule' | 'NoSchedule';
}

export interface Elected {
  /** False when the node could not be marked; that does not block the assignment. */
  readonly marked: boolean;
}

export interface AnnounceInput {
  readonly provider: string;
  /** The object concerned; may be gone. */
  readonly owner: ObjectRef;
  readonly reason: 'AddressLeft';
  readonly message: string;
}

export type Announced = Readonly<Record<string, never>>;

export interface FindFirewallInput {
  readonly provider: string;
  readonly firewall: string;
  /** Actors that wait for the answer; absent in requests from earlier versions. */
  readonly claimants?: readonly ActorId[];
}

/** A firewall as read from the provider. */
export interface FirewallFound extends FirewallOwned {
  /** Earlier changes are not applied everywhere yet. */
  readonly pending: boolean;
  /** The only machines on which they are not applied; absent where unknown. */
  readonly pendingOn?: readonly ProviderID[];
  /** The provider reports that some of them failed; absent for no. */
  readonly failed?: true;
  /** How many more rules it accepts; absent where unknown. */
  readonly freeRules?: number;
}

export interface FirewallInput extends FindFirewallInput {
  readonly claimants: readonly ActorId[];
  /** Believed location of addresses whose former nodes will be pruned: read again before anything is removed. */
  readonly holders: readonly { readonly address: Address; readonly providerID: ProviderID }[];
  /** Ports and nodes that were not added for us may be removed, too. */
  readonly exclusive: boolean;
  /** The union of all claims: what must be open. */
  readonly claims: readonly PortClaim[];
  /** What we added earlier and may therefore remove. */
  readonly owned: FirewallOwned;
  /** Nodes of the waiting claimants, where a change is not applied on every node; absent for all claimed nodes. */
  readonly waitsFor?: readonly ProviderID[];
  /** The firewall as just read; null when it has to be read. */
  readonly found: FirewallFound | null;
  /** Counts tries of the same change; 1 for the first. */
  readonly attempt: number;
}

export interface FirewallOwned {
  readonly ports: readonly string[];
  readonly nodes: readonly ProviderID[];
}

export interface FirewallChange {
  /** What we still own afterwards. */
  readonly owned: FirewallOwned;
  /** Why something unclaimed was left in place; null when nothing was. */
  readonly deferred: string | null;
  /** What the provider rejects while it accepts the rest; absent for nothing. */
  readonly refused?: FirewallRefused;
  /** Nodes of the waiting claimants on which the provider has not applied the change yet; absent for none. */
  readonly pendingOn?: readonly ProviderID[];
  /** After a removal: how many more rules the firewall accepts; absent where unknown. */
  readonly freeRules?: number;
  /** The job ran again because its first worker went silent: a call of that worker may still take effect. Absent for false. */
  readonly rerun?: boolean;
}

export interface FirewallRefused extends FirewallOwned {
  readonly why: string;
}

export interface ReleaseInput extends Pick<FindInput, 'subject' | 'provider' | 'address'> {
  readonly policy: 'Retain' | 'Delete';
}

export interface Released {
  readonly deleted: boolean;
}

export interface EnsureRecordsInput {
  readonly provider: string;
  readonly zone: string;
  /** In order of precedence: of two sets with the same name the first is applied and the other is refused. */
  readonly sets: readonly WantedSet[];
}

export interface WantedSet extends Records {
  readonly claimant: ActorId;
}

export interface EnsuredRecords {
  /** The provider's name for the zone, which may have been configured by its id. */
  readonly zoneName: string;
  readonly outcomes: readonly SetOutcome[];
  /** The job ran again because its first worker went silent: a call of that worker may still take effect. Absent for false. */
  readonly rerun?: boolean;
}

/** Why one set was not written. */
export interface SetFailure extends JobFailure {
  /** Its name lies outside the zone; only the zone's real name could show that. */
  readonly outsideZone?: true;
}

export interface SetOutcome {
  readonly claimant: ActorId;
  readonly failure: SetFailure | null;
  /** Records created, changed or deleted by this try. */
  readonly changed: number;
}

export interface ReserveVipInput {
  /** The queue. */
  readonly provider: string;
  readonly service: ObjectRef;
  readonly address: Address;
  readonly group: string;
}

export interface PublishVipInput {
  readonly provider: string;
  readonly service: ObjectRef;
  readonly address: Address | null;
  /** What the Service listed when the job was requested, as one string. */
  readonly seen: string;
  /** Overwrites an address written by another controller. Absent for no. */
  readonly repairs?: true;
}

export interface PublishedVip {
  /** UID of the Service. */
  readonly uid: string;
  readonly address: Address | null;
  /** The status had to be written. */
  readonly changed: boolean;
  /** From the input. */
  readonly seen: string;
  readonly repairs?: true;
}

export interface FreeVipsInput {
  readonly provider: string;
  readonly service: ObjectRef;
  readonly ips: readonly ReservedIP[];
  /** True: if the Service lists one of these, its list is cleared first. False: nothing is freed while it lists one. */
  readonly clears: boolean;
}

export interface FreedVips {
  /** The uids of the reservations that are gone. */
  readonly freed: readonly string[];
}

export interface ReleaseVipInput extends FreeVipsInput {
  /** The Service exists and is released. Otherwise its absence was in doubt and is checked once more. */
  readonly isThere: boolean;
}

export interface ReleasedVips extends FreedVips {
  /** The Service, or a VirtualIP that is migrated to it, still wants the address. Nothing was done. */
  readonly kept: boolean;
}

export interface MarkVipInput {
  readonly provider: string;
  readonly service: ObjectRef;
  /** Message of the condition; null removes it. */
  readonly message: string | null;
  /** Our finalizer is removed, too: nothing is reserved for the Service. */
  readonly letsGo: boolean;
}

/** The resulting state. */
export interface MarkedVip extends Pick<MarkVipInput, 'message' | 'letsGo'> {
  /** UID of the Service. */
  readonly uid: string;
}

export interface LookVipInput {
  readonly provider: string;
  /** Its uid is empty where only the names are known. */
  readonly service: ObjectRef;
  /** The addresses reserved for a VirtualIP, which may need none of them; absent for any other. */
  readonly ips?: readonly ReservedIP[];
}

export interface VerifyAllInput {
  readonly provider: string;
  /** Family of the listed addresses; absent for IPv4. */
  readonly family?: Family;
}

export interface Verification {
  readonly addresses: readonly ObservedAddress[];
  /** The list may be incomplete; absent for no. */
  readonly isPartial?: true;
}
