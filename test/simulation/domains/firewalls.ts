import fc from 'fast-check';
import type { Firewall } from '../../../actors/ports/provider.ts';
import { parsePort, portText } from '../../../machines/model/port.ts';
import type { ProviderID } from '../../../machines/model/types.ts';
import type { RoutedRules } from '../../support/routed-rules.ts';
import { providerIDOf } from '../../support/world.ts';
import { type Domain, index, of, type Played, type Stage } from '../domain.ts';
import { FIREWALLS, nodeName } from '../history.ts';

/** What others do to firewalls. `fewRules`: it takes one rule more. `closeRule`, `takeNode`: they take out what the operator put in.
 *  `hangs`, `applies`: no change is applied on the machine of a node, and all are again. */
export type FirewallHappening =
  | { readonly kind: OfAll; readonly firewall: number }
  | { readonly kind: 'addRule' | 'removeRule'; readonly firewall: number; readonly port: number }
  | { readonly kind: 'closeRule' | 'takeNode'; readonly firewall: number; readonly item: number }
  | { readonly kind: 'hangs'; readonly node: number }
  | { readonly kind: 'applies' };

type OfAll = 'firewallGoes' | 'firewallComes' | 'fillRules' | 'fewRules' | 'fillNodes' | 'makeRoom';

/** Rules that somebody else adds: some are what a Service needs as well. */
const RULES = [
  { port: 22, protocol: 'TCP' },
  { port: 8443, protocol: 'TCP' },
  { port: 9_080, protocol: 'TCP' },
] as const;

const MOST_RULES = 50;
const MOST_NODES = 10;
/** Machines that are none of ours. */
const OTHERS = Array.from({ length: MOST_NODES }, (_, index) => providerIDOf(`other-${index}`));
/** What is in every firewall, and stays. */
const FIRST = 'tcp/22';

/** Firewalls, and what others do to them. */
class PlayedFirewalls implements Played<FirewallHappening> {
  readonly #stage: Stage;
  readonly #rules: RoutedRules;
  /** By firewall: rules that others added. */
  readonly #foreign = new Map<string, Set<string>>();
  readonly #otherRules = new Map<string, number>();
  /** Those that are gone, as they were. */
  readonly #gone = new Map<string, Firewall>();

  /** Machines on which no change is applied. */
  readonly #hanging = new Set<ProviderID>();

  constructor(stage: Stage, rules: RoutedRules) {
    this.#stage = stage;
    this.#rules = rules;
    const { world } = stage;
    world.provider.cloud.addNode(...OTHERS);
    for (const name of FIREWALLS) {
      world.provider.cloud.addFirewall(name, [FIRST]);
      this.#foreign.set(name, new Set([FIRST]));
    }
  }

  act(what: FirewallHappening): void {
    if (what.kind === 'hangs') this.#hangs(this.#stage.nodes.machineOf(nodeName(what.node)));
    else if (what.kind === 'applies') this.#apply();
    else this.#change(what);
  }

  #change(what: Exclude<FirewallHappening, { readonly kind: 'hangs' | 'applies' }>): void {
    const name = FIREWALLS[what.firewall] ?? '';
    if (what.kind === 'addRule' || what.kind === 'removeRule') {
      const rule = RULES[what.port];
      if (rule) this.#byHand(name, portText(rule), what.kind);
    } else if (what.kind === 'closeRule' || what.kind === 'takeNode') this.#takeOut(name, what);
    else this.#whole(name, what.kind);
  }

  /** All are there, with room, and changes are applied on all machines. */
  mend(): void {
    this.#apply();
    for (const name of FIREWALLS) {
      this.#whole(name, 'firewallComes');
      this.#whole(name, 'makeRoom');
    }
  }

  /** What others had put there and is not there any more. */
  wrongs(): readonly string[] {
    return FIREWALLS.flatMap((name) => {
      const there = this.#stage.world.provider.cloud.findFirewall(name)?.ports ?? [];
      return [...(this.#foreign.get(name) ?? [])].filter((port) => !there.includes(port)).map((port) => `${port} is gone from ${name}`);
    });
  }

  #hangs(machine: ProviderID): void {
    this.#hanging.add(machine);
    this.#stage.world.provider.cloud.setFirewallStuck(machine, true);
  }

  #apply(): void {
    for (const machine of this.#hanging) this.#stage.world.provider.cloud.setFirewallStuck(machine, false);
    this.#hanging.clear();
  }

  #whole(name: string, kind: OfAll): void {
    const { cloud } = this.#stage.world.provider;
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
    if (kind === 'fewRules') this.#otherRules.set(name, Math.max(0, MOST_RULES - 1 - there.ports.length));
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
  #takeOut(name: string, what: Extract<FirewallHappening, { readonly kind: 'closeRule' | 'takeNode' }>): void {
    const { provider } = this.#stage.world;
    const there = provider.cloud.findFirewall(name);
    if (!there) return;
    const foreign = this.#foreign.get(name) ?? new Set();
    const ports = there.ports.filter((port) => !foreign.has(port));
    const nodes = there.nodes.filter((node) => !OTHERS.includes(node));
    this.#rules.firewalls.byHand(() => {
      const port = ports[what.item % ports.length];
      const node = nodes[what.item % nodes.length];
      if (what.kind === 'closeRule' && port) provider.cloud.closePorts(name, [parsePort(port)]);
      if (what.kind === 'takeNode' && node) provider.cloud.uncoverNodes(name, [node]);
    });
  }

  #put({ name, ports }: Pick<Firewall, 'name' | 'ports'>, nodes: Firewall['nodes']): void {
    this.#stage.world.provider.cloud.addFirewall(name, ports, nodes, { otherRules: this.#otherRules.get(name) ?? 0 });
  }

  #byHand(name: string, port: string, kind: 'addRule' | 'removeRule'): void {
    const { provider } = this.#stage.world;
    const there = provider.cloud.findFirewall(name);
    const foreign = this.#foreign.get(name) ?? new Set();
    if (!there) return;
    if (kind === 'removeRule' && port !== FIRST && foreign.has(port)) {
      this.#rules.firewalls.byHand(() => provider.cloud.closePorts(name, [parsePort(port)]));
      foreign.delete(port);
    }
    const isFull = there.ports.length + (this.#otherRules.get(name) ?? 0) >= MOST_RULES;
    if (kind === 'addRule' && !isFull && !there.ports.includes(port) && !this.#rules.firewalls.isOwn(name, port)) {
      this.#rules.firewalls.byHand(() => provider.cloud.openPorts(name, [parsePort(port)]));
      foreign.add(port);
    }
  }
}

const firewall = index(FIREWALLS.length);

export const FIREWALLS_DOMAIN: Domain<FirewallHappening> = {
  sorts: [
    {
      weight: 3,
      arbitrary: fc.record({
        kind: of('firewallGoes', 'firewallComes', 'fillRules', 'fewRules', 'fillNodes', 'makeRoom', 'makeRoom'),
        firewall,
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: of('addRule', 'addRule', 'removeRule'), firewall, port: index(RULES.length) }) },
    { weight: 1, arbitrary: fc.oneof(fc.record({ kind: of('hangs'), node: index(4) }), fc.record({ kind: of('applies') })) },
    { weight: 2, arbitrary: fc.record({ kind: of('closeRule', 'takeNode'), firewall: fc.constantFrom(0, 0, 1, 2, 3), item: index(4) }) },
  ],
  open: (stage) => {
    const { routedRules } = stage.world;
    if (!routedRules) throw new Error('there are no RoutedIPs here');
    return new PlayedFirewalls(stage, routedRules);
  },
};
