import { ProviderError } from '../../actors/errors.ts';
import type { ActionRef, Clock, DNSRecordSet, Firewall } from '../../actors/ports.ts';
import type { Address, ObservedAddress, Port, ProviderID } from '../../machines/types.ts';
import { type Duration, durationOf } from './random.ts';

export interface CloudSettings {
  /** How long an action goes on; the address is locked meanwhile and moves at the end. Default 0: done at once. */
  readonly actionMs?: Duration;
  /** How long a firewall change stays pending. Default 0. */
  readonly firewallMs?: Duration;
  /** Addresses that one node can hold. Default 1. */
  readonly addressesPerNode?: number;
  /** Addresses that the account may have. Default 100. */
  readonly quota?: number;
  /** Needed only where a duration is a range. */
  readonly random?: () => number;
}

/** Somebody held an address from `at` (virtual ms) on; null from when nobody did. */
export interface Holding {
  readonly at: number;
  readonly providerID: ProviderID | null;
}

interface HeldAddress {
  readonly address: Address;
  readonly region: string;
  providerID: ProviderID | null;
  /** The action that goes on, by whomever it was started. */
  pending: PendingAction | null;
  readonly history: Holding[];
}

interface PendingAction {
  readonly to: ProviderID | null;
}

interface CloudFirewall {
  readonly ports: Set<string>;
  readonly nodes: Set<ProviderID>;
  pendingUntil: number;
}

const notFound = (what: string): ProviderError => new ProviderError('NotFound', `${what}: not found`);

const portName = ({ port, protocol }: Port): string => `${protocol.toLowerCase()}/${port}`;

/** A cloud account in memory: every method is one request that arrived. @throws ProviderError as a real one answers. */
export class MemoryCloud {
  readonly #clock: Clock;
  readonly #settings: Required<CloudSettings>;
  readonly #addresses = new Map<Address, HeldAddress>();
  readonly #nodes = new Set<ProviderID>();
  readonly #actions = new Map<ActionRef, 'running' | 'completed' | 'errored'>();
  readonly #firewalls = new Map<string, CloudFirewall>();
  readonly #records = new Map<string, DNSRecordSet>();
  /** Kept after a deletion too. */
  readonly #histories = new Map<Address, Holding[]>();
  #created = 0;
  #actionsStarted = 0;
  #actionsToFail = 0;
  #knowsActions = true;
  #quota: number;

  constructor(clock: Clock, { actionMs = 0, firewallMs = 0, addressesPerNode = 1, quota = 100, random = () => 0 }: CloudSettings) {
    this.#clock = clock;
    this.#settings = { actionMs, firewallMs, addressesPerNode, quota, random };
    this.#quota = quota;
  }

  // ---- what the test sets up and looks at

  addNode(...nodes: readonly ProviderID[]): void {
    for (const node of nodes) this.#nodes.add(node);
  }

  /** The machine is gone; its addresses are held by nobody. */
  removeNode(node: ProviderID): void {
    this.#nodes.delete(node);
    for (const held of this.#addresses.values()) if (held.providerID === node) this.#move(held, null);
  }

  addAddress(address: Address, region: string, providerID: ProviderID | null = null): void {
    const history = this.#histories.get(address) ?? [];
    this.#histories.set(address, history);
    const held: HeldAddress = { address, region, providerID: null, pending: null, history };
    this.#addresses.set(address, held);
    this.#move(held, providerID);
  }

  /** Somebody else moves the address, at once. */
  moveByHand(address: Address, providerID: ProviderID | null): void {
    this.#move(this.#held(address), providerID);
  }

  removeByHand(address: Address): void {
    this.#addresses.delete(address);
  }

  /** Somebody else's action goes on for `ms` and changes nothing. */
  lock(address: Address, ms: number): void {
    const held = this.#held(address);
    const pending = { to: held.providerID };
    held.pending = pending;
    this.#clock.after(ms, () => {
      if (held.pending === pending) held.pending = null;
    });
  }

  setQuota(quota: number): void {
    this.#quota = quota;
  }

  /** The next `times` actions end as errored and move nothing. */
  failActions(times: number): void {
    this.#actionsToFail = times;
  }

  /** From now on no action is known by its id. */
  forgetActions(): void {
    this.#knowsActions = false;
  }

  addFirewall(name: string, ports: readonly string[] = [], nodes: readonly ProviderID[] = []): void {
    this.#firewalls.set(name, { ports: new Set(ports), nodes: new Set(nodes), pendingUntil: 0 });
  }

  /** All addresses, by address. */
  addresses(): readonly ObservedAddress[] {
    return this.list();
  }

  /** Who held the address when, oldest first; of a deleted one too. */
  history(address: Address): readonly Holding[] {
    return this.#histories.get(address) ?? [];
  }

  records(): readonly DNSRecordSet[] {
    return [...this.#records.values()];
  }

  // ---- requests

  find(address: Address): ObservedAddress {
    return this.#observed(this.#held(address));
  }

  list(): readonly ObservedAddress[] {
    return [...this.#addresses.values()].map((held) => this.#observed(held)).sort((a, b) => (a.address < b.address ? -1 : 1));
  }

  hasNode(node: ProviderID): boolean {
    return this.#nodes.has(node);
  }

  create(region: string): Address {
    if (this.#addresses.size >= this.#quota)
      throw new ProviderError('Invalid', `create in ${region}: the quota of ${this.#quota} is reached`);
    this.#created += 1;
    // Documentation range first; a test that needs more gets private addresses.
    const address = (this.#created < 255 ? `203.0.113.${this.#created}` : `10.${this.#created >> 8}.${this.#created & 255}.1`) as Address;
    if (this.#addresses.has(address)) return this.create(region);
    this.addAddress(address, region);
    return address;
  }

  delete(address: Address): void {
    const held = this.#addresses.get(address);
    if (held === undefined) return;
    this.#refuseLocked(held, 'delete');
    this.#move(held, null);
    this.#addresses.delete(address);
  }

  assign(address: Address, node: ProviderID): ActionRef | null {
    const held = this.#held(address);
    if (!this.#nodes.has(node)) throw notFound(`assign ${address} to ${node}: node`);
    this.#refuseLocked(held, 'assign');
    if (held.providerID === node) return null;
    const others = [...this.#addresses.values()].filter(
      (other) => other !== held && (other.providerID === node || other.pending?.to === node),
    );
    if (others.length >= this.#settings.addressesPerNode) {
      throw new ProviderError('NodeInUse', `assign ${address} to ${node}: it holds ${others.map((other) => other.address).join(', ')}`);
    }
    return this.#act(held, node);
  }

  unassign(address: Address): void {
    const held = this.#held(address);
    this.#refuseLocked(held, 'unassign');
    if (held.providerID !== null) this.#act(held, null);
  }

  actionState(action: ActionRef): 'running' | 'completed' | 'errored' | 'unknown' {
    return this.#knowsActions ? (this.#actions.get(action) ?? 'unknown') : 'unknown';
  }

  findFirewall(name: string): Firewall | null {
    const firewall = this.#firewalls.get(name);
    if (firewall === undefined) return null;
    const { ports, nodes, pendingUntil } = firewall;
    return {
      id: `firewall-${name}`,
      name,
      ports: [...ports].sort(),
      nodes: [...nodes].sort(),
      pending: this.#clock.monotonic() < pendingUntil,
    };
  }

  openPorts(firewall: string, ports: readonly Port[]): void {
    this.#change(firewall, ({ ports: open }) => ports.forEach((port) => void open.add(portName(port))));
  }

  closePorts(firewall: string, ports: readonly Port[]): void {
    this.#change(firewall, ({ ports: open }) => ports.forEach((port) => void open.delete(portName(port))));
  }

  coverNodes(firewall: string, nodes: readonly ProviderID[]): void {
    for (const node of nodes) if (!this.#nodes.has(node)) throw notFound(`firewall ${firewall}: node ${node}`);
    this.#change(firewall, ({ nodes: covered }) => nodes.forEach((node) => void covered.add(node)));
  }

  uncoverNodes(firewall: string, nodes: readonly ProviderID[]): void {
    this.#change(firewall, ({ nodes: covered }) => nodes.forEach((node) => void covered.delete(node)));
  }

  setRecords(set: DNSRecordSet): void {
    if (set.addresses.length === 0)
      throw new ProviderError('Invalid', `records of ${set.recordName}.${set.zone}: a record set is never empty`);
    this.#records.set(`${set.recordName}.${set.zone}`, set);
  }

  // ---- within

  #held(address: Address): HeldAddress {
    const held = this.#addresses.get(address);
    if (held === undefined) throw notFound(address);
    return held;
  }

  #observed({ address, region, providerID, pending }: HeldAddress): ObservedAddress {
    return { address, region, providerID, locked: pending !== null };
  }

  #refuseLocked({ address, pending }: HeldAddress, verb: string): void {
    if (pending !== null) throw new ProviderError('InProgress', `${verb} ${address}: an action is pending`);
  }

  #move(held: HeldAddress, providerID: ProviderID | null): void {
    if (held.providerID === providerID) return;
    held.providerID = providerID;
    held.history.push({ at: this.#clock.monotonic(), providerID });
  }

  #act(held: HeldAddress, to: ProviderID | null): ActionRef {
    this.#actionsStarted += 1;
    const action = `action-${this.#actionsStarted}`;
    const fails = this.#actionsToFail > 0;
    if (fails) this.#actionsToFail -= 1;
    const pending = { to };
    const end = (): void => {
      const stands = held.pending === pending && this.#addresses.has(held.address) && (to === null || this.#nodes.has(to));
      if (held.pending === pending) held.pending = null;
      if (stands && !fails) this.#move(held, to);
      this.#actions.set(action, stands && !fails ? 'completed' : 'errored');
    };
    held.pending = pending;
    this.#actions.set(action, 'running');
    const ms = durationOf(this.#settings.actionMs, this.#settings.random);
    if (ms === 0) end();
    else this.#clock.after(ms, end);
    return action;
  }

  #change(name: string, change: (firewall: CloudFirewall) => void): void {
    const firewall = this.#firewalls.get(name);
    if (firewall === undefined) throw notFound(`firewall ${name}`);
    change(firewall);
    firewall.pendingUntil = this.#clock.monotonic() + durationOf(this.#settings.firewallMs, this.#settings.random);
  }
}
