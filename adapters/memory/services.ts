import type { Firewall } from '../../actors/ports/provider.ts';
import type { Clock } from '../../actors/ports/records.ts';
import type { DNSRecord, DNSZone, Port, ProviderID } from '../../machines/model/types.ts';
import { type CloudChange, type ForeignContent, MemoryFirewalls } from './firewalls.ts';
import type { Duration } from './random.ts';
import { MemoryZones } from './zones.ts';

export interface ServicesSettings {
  /** How long a firewall change stays pending. Default 0. */
  readonly firewallMs?: Duration;
  /** Needed only where a duration is a range. */
  readonly random?: () => number;
}

/** The firewalls and DNS zones of a cloud account in memory. @throws ProviderError like a real provider. */
export abstract class MemoryServices {
  readonly #firewalls: MemoryFirewalls;
  readonly #zones = new MemoryZones();

  constructor(clock: Clock, { firewallMs = 0, random = () => 0 }: ServicesSettings) {
    this.#firewalls = new MemoryFirewalls(clock, firewallMs, random);
  }

  abstract hasNode(node: ProviderID): boolean;

  // ---- what the test sets up and looks at

  addFirewall(name: string, ports: readonly string[] = [], nodes: readonly ProviderID[] = [], foreign: ForeignContent = {}): void {
    this.#firewalls.add(name, ports, nodes, foreign);
  }

  /** A firewall is deleted by another client. */
  removeFirewall(name: string): void {
    this.#firewalls.remove(name);
  }

  /** From now on a firewall change stays pending for this long. */
  setFirewallMs(firewallMs: Duration): void {
    this.#firewalls.setChangeMs(firewallMs);
  }

  /** From now on firewall changes are not applied on the machine, or are applied again. */
  setFirewallStuck(node: ProviderID, stuck: boolean): void {
    this.#firewalls.setStuck(node, stuck);
  }

  isFirewallStuck(node: ProviderID): boolean {
    return this.#firewalls.isStuck(node);
  }

  /** A zone by its name; where it has an id, it is found by that too. */
  addZone(zone: string, id: string = zone): void {
    this.#zones.add(zone, id);
  }

  /** Adds a record manually. Returns its id. */
  addRecord(zone: string, record: Omit<DNSRecord, 'id'>): string {
    return this.#zones.put(zone, record);
  }

  // ---- requests

  findFirewall(name: string): Firewall | null {
    return this.#firewalls.find(name);
  }

  openPorts(firewall: string, ports: readonly Port[]): CloudChange {
    return this.#firewalls.open(firewall, ports);
  }

  closePorts(firewall: string, ports: readonly Port[]): CloudChange {
    return this.#firewalls.close(firewall, ports);
  }

  coverNodes(firewall: string, nodes: readonly ProviderID[]): CloudChange {
    return this.#firewalls.cover(firewall, nodes, (node) => this.hasNode(node));
  }

  uncoverNodes(firewall: string, nodes: readonly ProviderID[]): CloudChange {
    return this.#firewalls.uncover(firewall, nodes);
  }

  /** A machine that is gone is in no firewall. */
  protected leaveFirewalls(node: ProviderID): void {
    this.#firewalls.forget(node);
  }

  zone(nameOrId: string): DNSZone {
    return this.#zones.zone(nameOrId);
  }

  createRecord(zone: string, record: Omit<DNSRecord, 'id'>): void {
    this.#zones.create(zone, record);
  }

  updateRecord(zone: string, record: DNSRecord): void {
    this.#zones.update(zone, record);
  }

  deleteRecord(zone: string, id: string): void {
    this.#zones.delete(zone, id);
  }
}
