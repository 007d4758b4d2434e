import { portsOn } from '../../machines/firewall/policy.ts';
import { firewallOf } from '../../machines/model/actor-id.ts';
import type { FirewallPolicy } from '../../machines/model/firewall-policy.ts';
import type { ActorId, Address, NodeRef, ProviderID } from '../../machines/model/types.ts';
import type { World } from './world.ts';

/** An assignment that is under way. */
interface Assign {
  readonly node: NodeRef;
  /** As it was when the assignment began. */
  readonly policy: FirewallPolicy;
  /** Virtual ms. */
  readonly since: number;
  /** Its ports could not be opened on that node, or on two others: it is assigned before they are open. */
  readonly goesFirst: boolean;
}

const nameOf = (firewall: ActorId): string => firewallOf(firewall).name;

/** Whether all is open on a node when an address is sent there. */
export class FirewallAssigns {
  readonly #world: World;
  readonly #inForce: (firewall: string) => ReadonlySet<string>;
  /** By address. */
  readonly #assigning = new Map<ActorId, Assign>();
  /** By address: the firewall in which all was open when the last one began, and what that was. */
  readonly #opened = new Map<ActorId, { readonly firewall: ActorId | null; readonly ports: readonly string[] }>();
  /** By firewall and item: when somebody else took it out, virtual ms. */
  readonly #lostAt = new Map<string, number>();

  /** `inForce`: what is in a firewall, and was in it when no change was pending. */
  constructor(world: World, inForce: (firewall: string) => ReadonlySet<string>) {
    this.#world = world;
    this.#inForce = inForce;
  }

  /** `unopened`: the names of nodes on which it could not be opened. */
  begin(actor: ActorId, node: NodeRef, policy: FirewallPolicy, unopened: readonly string[]): void {
    const goesFirst = unopened.includes(node.name) || unopened.length > 1;
    this.#assigning.set(actor, { node, policy, since: this.#world.clock.monotonic(), goesFirst });
    if (!policy.postAllow) this.#opened.set(actor, { firewall: policy.firewall, ports: portsOn(policy, node.name) });
  }

  /** What was open for its last assignment of what it needs on the node; null for nothing. */
  openedFor(actor: ActorId, policy: FirewallPolicy, node: NodeRef | null): readonly string[] | null {
    const opened = this.#opened.get(actor);
    if (!opened || opened.firewall !== policy.firewall || node === null) return null;
    const ports = portsOn(policy, node.name).filter((port) => opened.ports.includes(port));
    return ports.length > 0 ? ports : null;
  }

  over(actor: ActorId): void {
    this.#assigning.delete(actor);
  }

  /** It is given up. */
  left(actor: ActorId): void {
    this.over(actor);
    this.#opened.delete(actor);
  }

  /** Somebody took it out. */
  lost(firewall: string, item: string): void {
    this.#lostAt.set(`${firewall} ${item}`, this.#world.clock.monotonic());
  }

  /** An assign that is on its way when somebody takes out what it needs was sent while all was open. */
  forget(isGone: (firewall: string, item: string) => boolean): void {
    for (const [actor, { node, policy }] of this.#assigning) {
      const firewall = policy.firewall && nameOf(policy.firewall);
      if (firewall && [...portsOn(policy, node.name), node.providerID].some((item) => isGone(firewall, item))) this.over(actor);
    }
  }

  /** An assign reaches the provider: what is missing for it, as text. */
  unopened(address: Address, node: ProviderID): readonly string[] {
    return [...this.#assigning].flatMap(([actor, { node: granted, policy, since, goesFirst }]) => {
      if (!actor.endsWith(`/ip/${address}`) || granted.providerID !== node || policy.firewall === null || policy.postAllow) return [];
      const firewall = nameOf(policy.firewall);
      const ports = portsOn(policy, granted.name);
      // Nobody can open anything on a machine on which no change is applied: how long that is waited for has tests of its own.
      if (ports.length === 0 || goesFirst || this.#world.provider.cloud.isFirewallStuck(node)) return [];
      const inForce = this.#inForce(firewall);
      // A firewall takes no machine that is gone, and no address comes there.
      const nodes = this.#world.provider.cloud.hasNode(node) ? [node] : [];
      const missing = [...ports, ...nodes].filter((item) => !inForce.has(item) && !this.#isUnseen(firewall, item, since));
      return missing.length > 0 ? [`${address} is assigned to ${granted.name}, and ${missing.join(', ')} is not open in ${firewall}`] : [];
    });
  }

  /** Somebody took it out, and nobody looked between that and the beginning of the assignment. */
  #isUnseen(firewall: string, item: string, since: number): boolean {
    const lostAt = this.#lostAt.get(`${firewall} ${item}`);
    if (lostAt === undefined) return false;
    return !this.#world.provider.calls.some(
      ({ verb, args, at, result }) =>
        verb === 'findRoutedIPFirewall' && args[0] === firewall && at > lostAt && at < since && result === 'ok',
    );
  }
}
