import { ProviderError } from '../../actors/ports/errors.ts';
import type { Firewall } from '../../actors/ports/provider.ts';
import type { Clock } from '../../actors/ports/records.ts';
import { portText } from '../../machines/model/port.ts';
import type { Port, ProviderID } from '../../machines/model/types.ts';
import { type Duration, durationOf } from './random.ts';

/** Limits of one firewall, as at a real provider. */
const MAX_RULES = 50;
const MAX_NODES = 10;

/** Content of a firewall that is not ours. */
export interface ForeignContent {
  /** Rules that `portText` cannot express: ranges, outbound ones. They count towards the limit. Default 0. */
  readonly otherRules?: number;
  /** Ports that a rule opens to everybody and also to named sources: open, but not ours to close. */
  readonly mixed?: readonly string[];
  /** Nodes included by a tag: covered, but cannot be added or removed here. */
  readonly tagged?: readonly ProviderID[];
}

interface CloudFirewall extends Required<Omit<ForeignContent, 'tagged'>> {
  readonly ports: Set<string>;
  readonly nodes: Set<ProviderID>;
  readonly tagged: Set<ProviderID>;
  pendingUntil: number;
}

/** Whether a request had anything to change. */
export type CloudChange = 'changed' | 'unchanged';

const idOf = (name: string): string => `firewall-${name}`;

/** The firewalls of a cloud account in memory. @throws ProviderError like a real provider. */
export class MemoryFirewalls {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #firewalls = new Map<string, CloudFirewall>();
  /** Machines on which no change is applied. */
  readonly #stuck = new Set<ProviderID>();
  #changeMs: Duration;

  constructor(clock: Clock, changeMs: Duration, random: () => number) {
    this.#clock = clock;
    this.#changeMs = changeMs;
    this.#random = random;
  }

  add(name: string, ports: readonly string[], nodes: readonly ProviderID[], foreign: ForeignContent): void {
    const { otherRules = 0, mixed = [], tagged = [] } = foreign;
    const sets = { ports: new Set(ports), nodes: new Set(nodes), tagged: new Set(tagged) };
    this.#firewalls.set(name, { ...sets, otherRules, mixed, pendingUntil: 0 });
  }

  /** Deleted by another client. */
  remove(name: string): void {
    this.#firewalls.delete(name);
  }

  /** From now on a change stays pending for this long. */
  setChangeMs(changeMs: Duration): void {
    this.#changeMs = changeMs;
  }

  /** From now on changes are not applied on the machine, or are applied again. */
  setStuck(node: ProviderID, stuck: boolean): void {
    if (stuck) this.#stuck.add(node);
    else this.#stuck.delete(node);
  }

  isStuck(node: ProviderID): boolean {
    return this.#stuck.has(node);
  }

  find(nameOrId: string): Firewall | null {
    const found = this.#named(nameOrId);
    if (found === null) return null;
    const [name, firewall] = found;
    const { ports, nodes, mixed, tagged, otherRules, pendingUntil } = firewall;
    const changes = this.#clock.monotonic() < pendingUntil;
    const pendingOn = [...nodes, ...tagged].filter((node) => this.#stuck.has(node));
    return {
      id: idOf(name),
      name,
      ports: [...new Set([...ports, ...mixed])].sort(),
      nodes: [...new Set([...nodes, ...tagged])].sort(),
      pending: changes || pendingOn.length > 0,
      ...(!changes && pendingOn.length > 0 && { pendingOn }),
      otherRules,
      freeRules: Math.max(0, MAX_RULES - rulesOf(firewall)),
    };
  }

  open(name: string, ports: readonly Port[]): CloudChange {
    const firewall = this.#existing(name);
    const missing = new Set(ports.map(portText).filter((port) => !firewall.ports.has(port) && !firewall.mixed.includes(port)));
    const present = rulesOf(firewall);
    if (missing.size > 0 && present + missing.size > MAX_RULES)
      throw refused(name, `it has ${present} rules and needs ${missing.size} more, and ${MAX_RULES} are allowed`);
    return this.#changed(firewall, missing, (port) => firewall.ports.add(port));
  }

  close(name: string, ports: readonly Port[]): CloudChange {
    const firewall = this.#existing(name);
    const present = new Set(ports.map(portText).filter((port) => firewall.ports.has(port)));
    if (present.size > 0 && present.size === rulesOf(firewall)) throw refused(name, 'its last rule stays');
    return this.#changed(firewall, present, (port) => firewall.ports.delete(port));
  }

  /** @param exists whether the account has the node */
  cover(name: string, nodes: readonly ProviderID[], exists: (node: ProviderID) => boolean): CloudChange {
    const firewall = this.#existing(name);
    const missing = new Set(nodes.filter((node) => !firewall.nodes.has(node) && !firewall.tagged.has(node)));
    const gone = [...missing].filter((node) => !exists(node));
    if (gone.length > 0) throw new ProviderError('Unavailable', `firewall ${name}: ${gone.join(', ')} does not exist any more`);
    const present = firewall.nodes.size;
    if (missing.size > 0 && present + missing.size > MAX_NODES)
      throw refused(name, `it has ${present} nodes and needs ${missing.size} more, and ${MAX_NODES} are allowed`);
    return this.#changed(firewall, missing, (node) => firewall.nodes.add(node));
  }

  uncover(name: string, nodes: readonly ProviderID[]): CloudChange {
    const firewall = this.#existing(name);
    const present = new Set(nodes.filter((node) => firewall.nodes.has(node)));
    return this.#changed(firewall, present, (node) => firewall.nodes.delete(node));
  }

  /** A machine that is gone is in no firewall. */
  forget(node: ProviderID): void {
    for (const { nodes, tagged } of this.#firewalls.values()) {
      nodes.delete(node);
      tagged.delete(node);
    }
  }

  #changed<T>(firewall: CloudFirewall, items: ReadonlySet<T>, change: (item: T) => void): CloudChange {
    if (items.size === 0) return 'unchanged';
    for (const item of items) change(item);
    firewall.pendingUntil = this.#clock.monotonic() + durationOf(this.#changeMs, this.#random);
    return 'changed';
  }

  #named(nameOrId: string): readonly [string, CloudFirewall] | null {
    return [...this.#firewalls].find(([name]) => name === nameOrId || idOf(name) === nameOrId) ?? null;
  }

  #existing(nameOrId: string): CloudFirewall {
    const found = this.#named(nameOrId);
    if (found === null) throw new ProviderError('NotFound', `firewall ${nameOrId}: not found`);
    return found[1];
  }
}

const rulesOf = ({ ports, mixed, otherRules }: CloudFirewall): number => ports.size + mixed.length + otherRules;

const refused = (name: string, why: string): ProviderError => new ProviderError('Invalid', `firewall ${name}: ${why}`);
