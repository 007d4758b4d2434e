/** An IPv4 or IPv6 address in canonical text form. Made by `parseAddress` only. */
export type Address = string & { readonly __brand: 'Address' };

/** IPv4 or IPv6. */
export type Family = 4 | 6;

/** A node's cloud identity as Kubernetes spells it in `spec.providerID`, e.g. `digitalocean://3164444`. */
export type ProviderID = string & { readonly __brand: 'ProviderID' };

/** The actor that owns a record: `pool/<namespace>/<name>` or `rip/<namespace>/<name>`, with `/ip/<address>` or `/dns` behind it for what is part of the pool,
 *  `dns/<namespace>/<name>`, `zone/<provider>/<zone>`, `firewall/<provider>/<name>`, `verify/<provider>`. */
export type ActorId = string;

/** The finalizer of what may not vanish before what was done for it is undone: RoutedIPs, what they refer to, and Jobs that nobody has heard of yet. */
export const FINALIZER = 'routedip.io/finalizer';

/** The taint that marks the holders of routed addresses. It is ours, and keeps nobody from holding one. */
export const HOLDER_TAINT = 'routedip.io/routed-ip';

/** On a Node: `"true"` has every address leave it as soon as it can be had elsewhere. */
export const EVACUATE = 'routedip.io/evacuate';

/** Where addresses are to go: on a FloatingIPPool `<address>=<node>`, several separated by commas; on a RoutedIP the node. */
export const MOVE_TO = 'routedip.io/move-to';

/** What is to be on no node until the annotation is taken off: on a FloatingIPPool addresses, separated by commas; on a RoutedIP `true`; each with `=<who>` behind it or not. */
export const UNASSIGNED = 'routedip.io/unassigned';

/** On a RoutedIP: the address that it has got. A backup holds it, unlike the status. */
export const ADDRESS = 'routedip.io/address';

/** A node about whose evacuation something is to be said. */
export interface EvacuatedNode extends NodeRef {
  /** What the annotation says, when that is neither `"true"` nor `"false"`: nothing is evacuated. Absent for `"true"`. */
  readonly unclear?: string;
}

/** The members of a JSON object. */
export type Fields<Member = unknown> = { readonly [name: string]: Member };

export const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

/** None of what is no JSON object. */
export const fieldsOf = <Member = unknown>(value: unknown): Fields<Member> => (isFields(value) ? (value as Fields<Member>) : {});

/** A condition as Kubernetes defines it, without the time of the last transition, which the writer keeps. */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  /** See Finding; is not written. */
  readonly elsewhere?: true;
}

/** What people are told of an object. */
export interface ObjectEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  /** What was done, for `events.k8s.io`: a verb such as `Assign`. */
  readonly action: string;
}

/** What is said of a node that is to be evacuated, in a condition of the Node. */
export interface Evacuation {
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: 'NoAddressHeld' | 'AddressesHeld' | 'Priming' | 'InvalidAnnotation';
  readonly message: string;
}

/** A node that may hold an address: it matched the pool's rules when it was last observed. */
export interface Candidate {
  readonly name: string;
  readonly providerID: ProviderID;
  /** Empty when the node bears no region label. */
  readonly region: string;
  /** Creation of the Node object, ms since the epoch. */
  readonly createdAt: number;
}

/** A node that would be a candidate, were it not about to go. */
export interface Leaving extends Candidate {
  /** It is to be evacuated, whatever else; absent for false. */
  readonly evacuating?: true;
}

/** What is kept of a candidate once an address was granted to it. */
export interface NodeRef {
  readonly name: string;
  readonly providerID: ProviderID;
}

/** What the provider reports about one address. The provider is the truth about where an address is. */
export interface ObservedAddress {
  readonly address: Address;
  readonly region: string;
  /** Holder, null while it is attached to nothing. */
  readonly providerID: ProviderID | null;
  /** True while an action of the provider is pending for the address. */
  readonly locked: boolean;
  /** Absent for `Free`. Said by whoever knows the nodes of the cluster. */
  readonly place?: Exclude<Place, 'Free'>;
}

/** Where an address is: `Free` is attached to nothing or on a node of this cluster, `Outside` on another machine, `Unsaid` where the Job that was to find it did not
 *  say, and `Unseen` where the nodes of the cluster are not known yet. */
export type Place = 'Free' | 'Outside' | 'Unsaid' | 'Unseen';

/** What can be done about a failed call; every adapter classifies its errors into these once. */
export type ErrorKind =
  | 'NotFound'
  | 'InProgress'
  | 'NodeInUse'
  | 'Conflict'
  | 'RateLimited'
  | 'Unauthorized'
  | 'Invalid'
  | 'Unavailable'
  | 'Unsupported';

/** Why a durable job failed, as data that survives JSON. */
export interface JobFailure {
  readonly kind: ErrorKind;
  /** For people: what was tried, on what, what came back. Never a secret. */
  readonly message: string;
  /** The provider asked to wait this long, ms; null when it said nothing. */
  readonly retryAfterMs: number | null;
  /** True when the call may have taken effect although it failed (time-out, connection lost after the send, 5xx). */
  readonly unknownOutcome: boolean;
  /** How long a call of unknown outcome may still take effect, ms; absent: until the call deadline. */
  readonly effectWithinMs?: number;
  /** A constant that says more than the kind, where what failed is not the address; absent when nothing does. */
  readonly reason?:
    | 'FirewallNotFound'
    | 'FirewallLimit'
    | 'FirewallNotSupported'
    | 'FirewallNotReady'
    | 'PruneDeferred'
    /** A Job that works on the address, or on the firewall, did not do it; of kind Invalid: and will not before its class, or what it is asked for, changes. */
    | 'RoutedIPJobFailed'
    | 'FirewallJobFailed'
    /** Somebody else keeps the list into which the operator writes. */
    | 'SpecReverted'
    /** The operator lacks a right in its own cluster: nothing was done. */
    | 'Forbidden'
    /** It only observes: nothing was sent. */
    | 'Withheld';
  /** Present when the object was not found that the job is for: it is gone, or its kind is not served at present. */
  readonly objectNotFound?: true;
  /** What an operator that only observes has withheld; absent for nothing. */
  readonly withheld?: Difference;
}

/** What would become of something. */
export interface Difference {
  readonly what:
    | 'assign'
    | 'move'
    | 'create'
    | 'delete'
    | 'leave'
    | 'allocate'
    | 'release'
    | 'open'
    | 'close'
    | 'publish'
    | 'withdraw'
    | 'run';
  /** An address, a port as `tcp/443`, a record as `A work.example.com`, or a job. */
  readonly subject: string;
  readonly from: string | null;
  readonly to: string | null;
}

/** Something that a condition tells. */
export interface Finding {
  readonly reason: string;
  readonly message: string;
  /** It lies with another object: nothing is to be mended in this one. Absent for false. */
  readonly elsewhere?: true;
}

/** What a namespace keeps at a provider: one line of the ledger. */
export interface Kept {
  /** Null for the place of an address that is not made yet, or of which nobody knows whether it was. */
  readonly address: Address | null;
  /** For whom it was made, such as `RoutedIP/shop`; empty where nobody says. */
  readonly owner: string;
  /** Of that object; empty where nobody says. */
  readonly uid: string;
  /** The class or issuer by which it was made, such as `ClusterRoutedIPClass/floating`; empty for none. */
  readonly source: string;
  /** The key of the provider that has it; empty where nobody says: then no list can show that it is gone. */
  readonly provider: string;
  /** ms since the epoch; 0 where nobody knows. */
  readonly since: number;
}

/** One port that a Service needs open on the node that holds its address. */
export interface Port {
  readonly port: number;
  readonly protocol: 'TCP' | 'UDP';
  /** From where it is to be reached, as CIDRs; absent for anywhere. */
  readonly sources?: readonly string[];
}

/** A port open on one node: what an address claims of a firewall. */
export interface PortClaim extends Port {
  readonly node: NodeRef;
}

/** A taint as far as matching reads it. */
export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

/** A toleration as Kubernetes defines it: empty key with `Exists` tolerates all, empty effect means every effect, operator defaults to `Equal`. */
export interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
}

/** A Node reduced to the fields that decide. */
export interface ObservedNode {
  readonly name: string;
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly ready: boolean;
  readonly deleting: boolean;
  readonly unschedulable: boolean;
  /** Empty until the cloud controller has set it. */
  readonly providerID: string;
  readonly region: string;
  readonly createdAt: number;
  /** Somebody wants every address to leave it, by an annotation; absent for false. */
  readonly evacuating?: true;
  /** Addresses of `status.addresses` by type, in the order listed; what does not parse is left out. Absent when nobody asked for addresses. */
  readonly externalIPs?: readonly Address[];
  readonly internalIPs?: readonly Address[];
  /** Of the annotations `flipop.digitalocean.com/ipv4-reserved-ip` and `flipop.digitalocean.com/ipv6-reserved-ip`. */
  readonly reservedIPs?: readonly Address[];
}

/** A Pod reduced to the fields that decide. */
export interface ObservedPod {
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Empty until scheduled. */
  readonly nodeName: string;
  /** Phase Running, condition Ready True, no deletionTimestamp. */
  readonly serving: boolean;
}

/** One record of a zone, of any type: `A`, `AAAA`, `CNAME`, … */
export interface DNSRecord {
  readonly id: string;
  readonly type: string;
  /** Relative to the zone, lower case, `@` for the zone itself. */
  readonly name: string;
  readonly data: string;
  readonly ttlSeconds: number;
  /** True while the provider answers with its own addresses instead of `data` (Cloudflare). */
  readonly proxied: boolean;
}

/** A zone; its name in lower case, without a final dot. */
export interface DNSZone {
  readonly name: string;
  readonly records: readonly DNSRecord[];
}

/** A port of a container. */
export interface ObservedContainerPort {
  /** Empty when it has none. */
  readonly name: string;
  readonly containerPort: number;
  /** Null when the node does not listen for it. */
  readonly hostPort: number | null;
  /** `TCP`, `UDP` or `SCTP`. */
  readonly protocol: string;
}

/** A Pod that backs a Service, as far as ports go. */
export interface ObservedBackend {
  readonly name: string;
  readonly hostNetwork: boolean;
  readonly ports: readonly ObservedContainerPort[];
}

/** One endpoint of a Service whose node is known. */
export interface ObservedEndpoint {
  readonly node: string;
  /** Ready (as a condition that is not given counts), and not terminating. */
  readonly ready: boolean;
  /** Null when it is no Pod, or one that is not seen yet. */
  readonly pod: ObservedBackend | null;
}

export interface ObservedServicePort {
  readonly name: string;
  readonly port: number;
  readonly protocol: string;
  /** Number or name of a container's port; the port itself when the Service says nothing. */
  readonly targetPort: number | string;
  readonly nodePort: number | null;
}

/** A Service reduced to what decides where its address may go and what has to be open there. */
export interface ObservedService {
  /** `ClusterIP`, `NodePort`, `LoadBalancer` or `ExternalName`. */
  readonly type: string;
  readonly hasSelector: boolean;
  /** The platform is told not to open its node ports; absent for false. */
  readonly isUnmanaged?: true;
  readonly ports: readonly ObservedServicePort[];
  /** Sorted by node, then Pod. */
  readonly endpoints: readonly ObservedEndpoint[];
}

/** A class or an issuer of the namespace. */
export interface ClassRef {
  readonly kind: string;
  readonly name: string;
}

/** With the key of the provider at which something was done by it; absent in what earlier versions wrote. */
export interface ClassInUse extends ClassRef {
  readonly provider?: string;
}

/** An address that a RoutedIP has got for good, and whether we made it, or reserved it. */
export interface BoundAddress {
  readonly address: Address;
  readonly created: boolean;
}

/** Whether it can be a term of ours: one each millisecond for thirty years would not come so far. What others have written there leaves no room for the next ones. */
export const isTerm = (term: number): boolean => Number.isSafeInteger(term) && term > 0 && term < 1e12;

/** A Kubernetes object as jobs and projections name it. */
export interface ObjectRef {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** Which of them are taken. Never: none. Unassigned: those that are attached to nothing, or to a node of this cluster. */
export type Adoption = 'Never' | 'Unassigned' | 'Any';
