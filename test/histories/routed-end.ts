import type { ObjectRef } from '../../machines/jobs.ts';
import { boundAddress } from '../../machines/rebuild-routed-ip.ts';
import type { Address } from '../../machines/types.ts';
import type { RoutedWorld } from '../actors/routed-world.ts';
import { type Claiming, ownersOf, shownBy } from '../support/owners.ts';
import type { RoutedFirewalls } from './routed-firewalls.ts';
import type { RoutedNodes } from './routed-nodes.ts';
import type { Claimant, RoutedObjects } from './routed-objects.ts';
import type { RoutedServices } from './routed-services.ts';
import type { RoutedHistory } from './routed-steps.ts';

export interface RoutedParts {
  readonly world: RoutedWorld;
  readonly nodes: RoutedNodes;
  readonly services: RoutedServices;
  readonly firewalls: RoutedFirewalls;
  readonly objects: RoutedObjects;
  readonly history: RoutedHistory;
}

export const claimingOf = (world: RoutedWorld, { ref, createdAt, addresses }: Claimant): Claiming<string> => ({
  id: ref.uid,
  createdAt,
  addresses,
  has: shownBy(world.cluster.pool(ref)),
});

/** What has to be so when a history is over and nothing is in the way any more. */
export class RoutedEnd {
  readonly #parts: RoutedParts;
  readonly #made: Address[] = [];
  /** Addresses that stood in the status of a RoutedIP once. */
  readonly #bound = new Set<Address>();
  /** A RoutedIP that a person let go at once: what it leaves behind is his. */
  readonly #mayLeave: boolean;

  constructor(parts: RoutedParts) {
    this.#parts = parts;
    this.#mayLeave = parts.history.steps.some(({ what }) => what.kind === 'force');
    const { cloud } = parts.world.provider;
    const { create } = cloud;
    cloud.create = (region) => {
      const address = create.call(cloud, region);
      this.#made.push(address);
      return address;
    };
    const { invariants } = parts.world;
    const { turnSaved } = invariants;
    invariants.turnSaved = (turn) => {
      turnSaved.call(invariants, turn);
      this.#noteBound();
    };
  }

  /** Addresses that the operator made, in order. */
  get made(): readonly Address[] {
    return this.#made;
  }

  /** What is not as it must be. */
  wrongs(): readonly string[] {
    const leader = this.#parts.world.processes.find(({ dead, supervisor }) => !dead && supervisor.leading);
    if (!leader) return ['nobody leads'];
    this.#noteBound();
    const { world, firewalls } = this.#parts;
    const claimants = this.#parts.objects.claimants();
    const owners = ownersOf(claimants.map((claimant) => claimingOf(world, claimant)));
    const claims = claimants.flatMap((claimant) => this.#wrongsOf(claimant, owners));
    const records = new Map([...leader.supervisor.records().values()].flatMap((cell) => [...cell]));
    const busy = [...records].flatMap(([actor, { chart, waiting }]) =>
      (chart === 'ip' || chart === 'firewall') && Object.keys(waiting).length > 0 ? [`${actor} waits for ${Object.keys(waiting)}`] : [],
    );
    return [
      ...claims,
      ...busy,
      ...firewalls.wrongs(),
      ...this.#parts.nodes.wrongEvacuations(),
      ...this.#parts.objects.unanswered(),
      ...(this.#mayLeave ? [] : this.#unknown()),
      ...this.#left(world.rules.wrongs(records)),
    ];
  }

  /** A RoutedIP that was let go at once may leave something. */
  #left(wrongs: readonly string[]): readonly string[] {
    return this.#mayLeave ? wrongs.filter((text) => !text.includes(' is left in ')) : wrongs;
  }

  #wrongsOf(claimant: Claimant, owners: ReadonlyMap<Address, string>): readonly string[] {
    const { ref, deleting, addresses, service } = claimant;
    if (deleting) return [`${ref.name} is deleted, and still there: ${this.#shown(ref)}`];
    if (service !== null && addresses.length === 0) return [`${ref.name} has no address: ${this.#shown(ref)}`];
    return addresses.flatMap((address) => {
      const isOthers = owners.get(address) !== ref.uid;
      if (service === null) return this.#wrongOfPool(ref, address, isOthers);
      return isOthers ? this.#wrongConflict(ref) : this.#wrongPlace(claimant, address, service);
    });
  }

  #wrongOfPool(ref: ObjectRef, address: Address, isOthers: boolean): readonly string[] {
    const { world, nodes } = this.#parts;
    const state = world.states(ref)[address];
    const expected = isOthers ? 'error' : 'active';
    if (state !== expected) return [`${ref.name} says ${state} of ${address}, not ${expected}`];
    const holder = this.#holderOf(address);
    return isOthers || (holder !== null && nodes.mayHold(holder)) ? [] : [`${address} of ${ref.name} is on ${holder}`];
  }

  #wrongConflict(ref: ObjectRef): readonly string[] {
    const reason = this.#parts.world.reasonOf(ref);
    return reason === 'AddressConflict' ? [] : [`${ref.name} says ${reason}, not AddressConflict`];
  }

  #wrongPlace({ ref }: Claimant, address: Address, service: string): readonly string[] {
    const { world, nodes, services } = this.#parts;
    const { state, assignedNode } = world.statusOf(ref);
    const holder = this.#holderOf(address);
    const isOpen = world.cluster.conditions(ref).some(({ type, status }) => type === 'FirewallReady' && status === 'True');
    const serves = state === 'Stable' && world.reasonOf(ref) === 'Assigned' && assignedNode === holder && isOpen;
    if (!serves || holder === null) return [`${address} of ${ref.name} is on ${holder}: ${this.#shown(ref)}`];
    return nodes.mayServe(holder) && services.isOn(service, holder) ? [] : [`${address} of ${ref.name} stays on ${holder}`];
  }

  #shown(ref: ObjectRef): string {
    const { world } = this.#parts;
    const { state, assignedNode, electedNode, error } = world.statusOf(ref);
    return `${state}, firewall ${world.reasonOf(ref, 'FirewallReady')}, assigned ${assignedNode}, elected ${electedNode}, ${world.reasonOf(ref)}, ${error ?? 'no error'}`;
  }

  #holderOf(address: Address): string | null {
    const { world } = this.#parts;
    return world.provider.cloud.addresses().some((each) => each.address === address) ? world.holderOf(address) : null;
  }

  /** Addresses that were made and are there, and of which nobody was ever told. */
  #unknown(): readonly string[] {
    const { cluster, provider } = this.#parts.world;
    const there = new Set(provider.cloud.addresses().map(({ address }) => address));
    const told = new Set(cluster.announced.flatMap(({ event }) => event.message.split(/[^0-9.]+/).map((word) => word.replace(/\.$/, ''))));
    return this.#made
      .filter((address) => there.has(address) && !this.#bound.has(address) && !told.has(address))
      .map((address) => `${address} was made, and nobody knows of it`);
  }

  #noteBound(): void {
    for (const ref of this.#parts.objects.refs()) {
      const bound = boundAddress(this.#parts.world.cluster.pool(ref)?.status);
      if (bound) this.#bound.add(bound);
    }
  }
}
