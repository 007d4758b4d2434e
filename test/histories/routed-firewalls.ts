import type { Firewall } from '../../actors/ports/provider.ts';
import type { FirewallContext } from '../../machines/firewall.ts';
import type { ObjectRef } from '../../machines/jobs.ts';
import { parsePort, portText } from '../../machines/port.ts';
import { ownedRules } from '../../machines/rebuild-routed-ip.ts';
import type { RoutedWorld } from '../actors/routed-world.ts';
import { providerIDOf } from '../support/world.ts';
import { FIREWALLS, type RoutedHappening, RULES } from './routed-steps.ts';

type Act = Extract<RoutedHappening, { readonly firewall: number }>;

const MOST_RULES = 50;
const MOST_NODES = 10;
/** Machines that are none of ours. */
const OTHERS = Array.from({ length: MOST_NODES }, (_, index) => providerIDOf(`other-${index}`));
/** What is in every firewall, and stays. */
const FIRST = 'tcp/22';

/** Firewalls, and what others do to them. */
export class RoutedFirewalls {
  readonly #world: RoutedWorld;
  readonly #refs: () => readonly ObjectRef[];
  /** By firewall: rules that others added. */
  readonly #foreign = new Map<string, Set<string>>();
  readonly #otherRules = new Map<string, number>();
  /** Those that are gone, as they were. */
  readonly #gone = new Map<string, Firewall>();

  constructor(world: RoutedWorld, refs: () => readonly ObjectRef[]) {
    this.#world = world;
    this.#refs = refs;
    world.provider.cloud.addNode(...OTHERS);
    for (const name of FIREWALLS) {
      world.provider.cloud.addFirewall(name, [FIRST]);
      this.#foreign.set(name, new Set([FIRST]));
    }
  }

  act(what: Act): void {
    const name = FIREWALLS[what.firewall] ?? '';
    if (what.kind === 'addRule' || what.kind === 'removeRule') {
      const rule = RULES[what.port];
      if (rule) this.#byHand(name, portText(rule), what.kind);
    } else if (what.kind === 'closeRule' || what.kind === 'takeNode') this.#takeOut(name, what);
    else this.#whole(name, what.kind);
  }

  /** All are there, with room. */
  mend(): void {
    for (const name of FIREWALLS) {
      this.#whole(name, 'firewallComes');
      this.#whole(name, 'makeRoom');
    }
  }

  /** What others had put there and is not there any more. */
  wrongs(): readonly string[] {
    return FIREWALLS.flatMap((name) => {
      const there = this.#world.provider.cloud.findFirewall(name)?.ports ?? [];
      return [...(this.#foreign.get(name) ?? [])].filter((port) => !there.includes(port)).map((port) => `${port} is gone from ${name}`);
    });
  }

  #whole(name: string, kind: 'firewallGoes' | 'firewallComes' | 'fillRules' | 'fillNodes' | 'makeRoom'): void {
    const { cloud } = this.#world.provider;
    const there = cloud.findFirewall(name);
    if (kind === 'firewallComes') {
      const former = this.#gone.get(name);
      this.#gone.delete(name);
      if (former && !there) this.#restore(former);
      return;
    }
    if (!there) return;
    if (kind === 'firewallGoes') {
      this.#gone.set(name, there);
      cloud.removeFirewall(name);
      return;
    }
    const own = there.nodes.filter((node) => !OTHERS.includes(node));
    if (kind === 'fillRules') this.#otherRules.set(name, MOST_RULES - there.ports.length);
    if (kind === 'makeRoom') this.#otherRules.set(name, 0);
    this.#put(
      there,
      kind === 'fillNodes' ? [...own, ...OTHERS].slice(0, Math.max(MOST_NODES, own.length)) : kind === 'makeRoom' ? own : there.nodes,
    );
  }

  /** Somebody makes it again, with what is his. */
  #restore({ name, ports, nodes }: Firewall): void {
    const foreign = this.#foreign.get(name) ?? new Set();
    this.#put(
      { name, ports: ports.filter((port) => foreign.has(port)) },
      nodes.filter((node) => OTHERS.includes(node)),
    );
  }

  /** Somebody takes out what the operator put in. */
  #takeOut(name: string, what: Extract<Act, { readonly kind: 'closeRule' | 'takeNode' }>): void {
    const { rules, provider } = this.#world;
    const there = provider.cloud.findFirewall(name);
    if (!there) return;
    const foreign = this.#foreign.get(name) ?? new Set();
    const ports = there.ports.filter((port) => !foreign.has(port));
    const nodes = there.nodes.filter((node) => !OTHERS.includes(node));
    rules.firewalls.byHand(() => {
      const port = ports[what.item % ports.length];
      const node = nodes[what.item % nodes.length];
      if (what.kind === 'closeRule' && port) provider.cloud.closePorts(name, [parsePort(port)]);
      if (what.kind === 'takeNode' && node) provider.cloud.uncoverNodes(name, [node]);
    });
  }

  #put({ name, ports }: Pick<Firewall, 'name' | 'ports'>, nodes: Firewall['nodes']): void {
    this.#world.provider.cloud.addFirewall(name, ports, nodes, { otherRules: this.#otherRules.get(name) ?? 0 });
  }

  #byHand(name: string, port: string, kind: 'addRule' | 'removeRule'): void {
    const { rules, provider } = this.#world;
    const there = provider.cloud.findFirewall(name);
    const foreign = this.#foreign.get(name) ?? new Set();
    if (!there) return;
    if (kind === 'removeRule' && port !== FIRST && foreign.has(port)) {
      rules.firewalls.byHand(() => provider.cloud.closePorts(name, [parsePort(port)]));
      foreign.delete(port);
    }
    // Where the operator counts it as its own, nobody can tell that it is not.
    const isFull = there.ports.length + (this.#otherRules.get(name) ?? 0) >= MOST_RULES;
    if (kind === 'addRule' && !isFull && !there.ports.includes(port) && !this.#isClaimed(name, port)) {
      rules.firewalls.byHand(() => provider.cloud.openPorts(name, [parsePort(port)]));
      foreign.add(port);
    }
  }

  #isClaimed(name: string, port: string): boolean {
    const records = [...this.#world.invariants.records].flatMap(([actor, { chart, snapshot }]) =>
      chart === 'firewall' && actor.endsWith(`/${name}`) ? (snapshot.context as unknown as FirewallContext).owned.ports : [],
    );
    const shown = this.#refs().flatMap((ref) => ownedRules(this.#world.statusOf(ref)));
    return [...records, ...shown.filter(({ firewall }) => firewall.endsWith(`/${name}`)).flatMap(({ owned }) => owned.ports)].includes(
      port,
    );
  }
}
