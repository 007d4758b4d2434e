import { isDeepStrictEqual } from 'node:util';
import { ProviderError } from '../../actors/errors.ts';
import type { Clock, DNSRecordSet, Firewall } from '../../actors/ports.ts';
import type { Address, Port, ProviderID } from '../../machines/types.ts';
import { type Duration, durationOf } from './random.ts';

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
  readonly #zones = new Set<string>();
  readonly #records = new Map<string, DNSRecordSet>();

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

  addZone(zone: string): void {
    this.#zones.add(zone);
  }

  /** A record by hand; its record set has this TTL now. */
  addRecord(zone: string, recordName: string, address: Address, ttlSeconds: number): void {
    const name = `${recordName}.${zone}`;
    const addresses = [...(this.#records.get(name)?.addresses ?? []), address].sort();
    this.#records.set(name, { zone, recordName, ttlSeconds, addresses });
  }

  records(): readonly DNSRecordSet[] {
    return [...this.#records.values()];
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

  setRecords(set: DNSRecordSet): CloudChange {
    const name = `${set.recordName}.${set.zone}`;
    if (set.addresses.length === 0) throw new ProviderError('Invalid', `records of ${name}: a record set is never empty`);
    if (!this.#zones.has(set.zone)) throw notFound(`zone ${set.zone}`);
    const wanted = { ...set, addresses: [...set.addresses].sort() };
    if (isDeepStrictEqual(this.#records.get(name), wanted)) return 'unchanged';
    this.#records.set(name, wanted);
    return 'changed';
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
