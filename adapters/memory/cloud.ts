import { ProviderError } from '../../actors/ports/errors.ts';
import type { ActionRef } from '../../actors/ports/provider.ts';
import type { Clock } from '../../actors/ports/records.ts';
import { familyOf } from '../../machines/model/address.ts';
import type { Address, ObservedAddress, ProviderID } from '../../machines/model/types.ts';
import { type Duration, durationOf } from './random.ts';
import { MemoryServices, type ServicesSettings } from './services.ts';

export interface CloudSettings extends ServicesSettings {
  /** How long an action takes; the address is locked meanwhile and moves at the end. Default 0: done immediately. */
  readonly actionMs?: Duration;
  /** Addresses of each family that one node can hold. Default 1. */
  readonly addressesPerNode?: number;
  /** Addresses that the account may have. Default 100. */
  readonly quota?: number;
}

/** An address was held from `at` (virtual ms) on; null when it was unassigned from then. */
export interface Holding {
  readonly at: number;
  readonly providerID: ProviderID | null;
}

interface HeldAddress {
  readonly address: Address;
  readonly region: string;
  providerID: ProviderID | null;
  /** The running action, ours or another client's. */
  pending: PendingAction | null;
  readonly history: Holding[];
}

interface PendingAction {
  readonly to: ProviderID | null;
}

const notFound = (what: string): ProviderError => new ProviderError('NotFound', `${what}: not found`);

/** A cloud account in memory: every method is one request that arrived. @throws ProviderError like a real provider. */
export class MemoryCloud extends MemoryServices {
  readonly #clock: Clock;
  readonly #settings: Required<Omit<CloudSettings, 'firewallMs'>>;
  readonly #addresses = new Map<Address, HeldAddress>();
  /** Node → region; null for a node that accepts addresses of any region. */
  readonly #nodes = new Map<ProviderID, string | null>();
  readonly #actions = new Map<ActionRef, 'running' | 'completed' | 'errored'>();
  /** Kept even after a deletion. */
  readonly #histories = new Map<Address, Holding[]>();
  #created = 0;
  #actionsStarted = 0;
  #actionsToFail = 0;
  #knowsActions = true;
  #quota: number;

  constructor(clock: Clock, { actionMs = 0, addressesPerNode = 1, quota = 100, random = () => 0, ...services }: CloudSettings) {
    super(clock, { ...services, random });
    this.#clock = clock;
    this.#settings = { actionMs, addressesPerNode, quota, random };
    this.#quota = quota;
  }

  // ---- what the test sets up and looks at

  addNode(...nodes: readonly ProviderID[]): void {
    for (const node of nodes) this.#nodes.set(node, null);
  }

  /** A node that accepts only addresses of its region. */
  addNodeIn(region: string, node: ProviderID): void {
    this.#nodes.set(node, region);
  }

  /** The machine is gone: its addresses are unassigned, and no firewall covers it. */
  removeNode(node: ProviderID): void {
    this.#nodes.delete(node);
    this.leaveFirewalls(node);
    for (const held of this.#addresses.values()) if (held.providerID === node) this.#move(held, null);
  }

  addAddress(address: Address, region: string, providerID: ProviderID | null = null): void {
    const history = this.#histories.get(address) ?? [];
    this.#histories.set(address, history);
    const held: HeldAddress = { address, region, providerID: null, pending: null, history };
    this.#addresses.set(address, held);
    this.#move(held, providerID);
  }

  /** Another client moves the address, immediately. */
  moveByHand(address: Address, providerID: ProviderID | null): void {
    this.#move(this.#held(address), providerID);
  }

  removeByHand(address: Address): void {
    this.#addresses.delete(address);
  }

  /** Another client's action runs for `ms` and changes nothing. */
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

  /** The next `times` actions end as errored without effect. */
  failActions(times: number): void {
    this.#actionsToFail = times;
  }

  /** From now on no action is known by its id. */
  forgetActions(): void {
    this.#knowsActions = false;
  }

  /** All addresses, by address. */
  addresses(): readonly ObservedAddress[] {
    return this.list();
  }

  /** The holders of the address over time, oldest first; also for a deleted address. */
  history(address: Address): readonly Holding[] {
    return this.#histories.get(address) ?? [];
  }

  // ---- requests

  find(address: Address): ObservedAddress {
    return this.#observed(this.#held(address));
  }

  list(): readonly ObservedAddress[] {
    return [...this.#addresses.values()].map((held) => this.#observed(held)).sort((a, b) => (a.address < b.address ? -1 : 1));
  }

  override hasNode(node: ProviderID): boolean {
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
    const region = this.#nodes.get(node) ?? held.region;
    if (region !== held.region)
      throw new ProviderError('Invalid', `assign ${address} to ${node}: it is in ${held.region}, the node in ${region}`);
    this.#refuseLocked(held, 'assign');
    if (held.providerID === node) return null;
    const others = [...this.#addresses.values()].filter(
      (other) =>
        other !== held && familyOf(other.address) === familyOf(address) && (other.providerID === node || other.pending?.to === node),
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
}
