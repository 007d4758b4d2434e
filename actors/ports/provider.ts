import type { Address, DNSRecord, DNSZone, Family, ObservedAddress, Port, ProviderID } from '../../machines/model/types.ts';
import type { Fence } from './fence.ts';
import type { JobDriver } from './job-driver.ts';

/** Why a call is made: a failover and its confirmation may together use the whole budget, the others leave them a reserve. `create` is for the creation itself, which a
 *  provider limits; `intend` for reads before and after it. */
export type Purpose = 'failover' | 'confirm' | 'create' | 'intend' | 'verify' | 'dns' | 'firewall';

/** The object that a call is made for. */
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
  /** The namespaces for which it is made: one of them spends its turn of the request budget. Absent for none. */
  readonly namespaces?: readonly string[];
  /** Belongs to the job run that makes the call; absent elsewhere. */
  readonly prepaid?: Prepaid;
}

/** Calls that one run of a job has paid for in advance, out of the request budget. */
export interface Prepaid {
  /** How many calls it pays for with its first one: as many as it could make last time, and one more. Otherwise it would make the same ones each time, and never the next. */
  readonly atOnce: number;
  /** Calls that are paid for and not yet made. */
  left: number;
  /** Calls that were made. */
  made: number;
}

export interface ListCall extends Call {
  /** The requested family. A provider may keep a separate list for each, which costs calls of its own. */
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
  /** The only machines on which they are not applied; absent where that is unknown. */
  readonly pendingOn?: readonly ProviderID[];
  /** The provider reports that it failed to apply some of them; absent for no. */
  readonly failed?: true;
  /** Rules that a port text cannot express: outbound ones, ranges, other protocols. */
  readonly otherRules: number;
  /** How many more rules it takes. */
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
    /** The prefix of a node's providerID, e.g. `digitalocean://`. Empty where nodes need none: a node without one is identified by its name. */
    readonly providerIDPrefix: string;
  };
  /** Runs the Jobs of the cluster that replace these verbs. */
  readonly jobs?: JobDriver;
  /** What the provider reports now. @throws NotFound */
  findRoutedIP(address: Address, call: Call): Promise<ObservedAddress>;
  /** All addresses of the token of one family, complete or an error: a page that failed is an error. @throws PartialList when fewer came than exist, or they changed
   *  meanwhile */
  listRoutedIPs(call: ListCall): Promise<readonly ObservedAddress[]>;
  /** Whether the machine behind a node still exists. */
  findNode(providerID: ProviderID, call: Call): Promise<'present' | 'gone'>;
  /** A new IPv4 address in the region, attached to nothing. NOT idempotent at the provider: callers record an intent first. @throws Invalid when a quota is reached. */
  createRoutedIP(region: string, call: Call): Promise<Address>;
  /** Deletes; an address that is gone counts as deleted. */
  deleteRoutedIP(address: Address, call: Call): Promise<void>;
  /** Points `address` at the node. Resolves when the provider accepted, not when traffic flows: poll findRoutedIP; the ref, if any, only hints when to check. Already there
   *  counts as success (null). @throws NotFound | NodeInUse | InProgress | Invalid | … */
  assignRoutedIP(address: Address, providerID: ProviderID, call: Call): Promise<ActionRef | null>;
  /** The state of an action; `unknown` when the provider does not, or no longer, know it: then only the address itself shows the outcome. */
  actionState(address: Address, action: ActionRef, call: Call): Promise<'running' | 'completed' | 'errored' | 'unknown'>;
  /** Detaches. Only ever requested by a user. */
  unassignRoutedIP(address: Address, call: Call): Promise<void>;
  /** The firewall of that name, or null. */
  findRoutedIPFirewall(name: string, call: Call): Promise<Firewall | null>;
  /** The existing ones of these firewalls, given by name or id, read with one list of all; complete or an error. */
  listRoutedIPFirewalls(names: readonly string[], call: Call): Promise<readonly Firewall[]>;
  addRoutedIPFirewallPort(firewall: string, ports: readonly Port[], call: Call): Promise<void>;
  addRoutedIPFirewallNode(firewall: string, nodes: readonly ProviderID[], call: Call): Promise<void>;
  deleteRoutedIPFirewallPort(firewall: string, ports: readonly Port[], call: Call): Promise<void>;
  deleteRoutedIPFirewallNode(firewall: string, nodes: readonly ProviderID[], call: Call): Promise<void>;
  /** All records of a zone, complete or an error; `zone` is its name, or its id where the provider has ids. @throws NotFound | Unauthorized | Unsupported */
  listDNSRecords(zone: string, call: Call): Promise<DNSZone>;
  /** Creates a record, never proxied. NOT idempotent: callers list first. @throws NotFound | Invalid | Conflict when it exists, or conflicts with a CNAME */
  createDNSRecord(zone: string, record: Omit<DNSRecord, 'id'>, call: Call): Promise<void>;
  /** Updates the record of that id, never proxied. Repeating it is harmless. @throws NotFound | Invalid | Conflict as for a new record */
  updateDNSRecord(zone: string, record: DNSRecord, call: Call): Promise<void>;
  /** Deletes a record; one that is gone, with its zone or without, counts as deleted. */
  deleteDNSRecord(zone: string, id: string, call: Call): Promise<void>;
}
