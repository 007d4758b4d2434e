import type { MigrationJobName, MigrationJobs } from './migration/jobs.ts';
import type { Records } from './model/dns.ts';
import type { RoutedIPSubject } from './model/firewall-policy.ts';
import type { ActorId, Address, Family, JobFailure, NodeRef, ObjectRef, ObservedAddress, PortClaim, ProviderID } from './model/types.ts';
import type { GroupOffer, ReservedIP } from './vip/objects.ts';

/** The durable jobs that charts may invoke, by name: what each is given and what it answers.
 *  A job is one try; its bodies are in actors/jobs/. Everything here survives JSON. */
export interface JobContracts extends MigrationJobs {
  /** Read one address; waits while it is locked. Answers what the provider reports. */
  readonly find: { readonly input: FindInput; readonly output: ObservedAddress };
  /** Point the address at the node and confirm it: answers once the provider shows the node as holder and the address unlocked. */
  readonly assign: { readonly input: AssignInput; readonly output: Confirmation };
  /** Have the address leave its node, and confirm it; answers where it is then. One that is elsewhere by now stays there. */
  readonly unassign: { readonly input: UnassignInput; readonly output: Unassigned };
  /** Whether the machines behind nodes still exist. One of which the provider says nothing counts as there. */
  readonly findNodes: { readonly input: FindNodesInput; readonly output: FoundNodes };
  /** List all addresses before a creation and record the intent in the owner's status. Answers the addresses that exist already. */
  readonly intendCreate: { readonly input: IntendCreateInput; readonly output: CreateIntent };
  /** Create one address, after the intent was recorded. */
  readonly create: { readonly input: CreateInput; readonly output: Created };
  /** After a creation with unknown outcome: the one new address, or none, or too many to tell. */
  readonly reconcileCreate: { readonly input: CreateInput; readonly output: CreateFinding };
  /** Write a new address into the owner's spec, or the status of a RoutedIP, before it is used. */
  readonly publish: { readonly input: PublishInput; readonly output: Published };
  /** Tell people something that no status can tell any more. */
  readonly announce: { readonly input: AnnounceInput; readonly output: Announced };
  /** Mark the granted node as a holder of a routed address. */
  readonly elect: { readonly input: ElectInput; readonly output: Elected };
  /** What is open in a firewall now. */
  readonly findFirewall: { readonly input: FindFirewallInput; readonly output: FirewallFound };
  /** Add ports and nodes to a firewall; answers once the provider has applied them. */
  readonly openFirewall: { readonly input: FirewallInput; readonly output: FirewallChange };
  /** Remove from a firewall what we added and nobody claims. */
  readonly prune: { readonly input: FirewallInput; readonly output: FirewallChange };
  /** Give an address back to the provider, or leave it. */
  readonly release: { readonly input: ReleaseInput; readonly output: Released };
  /** List a zone once and make the record sets in it what is wanted. A set that fails does not keep the others from being done. */
  readonly ensureRecords: { readonly input: EnsureRecordsInput; readonly output: EnsuredRecords };
  /** Guard a Service and reserve this address for it. Answers the reservation. */
  readonly reserveVip: { readonly input: ReserveVipInput; readonly output: ReservedIP };
  /** Make this address the only one that the status of a Service lists, or have it list none. */
  readonly publishVip: { readonly input: PublishVipInput; readonly output: PublishedVip };
  /** Free addresses that a Service lists no more. */
  readonly freeVips: { readonly input: FreeVipsInput; readonly output: FreedVips };
  /** Take back all that a Service has of ours. */
  readonly releaseVip: { readonly input: ReleaseVipInput; readonly output: ReleasedVips };
  /** Say in the status of a Service that somebody else serves it, or say so no more. */
  readonly markVip: { readonly input: MarkVipInput; readonly output: MarkedVip };
  /** Whether a Service is there and wants an address, as the API server says and no cache. */
  readonly lookVip: { readonly input: LookVipInput; readonly output: { readonly wanting: boolean } };
  /** Read all addresses of a token by list calls. */
  readonly verifyAll: { readonly input: VerifyAllInput; readonly output: Verification };
}

export type JobName = keyof JobContracts;
/** Those that write to the API server alone, about Services. */
export type VipJobName = Extract<JobName, `${string}Vip` | `${string}Vips`>;
/** Those that are done by calls to a provider, or by Jobs that stand in for one. */
export type ProviderJobName = Exclude<JobName, VipJobName | MigrationJobName>;
export type JobInput<N extends JobName> = JobContracts[N]['input'];
export type JobOutput<N extends JobName> = JobContracts[N]['output'];

export interface FindInput {
  /** Absent for what no Job drives. */
  readonly subject?: RoutedIPSubject;
  /** Earliest time (ms since the epoch) at which the answer can be trusted; null for now. */
  readonly notBefore: number | null;
  readonly provider: string;
  readonly address: Address;
  /** Where it was last read or confirmed: workers of an older version go by it where nobody can look. */
  readonly holder: ProviderID | null;
}

export interface FindNodesInput {
  readonly provider: string;
  readonly nodes: readonly NodeRef[];
  /** `failover` may use the whole budget, `verify` leaves it a reserve. */
  readonly purpose: 'failover' | 'verify';
}

export interface FoundNodes {
  /** Machines that do not exist any more. */
  readonly gone: readonly ProviderID[];
}

export interface AssignInput extends Pick<FindInput, 'subject' | 'provider' | 'address' | 'holder'> {
  readonly node: NodeRef;
  /** Not null when an earlier call may still take effect: read first, and send nothing before this time (ms since the epoch). */
  readonly inDoubtUntil: number | null;
  /** It was never its owner's, and may be taken from nobody: it is looked at before anything is sent. Absent for false. */
  readonly looksFirst?: true;
  /** Its owner gave them up on the node: one is taken off if the node is full and nobody else wants it. Absent for none. */
  readonly vacates?: readonly Address[];
}

/** `rerun`: it was run once more, since whoever ran it first was not heard of again: a call of that one may still have an effect. Absent for false. */
export interface Unassigned {
  readonly providerID: ProviderID | null;
  readonly rerun?: boolean;
}

export interface UnassignInput extends Pick<FindInput, 'provider' | 'address' | 'holder'> {}

export interface Confirmation {
  readonly providerID: ProviderID;
}

export interface IntendCreateInput {
  /** Absent for what no Job drives. */
  readonly subject?: RoutedIPSubject;
  readonly provider: string;
  readonly owner: ObjectRef;
  readonly region: string;
  /** The firewall in which its ports are to be opened: without it no address is created. Absent for none. */
  readonly firewall?: string;
}

export interface CreateIntent {
  /** Whose addresses these are; absent in outcomes of before. */
  readonly provider?: string;
  readonly knownAddresses: readonly Address[];
  /** When the list was complete, ms since the epoch. */
  readonly listedAt: number;
}

export interface CreateInput extends Pick<IntendCreateInput, 'subject' | 'provider' | 'owner' | 'region'> {
  readonly intent: CreateIntent;
  /** Earliest time at which a list can tell what became of the call, ms since the epoch; null before the first call. */
  readonly inDoubtUntil: number | null;
  /** Which address of an IPGroup is to be reserved instead; null when it has gone to somebody else meanwhile. Absent where addresses are made. */
  readonly offer?: GroupOffer | null;
}

export interface Created {
  /** Null when no call was sent, since the list by which its outcome could be told is out of date. */
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
  /** True for one that was made long ago: somebody may have deleted it since. */
  readonly mayBeGone: boolean;
  /** Present for one that a list alone told of: it may be somebody else's, who has said so since. */
  readonly mayBeOthers?: true;
}

export interface Published {
  readonly ips: readonly Address[];
  /** Of the spec that lists them. */
  readonly generation: number;
}

export interface ElectInput {
  readonly provider: string;
  readonly address: Address;
  readonly node: NodeRef;
  readonly effect: 'PreferNoSchedule' | 'NoSchedule';
}

export interface Elected {
  /** False when the node could not be marked: nobody is kept from moving by that. */
  readonly marked: boolean;
}

export interface AnnounceInput {
  readonly provider: string;
  /** What it is about; may be gone. */
  readonly owner: ObjectRef;
  readonly reason: 'AddressLeft';
  readonly message: string;
}

export type Announced = Readonly<Record<string, never>>;

export interface FindFirewallInput {
  readonly provider: string;
  readonly firewall: string;
  /** Those that wait for the answer; absent in what was asked for before. */
  readonly claimants?: readonly ActorId[];
}

/** A firewall as it stood at the provider. */
export interface FirewallFound extends FirewallOwned {
  /** Changes of before are not applied everywhere yet. */
  readonly pending: boolean;
  /** The only machines on which they are not; absent where nobody tells. */
  readonly pendingOn?: readonly ProviderID[];
  /** The provider says that some of them failed; absent for no. */
  readonly failed?: true;
  /** How many rules it takes still; absent where nobody knows. */
  readonly freeRules?: number;
}

export interface FirewallInput extends FindFirewallInput {
  readonly claimants: readonly ActorId[];
  /** Where addresses are believed to be whose former nodes are to be pruned: read again before anything is removed. */
  readonly holders: readonly { readonly address: Address; readonly providerID: ProviderID }[];
  /** Ports and nodes that nobody added for us may be removed, too. */
  readonly exclusive: boolean;
  /** The union of all claims: what must be open. */
  readonly claims: readonly PortClaim[];
  /** What we added ourselves earlier and may therefore remove. */
  readonly owned: FirewallOwned;
  /** The nodes of those that wait for it, where on another one nothing is applied; absent for all that are claimed. */
  readonly waitsFor?: readonly ProviderID[];
  /** As the firewall was a moment ago; null when it is to be read. */
  readonly found: FirewallFound | null;
  /** Counts tries of the same; 1 for the first. */
  readonly attempt: number;
}

export interface FirewallOwned {
  readonly ports: readonly string[];
  readonly nodes: readonly ProviderID[];
}

export interface FirewallChange {
  /** What of that is left. */
  readonly owned: FirewallOwned;
  /** Why something that nobody claims was left in place; null when nothing was. */
  readonly deferred: string | null;
  /** What the provider does not take, while it took the rest; absent for nothing. */
  readonly refused?: FirewallRefused;
  /** Nodes of those that wait for it on which the provider has not applied it yet; absent for none. */
  readonly pendingOn?: readonly ProviderID[];
  /** After a removal: how many rules the firewall takes still; absent where nobody knows. */
  readonly freeRules?: number;
  /** It was run once more, since whoever ran it first was not heard of again: a call of that one may still have an effect. Absent for false. */
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
  /** In order of precedence: of two of one name the first is done, the other is told so. */
  readonly sets: readonly WantedSet[];
}

export interface WantedSet extends Records {
  readonly claimant: ActorId;
}

export interface EnsuredRecords {
  /** As the provider calls the zone, which may have been named by its id. */
  readonly zoneName: string;
  readonly outcomes: readonly SetOutcome[];
  /** It was run once more, since whoever ran it first was not heard of again: a call of that one may still have an effect. Absent for false. */
  readonly rerun?: boolean;
}

/** Why one set was not written. */
export interface SetFailure extends JobFailure {
  /** Its name lies outside of the zone, as only the zone's real name could tell. */
  readonly outsideZone?: true;
}

export interface SetOutcome {
  readonly claimant: ActorId;
  readonly failure: SetFailure | null;
  /** Records that were created, changed or deleted by this try. */
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
  /** What the Service was seen to list when it was asked for, as one text. */
  readonly seen: string;
  /** Somebody else is written over. Absent for no. */
  readonly repairs?: true;
}

export interface PublishedVip {
  /** Of the Service. */
  readonly uid: string;
  readonly address: Address | null;
  /** It had to be written. */
  readonly changed: boolean;
  /** Of the input. */
  readonly seen: string;
  readonly repairs?: true;
}

export interface FreeVipsInput {
  readonly provider: string;
  readonly service: ObjectRef;
  readonly ips: readonly ReservedIP[];
  /** The Service lists none from then on, if it lists one of these; else nothing is freed while it does. */
  readonly clears: boolean;
}

export interface FreedVips {
  /** The uids of those that are gone. */
  readonly freed: readonly string[];
}

export interface ReleaseVipInput extends FreeVipsInput {
  /** The Service is there: it is to be let go. Else its absence was doubted, and is looked at once more. */
  readonly isThere: boolean;
}

export interface ReleasedVips extends FreedVips {
  /** It turned out to want its address after all, or a VirtualIP that is migrated to it does. Then nothing was done. */
  readonly kept: boolean;
}

export interface MarkVipInput {
  readonly provider: string;
  readonly service: ObjectRef;
  /** What the condition says; null takes it off. */
  readonly message: string | null;
  /** Our finalizer is taken off, too: nothing is reserved for the Service. */
  readonly letsGo: boolean;
}

/** What stands since. */
export interface MarkedVip extends Pick<MarkVipInput, 'message' | 'letsGo'> {
  /** Of the Service. */
  readonly uid: string;
}

export interface LookVipInput {
  readonly provider: string;
  /** Its uid is empty where only the names are known. */
  readonly service: ObjectRef;
  /** What is reserved for a VirtualIP, which may need none of it; absent for any other. */
  readonly ips?: readonly ReservedIP[];
}

export interface VerifyAllInput {
  readonly provider: string;
  /** Of the addresses that are listed; absent for IPv4. */
  readonly family?: Family;
}

export interface Verification {
  readonly addresses: readonly ObservedAddress[];
  /** There may be others besides; absent for no. */
  readonly isPartial?: true;
}
