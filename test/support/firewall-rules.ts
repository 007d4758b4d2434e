import type { SavedTurn, Transition } from '../../actors/ports/observers.ts';
import type { ActorRecord } from '../../actors/ports/records.ts';
import type { AddressContext } from '../../machines/address/context.ts';
import { portsOn } from '../../machines/firewall/policy.ts';
import { cellOf } from '../../machines/model/actor-id.ts';
import type { FirewallPolicy } from '../../machines/model/firewall-policy.ts';
import { portText } from '../../machines/model/port.ts';
import type { ActorId, ProviderID } from '../../machines/model/types.ts';
import { FirewallAssigns } from './firewall-assigns.ts';
import { FirewallClaimed } from './firewall-claimed.ts';
import { FirewallKnown } from './firewall-known.ts';
import { FirewallPairs } from './firewall-pairs.ts';
import type { FirewallRule } from './firewall-rule.ts';
import {
  cellsLeaving,
  contextOf,
  isAllOpen,
  isRouted,
  isUnderWayForGone,
  nameOf,
  openFor,
  type Served,
  stateOf,
} from './firewall-served.ts';
import { wrongShares } from './firewall-shares.ts';
import { FirewallTold } from './firewall-told.ts';
import type { World } from './world.ts';

/** What all actors remember. */
export type Records = ReadonlyMap<ActorId, ActorRecord>;

/** A port or a node of a firewall, as text. */
type Item = string;

/** Looks at every change of a firewall that reaches the provider, and at every turn. What the operator believes to be its own it does not read: it saw who
 *  added what. */
export class FirewallRules {
  readonly violations: { readonly rule: FirewallRule; readonly at: number; readonly text: string }[] = [];
  readonly #world: World;
  /** By firewall: what the operator added, and nobody has removed since. */
  readonly #added = new Map<string, Set<Item>>();
  /** By firewall: what is in it, and was in it when no change was pending. */
  readonly #inForce = new Map<string, ReadonlySet<Item>>();
  /** By address: what is open where it serves. Outlives the records: what is promised to users does, too. */
  readonly #served = new Map<ActorId, Served>();
  /** Addresses for which the order was changed, until they have come to rest: what is under way then goes on in the order in which it was begun. */
  readonly #reordered = new Set<ActorId>();
  /** Addresses that moved with what was open before, until all that they ask for is. */
  readonly #short = new Set<ActorId>();
  readonly #assigns: FirewallAssigns;
  readonly #pairs: FirewallPairs;
  /** The last term in which anything was decided. */
  #term = 0;
  #isByHand = false;
  /** By firewall: what the operator added and need not know of any more. */
  readonly #unknown = new Map<string, Set<Item>>();
  readonly #known: FirewallKnown;
  readonly #claimed: FirewallClaimed;
  readonly #told: FirewallTold;

  /** `statuses`: of the RoutedIPs that are there. */
  constructor(world: World, statuses: () => Iterable<readonly [ActorId, unknown]>) {
    this.#world = world;
    this.#known = new FirewallKnown(world, statuses);
    this.#claimed = new FirewallClaimed(world, this.#known);
    this.#told = new FirewallTold(world);
    this.#pairs = new FirewallPairs(world);
    const { invariants } = world;
    const { turnSaved, forget } = invariants;
    invariants.turnSaved = (turn) => {
      turnSaved.call(invariants, turn);
      this.#look(turn);
    };
    invariants.forget = () => {
      this.#told.forget();
      forget.call(invariants);
      this.#known.lose();
      this.#forgetBut((firewall) => this.#known.shownIn(firewall));
    };
    this.#assigns = new FirewallAssigns(world, (firewall) => this.#inForce.get(firewall) ?? this.#presentIn(firewall));
    this.#watchCloud();
  }

  /** What was added to the firewall before all that told of it was lost. */
  unknownIn(firewall: string): readonly Item[] {
    return [...(this.#unknown.get(firewall) ?? [])].filter((item) => this.#has(firewall, item)).sort();
  }

  /** The operator takes it for its own: nobody could tell that somebody else has added it. */
  isOwn(firewall: string, item: Item): boolean {
    return this.#known.isOwn(firewall, item);
  }

  /** What a person does to a firewall is not the operator's doing. */
  byHand(run: () => void): void {
    this.#isByHand = true;
    run();
    this.#isByHand = false;
    this.#noteLost();
  }

  /** A RoutedIP is gone, and all that was done for it should be undone. */
  gone(cell: ActorId): void {
    for (const actor of [...this.#served.keys()]) if (actor.startsWith(`${cell}/`)) this.#served.delete(actor);
    for (const firewall of this.#added.keys()) {
      // What others are about to leave is removed with what they leave: one job at a time changes a firewall, and theirs may be the next.
      if (this.#told.isAwaited(firewall, cell)) continue;
      const needed = this.#neededByOthers(firewall, cell);
      const own = this.#claimed.by(cell, firewall);
      const left = this.#leftIn(firewall).filter((item) => own.has(item) && !needed.has(item) && this.#known.isKnownNow(firewall, item));
      if (left.length > 0) this.#note('leaves nothing open behind', `${cell} is gone, and ${left.join(', ')} is left in ${firewall}`);
    }
  }

  /** Somebody let a RoutedIP go at once: what was open for it nobody promises anything of, and its status tells nobody any more. */
  forced(cell: ActorId): void {
    this.#known.lose();
    this.#forgetBut((firewall) => [...this.#known.shownIn(firewall), ...this.#known.storedIn(firewall)]);
    this.#claimed.forget(cell);
    for (const actor of [...this.#served.keys()]) if (actor.startsWith(`${cell}/`)) this.#served.delete(actor);
  }

  /** What is not as it must be when nothing is under way. */
  wrongs(records: Records = this.#world.invariants.records): readonly string[] {
    const wanted = new Map<string, Set<Item>>([...this.#added.keys()].map((firewall) => [firewall, new Set()]));
    for (const [actor, record] of records) {
      const opens = isRouted(actor, record) ? openFor(contextOf(record)) : null;
      if (!opens) continue;
      const items = wanted.get(opens.firewall) ?? new Set();
      wanted.set(opens.firewall, items);
      for (const item of [...opens.ports, opens.node.providerID]) items.add(item);
    }
    return [...wanted].flatMap(([firewall, items]) => {
      const missing = [...items].filter((item) => !this.#has(firewall, item)).map((item) => `${item} is not open in ${firewall}`);
      const left = this.#leftIn(firewall).flatMap((item) => (items.has(item) ? [] : [`${item} is left in ${firewall}`]));
      return [...missing, ...left];
    });
  }

  /** What the operator added, is there, and has to be removed once nobody needs it. */
  #leftIn(firewall: string): readonly Item[] {
    const isKnown = (item: Item): boolean => this.#has(firewall, item) && !this.#unknown.get(firewall)?.has(item);
    return [...(this.#added.get(firewall) ?? [])].filter((item) => isKnown(item) && !this.#isLastRule(firewall, item));
  }

  // ---------------------------------------------------------------- turns

  #look({ transitions, term }: SavedTurn): void {
    if (term > this.#term) {
      this.#term = term;
      this.#pairs.begin();
    }
    this.#noteForce();
    this.#claimed.noteRebuild();
    for (const transition of transitions)
      if (transition.chart === 'firewall') this.#lookAtFirewall(transition);
      else if (transition.chart === 'ip' && transition.actor.startsWith('rip/')) this.#lookAt(transition);
  }

  #lookAtFirewall(transition: Transition): void {
    const { actor, after } = transition;
    this.#told.told(actor);
    this.#pairs.look(transition);
    if (after) this.#claimed.note(actor, after);
    for (const text of wrongShares(transition)) this.#note('leaves the last rules to namespaces that have few', `${actor}: ${text}`);
  }

  #lookAt({ actor, before, after }: Transition): void {
    // One that is given up in the same moment is on its way, too.
    const isReordered = before && after && contextOf(before).policy.postAllow !== contextOf(after).policy.postAllow;
    if (isReordered) this.#reordered.add(actor);
    else if (!after || stateOf(after).includes('Stable')) this.#reordered.delete(actor);
    if (!after || contextOf(after).retiring !== null) {
      this.#served.delete(actor);
      this.#assigns.left(actor);
      return;
    }
    const context = contextOf(after);
    const state = stateOf(after);
    if (state !== '"Assigning"') this.#assigns.over(actor);
    else if (context.elected && (!before || stateOf(before) !== '"Assigning"'))
      this.#assigns.begin(actor, context.elected, this.#promised(actor, context), context.unopened ?? []);
    this.#noteServed(actor, context, state);
  }

  #promised(actor: ActorId, context: AddressContext): FirewallPolicy {
    const { policy, failure, elected } = context;
    // What it was refused before it wanted other ports does not count once these are open.
    if (failure?.reason !== 'FirewallLimit' || isAllOpen(context)) return policy;
    const ports = this.#served.get(actor)?.ports ?? this.#assigns.openedFor(actor, policy, elected);
    if (!ports) return policy;
    this.#short.add(actor);
    return { ...policy, ports, portsOn: {} };
  }

  #noteServed(actor: ActorId, context: AddressContext, state: string): void {
    const { policy, assigned, holder } = context;
    const former = this.#served.get(actor);
    // It is confirmed, or was found, elsewhere: what was open where it was is needed no more.
    const at = assigned?.providerID ?? holder;
    const hasMoved = former && at !== null && at !== former.node.providerID;
    // Its class wants nothing open any more where it was, whatever becomes of the address.
    const wantsNothing = former && (policy.firewall === null || portsOn(policy, former.node.name).length === 0);
    if (hasMoved || wantsNothing) this.#served.delete(actor);
    // Only then is everything open where it is confirmed.
    if (state !== '"Pruning"' && !state.includes('Stable')) return;
    const opens = openFor(context);
    if (state.includes('Stable')) this.#short.delete(actor);
    const isOpen = (port: Item): boolean => !this.#short.has(actor) || former?.ports.includes(port) === true;
    if (opens) this.#served.set(actor, { ...opens, ports: opens.ports.filter(isOpen) });
    else this.#served.delete(actor);
  }

  /** What nothing tells of any more nobody has to remove. */
  #forgetBut(tellsOf: (firewall: string) => readonly Item[]): void {
    for (const [firewall, added] of this.#added) {
      const told = tellsOf(firewall);
      const lost = [...added].filter((item) => !told.includes(item) && this.#has(firewall, item));
      this.#unknown.set(firewall, new Set([...(this.#unknown.get(firewall) ?? []), ...lost]));
    }
  }

  #noteForce(): void {
    for (const firewall of this.#added.keys()) {
      const found = this.#world.provider.cloud.findFirewall(firewall);
      const present = [...(found?.ports ?? []), ...(found?.nodes ?? [])];
      const former = this.#inForce.get(firewall);
      const isApplied = (item: Item): boolean =>
        !(found?.pendingOn?.includes(item as ProviderID) ?? found?.pending) || former?.has(item) === true;
      this.#inForce.set(firewall, new Set(present.filter(isApplied)));
    }
  }

  // ---------------------------------------------------------------- what reaches the provider

  #watchCloud(): void {
    const { cloud } = this.#world.provider;
    const { openPorts, coverNodes, closePorts, uncoverNodes, assign } = cloud;
    cloud.openPorts = (name, ports) => this.#adds(name, ports.map(portText), () => openPorts.call(cloud, name, ports));
    cloud.coverNodes = (name, nodes) => {
      for (const node of nodes) this.#checkTime(name, node);
      return this.#adds(name, nodes, () => coverNodes.call(cloud, name, nodes));
    };
    cloud.closePorts = (name, ports) => this.#removes(name, ports.map(portText), () => closePorts.call(cloud, name, ports));
    cloud.uncoverNodes = (name, nodes) => this.#removes(name, nodes, () => uncoverNodes.call(cloud, name, nodes));
    const { removeFirewall, removeNode } = cloud;
    cloud.removeFirewall = (name) => {
      removeFirewall.call(cloud, name);
      this.#noteLost();
    };
    cloud.removeNode = (node) => {
      removeNode.call(cloud, node);
      this.#noteLost();
    };
    cloud.assign = (address, node) => {
      this.#noteForce();
      for (const text of this.#assigns.unopened(address, node)) this.#note('opens before it assigns', text);
      return assign.call(cloud, address, node);
    };
  }

  /** What somebody took out, and what went with its firewall or its machine, is not gone by the operator's doing. An assign that is on its way by then was sent
   *  while all was open. */
  #noteLost(): void {
    for (const [firewall, added] of this.#added) {
      for (const item of [...added].filter((each) => !this.#has(firewall, each))) {
        added.delete(item);
        this.#assigns.lost(firewall, item);
      }
    }
    this.#assigns.forget((firewall, item) => !this.#has(firewall, item));
  }

  #adds<T>(firewall: string, items: readonly Item[], arrive: () => T): T {
    // From here on a change is pending, maybe after a while in which none was.
    this.#noteForce();
    if (this.#isByHand) return arrive();
    this.#checkPair(firewall);
    const missing = items.filter((item) => !this.#has(firewall, item));
    const answer = arrive();
    const added = this.#added.get(firewall) ?? new Set();
    this.#added.set(firewall, added);
    const unknown = this.#unknown.get(firewall) ?? new Set();
    this.#unknown.set(firewall, unknown);
    const isLedTwice = this.#known.isLedTwice();
    const isSure = this.#known.knowsCall(firewall);
    const shown = this.#known.shownIn(firewall);
    for (const item of missing) {
      added.add(item);
      if (!isLedTwice && (isSure || shown.includes(item))) unknown.delete(item);
      else unknown.add(item);
    }
    this.#noteForce();
    return answer;
  }

  #removes<T>(firewall: string, items: readonly Item[], arrive: () => T): T {
    this.#noteForce();
    if (this.#isByHand) return arrive();
    this.#checkPair(firewall);
    const present = items.filter((item) => this.#has(firewall, item));
    const added = this.#added.get(firewall) ?? new Set();
    // What was under way when all records were lost goes on.
    const unknown = this.#unknown.get(firewall);
    const foreign = this.#isExclusive(firewall) ? [] : present.filter((item) => !added.has(item) && !unknown?.has(item));
    if (foreign.length > 0) this.#note('removes only what it added', `${foreign.join(', ')} of ${firewall} was there before`);
    for (const [actor, served] of this.#served) {
      if (served.firewall !== firewall || !this.#isOn(actor, served.node)) continue;
      // Where none of its ports is open, since there was no room for them, it does not need the node either.
      const needed = served.ports.some((port) => this.#has(firewall, port)) ? [...served.ports, served.node.providerID] : [];
      const lost = needed.filter((item) => present.includes(item));
      if (lost.length > 0) void this.#confirmClosed(actor, served, lost);
    }
    const answer = arrive();
    for (const item of present) for (const each of [added, unknown]) each?.delete(item);
    return answer;
  }

  /** Somebody may have deleted it, or taken it off. */
  #isOn(actor: ActorId, { providerID }: Served['node']): boolean {
    return this.#world.provider.cloud.addresses().some((each) => actor.endsWith(`/ip/${each.address}`) && each.providerID === providerID);
  }

  /** What was seen may be behind what is stored, when the reply to a write was lost: what is stored counts. */
  async #confirmClosed(actor: ActorId, { firewall, node, ports }: Served, lost: readonly Item[]): Promise<void> {
    const stored = await this.#world.store.load(cellOf(actor)).catch(() => null);
    const record = stored?.records[actor];
    const context = record && contextOf(record);
    const opens = context && openFor(context);
    const hasLeft =
      stored && (!context || context.retiring !== null || (context.assigned && context.assigned.providerID !== node.providerID));
    const hasChanged = opens && (opens.firewall !== firewall || opens.ports.join() !== ports.join());
    if (hasLeft || hasChanged) return;
    this.#note('keeps open what serves', `${lost.join(', ')} of ${firewall} is closed, and ${actor} serves on ${node.name}`);
  }

  /** Those that may want the node in the firewall all want it only once their address is there. */
  #checkTime(firewall: string, node: ProviderID): void {
    if (this.#isByHand || this.#has(firewall, node)) return;
    const users = [...this.#world.invariants.records].filter(([actor, record]) => {
      if (!isRouted(actor, record)) return false;
      const { policy, elected, assigned, previous } = contextOf(record);
      const nodes = [elected, assigned, ...previous].map((each) => each?.providerID);
      return policy.firewall !== null && nameOf(policy.firewall) === firewall && nodes.includes(node);
    });
    const early = users.filter(([actor, record]) => {
      // What was under way before goes on.
      if (this.#reordered.has(actor)) return false;
      const { policy, address } = contextOf(record);
      return policy.postAllow && !this.#world.provider.cloud.history(address).some(({ providerID }) => providerID === node);
    });
    if (users.length > 0 && early.length === users.length && !isUnderWayForGone(firewall, this.#world.invariants.records))
      this.#note(
        'assigns before it opens, where that is asked for',
        `${node} comes into ${firewall} before ${early.map(([actor]) => actor).join()}`,
      );
  }

  // ---------------------------------------------------------------- within

  #presentIn(firewall: string): ReadonlySet<Item> {
    const { ports = [], nodes = [] } = this.#world.provider.cloud.findFirewall(firewall) ?? {};
    return new Set([...ports, ...nodes]);
  }

  #has(firewall: string, item: Item): boolean {
    return this.#presentIn(firewall).has(item);
  }

  /** The provider wants one rule in each firewall. */
  #isLastRule(firewall: string, item: Item): boolean {
    return this.#world.provider.cloud.findFirewall(firewall)?.ports.join() === item;
  }

  #isExclusive(firewall: string): boolean {
    return [...this.#world.invariants.records].some(([actor, record]) => {
      if (!isRouted(actor, record)) return false;
      const { policy } = contextOf(record);
      return policy.exclusive === true && policy.firewall !== null && nameOf(policy.firewall) === firewall;
    });
  }

  #neededByOthers(firewall: string, cell: ActorId): ReadonlySet<Item> {
    const served = [...this.#served.values()].filter((each) => each.firewall === firewall);
    const leaving = cellsLeaving(firewall, this.#world.invariants.records).filter((each) => each !== cell);
    const left = leaving.flatMap((each) => [...this.#claimed.by(each, firewall)]);
    const needed = served.flatMap(({ ports, node }) => [...ports, node.providerID]);
    // What was opened for several stands in the status of one who needs it still.
    return new Set([...needed, ...left, ...this.#told.claimedByOthers(firewall, cell), ...this.#known.shownIn(firewall)]);
  }

  #checkPair(firewall: string): void {
    const pair = this.#pairs.in(firewall);
    if (pair) this.#note('one change of a firewall at a time', `${pair} go on in ${firewall}`);
  }

  #note(rule: FirewallRule, text: string): void {
    this.violations.push({ rule, at: this.#world.clock.monotonic(), text });
  }
}
