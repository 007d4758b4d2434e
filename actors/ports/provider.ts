import type { Address, DNSRecord, DNSZone, Family, ObservedAddress, Port, ProviderID } from '../../machines/model/types.ts';
import type { Fence } from './fence.ts';
import type { JobDriver } from './job-driver.ts';

/** Why a call is made: a failover and its confirmation may use the whole budget between them, the others leave them a reserve. `create` is for the
 *  creation itself, of which a provider allows few; `intend` for what is read before and after it. */
export type Purpose = 'failover' | 'confirm' | 'create' | 'intend' | 'verify' | 'dns' | 'firewall';

/** The object for whose sake a call is made. */
export interface CallOwner {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

export interface Call {
  readonly purpose: Purpose;
  /** Absent for reads. */
  readonly fence?: Fence;
  /** Absent when the call is made for many objects or for none. For metrics only. */
  readonly owner?: CallOwner;
  /** For the sake of which namespaces it is made: one of them gives its turn of the request budget. Absent for none. */
  readonly namespaces?: readonly string[];
  /** Of the run of a job that makes it; absent elsewhere. */
  readonly prepaid?: Prepaid;
}

/** Calls that one run of a job has paid for ahead, out of the request budget. */
export interface Prepaid {
  /** So many calls it pays for with its first one: as many as it could make last time, and one more. Else it would make the same ones each time, and never the next. */
  readonly atOnce: number;
  /** Calls that are paid for and not made yet. */
  left: number;
  /** Calls that were made. */
  made: number;
}

export interface ListCall extends Call {
  /** The family that is asked for. A provider may keep each in a list of its own, that costs calls of its own. */
  readonly family: Family;
}

/** A provider's handle on an action that goes on after the call returned. */
export type ActionRef = string;

export interface Firewall {
  readonly id: string;
  readonly name: string;
  /** `tcp/80`, sorted. */
  readonly ports: readonly string[];
  readonly nodes: readonly ProviderID[];
  /** True while changes are not applied everywhere. */
  readonly pending: boolean;
  /** The only machines on which they are not; absent where nobody tells. */
  readonly pendingOn?: readonly ProviderID[];
  /** The provider says that it failed to apply some of them; absent for no. */
  readonly failed?: true;
  /** Rules that no text of a port says: outbound ones, ranges, other protocols. */
  readonly otherRules: number;
  /** How many rules it takes still. */
  readonly freeRules: number;
}

/** The verbs of an issuer. Every one may be repeated, ends within the call deadline, and throws `ProviderError` only (or `Fenced` before anything was sent). */
export interface Provider {
  readonly name: string;
  readonly capabilities: {
    readonly addresses: boolean;
    readonly dns: boolean;
    readonly firewalls: boolean;
    readonly ipv6: boolean;
    /** Addresses of one family that one node can hold at most. */
    readonly addressesPerNode: number;
    /** What a node's providerID starts with, e.g. `digitalocean://`. Empty where nodes need none: one without goes by its name. */
    readonly providerIDPrefix: string;
  };
  /** Runs what Jobs of the cluster do in the place of these verbs. */
  readonly jobs?: JobDriver;
  /** What the provider reports now. @throws NotFound */
  findRoutedIP(address: Address, call: Call): Promise<ObservedAddress>;
  /** All addresses of the token of one family, complete or an error: a page that failed is an error. @throws PartialList when fewer came than there are, or they changed meanwhile */
  listRoutedIPs(call: ListCall): Promise<readonly ObservedAddress[]>;
  /** Whether the machine behind a node still exists. */
  findNode(providerID: ProviderID, call: Call): Promise<'present' | 'gone'>;
  /** A new IPv4 address in the region, attached to nothing. NOT idempotent at the provider: callers record an intent first. @throws Invalid when a quota is reached. */
  createRoutedIP(region: string, call: Call): Promise<Address>;
  /** Deletes; an address that is gone counts as deleted. */
  deleteRoutedIP(address: Address, call: Call): Promise<void>;
  /** Points `address` at the node. Resolves when the provider accepted, not when traffic flows: poll findRoutedIP; the ref, when there is one, only hints when to look.
   *  Already there counts as success (null). @throws NotFound | NodeInUse | InProgress | Invalid | … */
  assignRoutedIP(address: Address, providerID: ProviderID, call: Call): Promise<ActionRef | null>;
  /** How an action goes on; `unknown` when the provider does not know it (any more): then only the address itself tells. */
  actionState(address: Address, action: ActionRef, call: Call): Promise<'running' | 'completed' | 'errored' | 'unknown'>;
  /** Detaches. Only ever asked for by a person. */
  unassignRoutedIP(address: Address, call: Call): Promise<void>;
  /** The firewall of that name, or null. */
  findRoutedIPFirewall(name: string, call: Call): Promise<Firewall | null>;
  /** Those of the firewalls that exist, by their names or ids, read by one list of all; complete or an error. */
  listRoutedIPFirewalls(names: readonly string[], call: Call): Promise<readonly Firewall[]>;
  addRoutedIPFirewallPort(firewall: string, ports: readonly Port[], call: Call): Promise<void>;
  addRoutedIPFirewallNode(firewall: string, nodes: readonly ProviderID[], call: Call): Promise<void>;
  deleteRoutedIPFirewallPort(firewall: string, ports: readonly Port[], call: Call): Promise<void>;
  deleteRoutedIPFirewallNode(firewall: string, nodes: readonly ProviderID[], call: Call): Promise<void>;
  /** All records of a zone, complete or an error; `zone` is its name, or its id where the provider has ids. @throws NotFound | Unauthorized | Unsupported */
  listDNSRecords(zone: string, call: Call): Promise<DNSZone>;
  /** A new record, never proxied. NOT idempotent: callers list first. @throws NotFound | Invalid | Conflict when it exists, or a CNAME is in the way */
  createDNSRecord(zone: string, record: Omit<DNSRecord, 'id'>, call: Call): Promise<void>;
  /** Makes the record of that id what is given, never proxied. Repeating it is harmless. @throws NotFound | Invalid | Conflict as for a new record */
  updateDNSRecord(zone: string, record: DNSRecord, call: Call): Promise<void>;
  /** A record that is gone, with its zone or without, counts as deleted. */
  deleteDNSRecord(zone: string, id: string, call: Call): Promise<void>;
}
