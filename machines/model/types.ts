/** An IPv4 or IPv6 address in canonical text form. Made by `parseAddress` only. */
export type Address = string & { readonly __brand: 'Address' };

/** IPv4 or IPv6. */
export type Family = 4 | 6;

/** A node's cloud identity as Kubernetes spells it in `spec.providerID`, e.g. `digitalocean://3164444`. */
export type ProviderID = string & { readonly __brand: 'ProviderID' };

/** The actor that owns a record: `pool/<namespace>/<name>` or `rip/<namespace>/<name>`, with `/ip/<address>` or `/dns` appended for the parts of a pool,
 *  `dns/<namespace>/<name>`, `zone/<provider>/<zone>`, `firewall/<provider>/<name>`, `verify/<provider>`. */
export type ActorId = string;

/** The finalizer of objects that must not vanish before their effects are undone: RoutedIPs, what they refer to, and Jobs whose outcome was not observed yet. */
export const FINALIZER = 'routedip.io/finalizer';

/** The taint that marks the holders of routed addresses. It is ours and never excludes a node as a holder. */
export const HOLDER_TAINT = 'routedip.io/routed-ip';

/** On a Node: `"true"` makes every address leave it as soon as another node can take it. */
export const EVACUATE = 'routedip.io/evacuate';

/** The requested nodes of addresses: on a FloatingIPPool `<address>=<node>`, several separated by commas; on a RoutedIP the node. */
export const MOVE_TO = 'routedip.io/move-to';

/** What must be on no node until the annotation is removed: on a FloatingIPPool addresses, separated by commas; on a RoutedIP `true`; each optionally followed by `=<who>`. */
export const UNASSIGNED = 'routedip.io/unassigned';

/** On a RoutedIP: the address bound to it. A backup includes annotations, unlike the status. */
export const ADDRESS = 'routedip.io/address';

/** A node whose evacuation has to be reported. */
export interface EvacuatedNode extends NodeRef {
  /** The value of the annotation when it is neither `"true"` nor `"false"`: nothing is evacuated. Absent for `"true"`. */
  readonly unclear?: string;
}

/** The members of a JSON object. */
export type Fields<Member = unknown> = { readonly [name: string]: Member };

export const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The members of the value; none if it is not a JSON object. */
export const fieldsOf = <Member = unknown>(value: unknown): Fields<Member> => (isFields(value) ? (value as Fields<Member>) : {});

/** A condition as Kubernetes defines it, without the last transition time, which the writer keeps. */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  /** See Finding; not written. */
  readonly elsewhere?: true;
}

/** An Event on an object, for users. */
export interface ObjectEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  /** What was done, for `events.k8s.io`: a verb such as `Assign`. */
  readonly action: string;
}

/** State of a node's evacuation, shown in a condition of the Node. */
export interface Evacuation {
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: 'NoAddressHeld' | 'AddressesHeld' | 'Priming' | 'InvalidAnnotation';
  readonly message: string;
}

/** A node that may hold an address: it matched the pool's rules when it was last observed. */
export interface Candidate {
  readonly name: string;
  readonly providerID: ProviderID;
  /** Empty when the node has no region label. */
  readonly region: string;
  /** Creation of the Node object, ms since the epoch. */
  readonly createdAt: number;
}

/** A node that would be a candidate if it were not about to go. */
export interface Leaving extends Candidate {
  /** It is being evacuated; absent for false. */
  readonly evacuating?: true;
}

/** The part of a candidate kept after an address was granted to it. */
export interface NodeRef {
  readonly name: string;
  readonly providerID: ProviderID;
}

/** What the provider reports about one address. The provider is the source of truth for where an address is. */
export interface ObservedAddress {
  readonly address: Address;
  readonly region: string;
  /** Holder, null while it is attached to nothing. */
  readonly providerID: ProviderID | null;
  /** True while an action of the provider is pending for the address. */
  readonly locked: boolean;
  /** Absent for `Free`. Set where the nodes of the cluster are known. */
  readonly place?: Exclude<Place, 'Free'>;
}

/** Where an address is: `Free` is attached to nothing or on a node of this cluster, `Outside` on another machine, `Unsaid` where the Job that looks for it did not say, and
 *  `Unseen` where the nodes of the cluster are not known yet. */
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
  /** For users: what was tried, on what, what came back. Never a secret. */
  readonly message: string;
  /** The provider asked to wait this long, ms; null when it said nothing. */
  readonly retryAfterMs: number | null;
  /** True when the call may have taken effect although it failed (time-out, connection lost after the send, 5xx). */
  readonly unknownOutcome: boolean;
  /** How long a call of unknown outcome may still take effect, ms; absent: until the call deadline. */
  readonly effectWithinMs?: number;
  /** A constant more specific than the kind, where the failure does not concern the address; absent when there is none. */
  readonly reason?:
    | 'FirewallNotFound'
    | 'FirewallLimit'
    | 'FirewallNotSupported'
    | 'FirewallNotReady'
    | 'PruneDeferred'
    /** A Job for the address or the firewall failed; with kind Invalid, it cannot succeed before its class or its request changes. */
    | 'RoutedIPJobFailed'
    | 'FirewallJobFailed'
    /** Another writer manages the list into which the operator writes. */
    | 'SpecReverted'
    /** The operator lacks a permission in its own cluster: nothing was done. */
    | 'Forbidden'
    /** The operator runs in observe-only mode: nothing was sent. */
    | 'Withheld';
  /** Present when the object that the job is for was not found: it is gone, or its kind is not currently served. */
  readonly objectNotFound?: true;
  /** What an operator in observe-only mode has withheld; absent for nothing. */
  readonly withheld?: Difference;
}

/** A change that would be made. */
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

/** A reason and message to be shown in a condition. */
export interface Finding {
  readonly reason: string;
  readonly message: string;
  /** The cause lies with another object: nothing needs fixing in this one. Absent for false. */
  readonly elsewhere?: true;
}

/** An address that a namespace keeps at a provider: one line of the ledger. */
export interface Kept {
  /** Null for an address that is not created yet, or whose creation is unknown. */
  readonly address: Address | null;
  /** Its owner, such as `RoutedIP/shop`; empty where unknown. */
  readonly owner: string;
  /** UID of that object; empty where unknown. */
  readonly uid: string;
  /** The class or issuer that created it, such as `ClusterRoutedIPClass/floating`; empty for none. */
  readonly source: string;
  /** The key of its provider; empty where unknown: then no list can show that it is gone. */
  readonly provider: string;
  /** ms since the epoch; 0 where unknown. */
  readonly since: number;
}

/** One port that a Service needs open on the node that holds its address. */
export interface Port {
  readonly port: number;
  readonly protocol: 'TCP' | 'UDP';
  /** Source CIDRs that may reach it; absent for anywhere. */
  readonly sources?: readonly string[];
}

/** A port open on one node: what an address claims of a firewall. */
export interface PortClaim extends Port {
  readonly node: NodeRef;
}

/** The fields of a taint used in matching. */
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

/** A Node reduced to the fields used in decisions. */
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
  /** An annotation requests that every address leave it; absent for false. */
  readonly evacuating?: true;
  /** Addresses of `status.addresses` by type, in the order listed; unparsable ones are left out. Absent when addresses were not requested. */
  readonly externalIPs?: readonly Address[];
  readonly internalIPs?: readonly Address[];
  /** From the annotations `flipop.digitalocean.com/ipv4-reserved-ip` and `flipop.digitalocean.com/ipv6-reserved-ip`. */
  readonly reservedIPs?: readonly Address[];
}

/** A Pod reduced to the fields used in decisions. */
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

/** The ports of a Pod that backs a Service. */
export interface ObservedBackend {
  readonly name: string;
  readonly hostNetwork: boolean;
  readonly ports: readonly ObservedContainerPort[];
}

/** One endpoint of a Service whose node is known. */
export interface ObservedEndpoint {
  readonly node: string;
  /** Ready (a missing condition counts as ready), and not terminating. */
  readonly ready: boolean;
  /** Null when it is not a Pod, or a Pod not observed yet. */
  readonly pod: ObservedBackend | null;
}

export interface ObservedServicePort {
  readonly name: string;
  readonly port: number;
  readonly protocol: string;
  /** Number or name of a container's port; defaults to the port itself. */
  readonly targetPort: number | string;
  readonly nodePort: number | null;
}

/** A Service reduced to what decides where its address may go and what must be open there. */
export interface ObservedService {
  /** `ClusterIP`, `NodePort`, `LoadBalancer` or `ExternalName`. */
  readonly type: string;
  readonly hasSelector: boolean;
  /** The platform is configured not to open its node ports; absent for false. */
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

/** With the key of the provider where it was used; absent in records written by earlier versions. */
export interface ClassInUse extends ClassRef {
  readonly provider?: string;
}

/** The address bound permanently to a RoutedIP, and whether we created or reserved it. */
export interface BoundAddress {
  readonly address: Address;
  readonly created: boolean;
}

/** Whether it can be one of our terms: one per millisecond for thirty years would stay below the limit. A larger value, written by someone else, would leave no room for later
 *  terms. */
export const isTerm = (term: number): boolean => Number.isSafeInteger(term) && term > 0 && term < 1e12;

/** Reference to a Kubernetes object in jobs and projections. */
export interface ObjectRef {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** Which addresses are taken. Never: none. Unassigned: those attached to nothing, or to a node of this cluster. */
export type Adoption = 'Never' | 'Unassigned' | 'Any';
