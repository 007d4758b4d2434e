import { ProviderError } from '../../actors/errors.ts';
import type { Clock, Firewall } from '../../actors/ports.ts';
import type { DNSRecord, DNSZone, Port, ProviderID } from '../../machines/types.ts';
import { type Duration, durationOf } from './random.ts';
import { MemoryZones } from './zones.ts';

export interface ServicesSettings {
  /** How long a firewall change stays pending. Default 0. */
  readonly firewallMs?: Duration;
  /** Needed only where a duration is a range. */
  readonly random?: () => number;
}

/** Whether a request had anything to change. */
export type CloudChange = 'changed' | 'unchanged';

interface CloudFirewall {
  readonly ports: Set<string>;
  readonly nodes: Set<ProviderID>;
  pendingUntil: number;
}

const notFound = (what: string): ProviderError => new ProviderError('NotFound', `${what}: not found`);

const portName = ({ port, protocol }: Port): string => `${protocol.toLowerCase()}/${port}`;

/** The part of a cloud account in memory that is firewalls and DNS. @throws ProviderError as a real one answers. */
export abstract class MemoryServices {
  readonly #clock: Clock;
  readonly #firewallMs: Duration;
  readonly #random: () => number;
  readonly #firewalls = new Map<string, CloudFirewall>();
  readonly #zones = new MemoryZones();

  constructor(clock: Clock, { firewallMs = 0, random = () => 0 }: ServicesSettings) {
    this.#clock = clock;
    this.#firewallMs = firewallMs;
    this.#random = random;
  }

  abstract hasNode(node: ProviderID): boolean;

  // ---- what the test sets up and looks at

  addFirewall(name: string, ports: readonly string[] = [], nodes: readonly ProviderID[] = []): void {
    this.#firewalls.set(name, { ports: new Set(ports), nodes: new Set(nodes), pendingUntil: 0 });
  }

  /** A zone by its name; where it has an id, it is found by that too. */
  addZone(zone: string, id: string = zone): void {
    this.#zones.add(zone, id);
  }

  /** A record by hand. Answers its id. */
  addRecord(zone: string, record: Omit<DNSRecord, 'id'>): string {
    return this.#zones.put(zone, record);
  }

  // ---- requests

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

  openPorts(firewall: string, ports: readonly Port[]): CloudChange {
    return this.#change(firewall, ({ ports: open }) => ports.forEach((port) => void open.add(portName(port))));
  }

  closePorts(firewall: string, ports: readonly Port[]): CloudChange {
    return this.#change(firewall, ({ ports: open }) => ports.forEach((port) => void open.delete(portName(port))));
  }

  coverNodes(firewall: string, nodes: readonly ProviderID[]): CloudChange {
    for (const node of nodes) if (!this.hasNode(node)) throw notFound(`firewall ${firewall}: node ${node}`);
    return this.#change(firewall, ({ nodes: covered }) => nodes.forEach((node) => void covered.add(node)));
  }

  uncoverNodes(firewall: string, nodes: readonly ProviderID[]): CloudChange {
    return this.#change(firewall, ({ nodes: covered }) => nodes.forEach((node) => void covered.delete(node)));
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

  #change(nameOrId: string, change: (firewall: CloudFirewall) => void): CloudChange {
    const firewall = this.#firewalls.get(nameOrId.replace(/^firewall-/, '')) ?? this.#firewalls.get(nameOrId);
    if (firewall === undefined) throw notFound(`firewall ${nameOrId}`);
    const before = sizeOf(firewall);
    change(firewall);
    // One call only adds or only removes, so the sizes tell.
    if (sizeOf(firewall) === before) return 'unchanged';
    firewall.pendingUntil = this.#clock.monotonic() + durationOf(this.#firewallMs, this.#random);
    return 'changed';
  }
}

const sizeOf = ({ ports, nodes }: CloudFirewall): number => ports.size + nodes.size;
