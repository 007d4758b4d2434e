import type { KillPoint } from '../../actors/ports/observers.ts';
import { seededRandom } from '../../adapters/memory/random.ts';
import type { ObjectRef } from '../../machines/jobs.ts';
import type { PoolContext } from '../../machines/pool.ts';
import type { Address } from '../../machines/types.ts';
import { RoutedWorld } from '../actors/routed-world.ts';
import { MarkRules } from '../support/marks.ts';
import { type OperatorProcess, providerIDOf, type WorldOptions } from '../support/world.ts';
import { isOfProcess, isOfStore, PlayedOperator } from './played-operator.ts';
import { RoutedEnd } from './routed-end.ts';
import { RoutedFirewalls } from './routed-firewalls.ts';
import { RoutedNodes } from './routed-nodes.ts';
import { RoutedObjects } from './routed-objects.ts';
import { RoutedPolicies } from './routed-policies.ts';
import { RoutedServices } from './routed-services.ts';
import { ADDRESSES, type ByHand, NODES, type RoutedHappening, type RoutedHistory } from './routed-steps.ts';
import { addressOf, nodeName } from './steps.ts';

/** The longest that everything may take to be right again once nothing is in the way, ms: the longest back-off of each table, one after the other. */
const RIGHT_WITHIN_MS = 3_600_000;
/** How long all has to stay right unless the history says otherwise, ms. */
const STAYS_RIGHT_MS = 30_000;
/** How long a person looks on while a RoutedIP cannot tell which address is its own, ms. */
const PERSON_WAITS_MS = 30_000;

/** A world with RoutedIPs in which a history happens, and what is known of it from outside. */
export class RoutedPlay {
  readonly world: RoutedWorld;
  readonly #history: RoutedHistory;
  readonly #nodes: RoutedNodes;
  readonly #services: RoutedServices;
  readonly #policies: RoutedPolicies;
  readonly #firewalls: RoutedFirewalls;
  readonly #objects: RoutedObjects;
  readonly #operator: PlayedOperator;
  readonly #end: RoutedEnd;
  readonly #marks: MarkRules;
  #killAt: { readonly point: KillPoint; later: number } | null = null;
  /** By RoutedIP: since when it cannot tell which address is its own, virtual ms. */
  readonly #unclearSince = new Map<string, number>();
  #bought = 0;

  constructor(history: RoutedHistory, options: WorldOptions = {}) {
    this.#history = history;
    const { perNode, actionMs, callMs, firewallMs } = history;
    const random = seededRandom(history.seed);
    this.world = new RoutedWorld({
      ...options,
      facts: { addressesPerNode: perNode },
      provider: { actionMs, callMs, firewallMs, random, addressesPerNode: perNode },
      settings: { verifyEveryMs: 60_000, ...options.settings },
    });
    const { world } = this;
    this.#nodes = new RoutedNodes(world);
    for (let index = 0; index < history.nodes; index += 1) this.#nodes.comes(nodeName(index));
    world.provider.cloud.addNode(providerIDOf('foreign'));
    this.#makeAddresses();
    this.#firewalls = new RoutedFirewalls(world, () => this.#objects.refs());
    this.#services = new RoutedServices(world, history);
    this.#policies = new RoutedPolicies(world, history);
    this.#objects = new RoutedObjects(world, history);
    this.#operator = new PlayedOperator(world, () => this.#start());
    this.#marks = new MarkRules(world, {
      pausedSince: (cell) => this.#objects.pausedSince(cell),
      evacuatedSince: (name) => this.#nodes.evacuatedSince(name),
    });
    this.#end = new RoutedEnd({
      world,
      nodes: this.#nodes,
      services: this.#services,
      firewalls: this.#firewalls,
      objects: this.#objects,
      history,
    });
  }

  /** Lets everything happen, then takes everything out of the way and waits until all is right. @throws Error when it does not become right */
  async run(): Promise<void> {
    const { world } = this;
    await this.#start();
    for (const { afterMs, what } of this.#history.steps) {
      await world.clock.advance(afterMs);
      if (this.#history.restarts) await this.#operator.isThere();
      await this.#happen(what);
    }
    await this.#mend();
    try {
      await world.clock.runUntil(() => this.#isRight(), RIGHT_WITHIN_MS);
    } catch (error) {
      throw new Error(`not right after ${RIGHT_WITHIN_MS} ms: ${this.#end.wrongs().join('; ')}`, { cause: error });
    }
    const written = world.provider.writes().length;
    await world.clock.advance(this.#history.restsMs ?? STAYS_RIGHT_MS);
    // What somebody left behind may be tidied up once.
    const more = world.provider
      .writes()
      .slice(written)
      .map(({ verb, args: [about] }) => `${verb} of ${about}`);
    const wrongs = [
      ...this.#end.wrongs(),
      ...more.flatMap((text, index) => (more.indexOf(text) < index ? [`${text} at rest, again and again`] : [])),
    ];
    if (wrongs.length > 0) throw new Error(`right, and then wrong again: ${wrongs.join('; ')}`);
  }

  /** What was wrong at any moment; to be asked once. */
  violations(): readonly { readonly rule: string; readonly at: number; readonly text: string }[] {
    this.world.invariants.checkCalls();
    return [...this.world.invariants.violations, ...this.world.rules.violations, ...this.#marks.violations];
  }

  async #start(): Promise<OperatorProcess> {
    const process = await this.world.start((point) => this.#isKilled(point));
    this.#policies.tell(process);
    return process;
  }

  #isKilled(point: KillPoint): boolean {
    if (this.#killAt?.point !== point) return false;
    this.#killAt.later -= 1;
    if (this.#killAt.later >= 0) return false;
    this.#killAt = null;
    return true;
  }

  /** The provider holds as many on a node as it can. */
  #makeAddresses(): void {
    const { holders, nodes, perNode } = this.#history;
    const held = new Map<number, number>();
    for (let index = 0; index < ADDRESSES; index += 1) {
      const holder = holders[index] ?? null;
      const isFree = holder !== null && holder < nodes && (held.get(holder) ?? 0) < perNode;
      if (isFree) held.set(holder, (held.get(holder) ?? 0) + 1);
      this.world.address(addressOf(index), isFree ? nodeName(holder) : null);
    }
  }

  // ---------------------------------------------------------------- what happens

  async #happen(what: RoutedHappening): Promise<void> {
    const { provider } = this.world;
    if (isOfProcess(what)) return this.#operator.ofProcess(what);
    if (isOfStore(what)) return this.#operator.ofStore(what);
    if ('service' in what) return this.#services.act(what);
    if ('firewall' in what) return this.#firewalls.act(what);
    if ('routed' in what) return this.#objects.act(what);
    if ('policy' in what) return this.#policies.act(what);
    switch (what.kind) {
      case 'secretGoes':
      case 'secretComes':
      case 'refuseToken':
      case 'newToken':
        return this.#policies.ofSecret(what.kind);
      case 'list':
        return this.#objects.list(what.addresses);
      case 'moveByHand':
      case 'deleteByHand':
      case 'restoreByHand':
      case 'lockByHand':
        return this.#byHand(what);
      case 'killAt':
        this.#killAt = { point: what.point, later: what.later };
        return;
      case 'fault':
        return provider.faults.next(what.verb, what.fault, what.times);
      case 'staleReads':
        return provider.staleReads(what.ms);
      case 'failActions':
        return provider.cloud.failActions(what.times);
      case 'jump':
        return this.world.jump(what.ms);
      default:
        return this.#nodes.act(what.kind, nodeName(what.node));
    }
  }

  #byHand(what: ByHand): void {
    const { cloud } = this.world.provider;
    const address = what.address < ADDRESSES ? addressOf(what.address) : this.#end.made[what.address - ADDRESSES];
    if (!address) return;
    const exists = cloud.addresses().some((each) => each.address === address);
    if (what.kind === 'restoreByHand') {
      if (!exists && !this.#isMaking()) this.world.address(address);
    } else if (!exists) return;
    else if (what.kind === 'deleteByHand') cloud.removeByHand(address);
    else if (what.kind === 'lockByHand') cloud.lock(address, 5_000);
    else this.#moveByHand(address, what.node);
  }

  /** The provider lets nobody put more on a node than it can hold. */
  #moveByHand(address: Address, index: number | null): void {
    const { cloud } = this.world.provider;
    const target = index === null ? null : providerIDOf(index === NODES ? 'foreign' : nodeName(index));
    const held = cloud.addresses().filter(({ providerID }) => providerID === target).length;
    if (target === null || (held < this.#history.perNode && cloud.hasNode(target))) cloud.moveByHand(address, target);
  }

  // ---------------------------------------------------------------- the end

  /** Nothing is in the way any more: all that is needed is there, and a process. */
  async #mend(): Promise<void> {
    const { world } = this;
    world.provider.cloud.failActions(0);
    this.#killAt = null;
    this.#operator.mend();
    this.#policies.mend();
    this.#firewalls.mend();
    this.#objects.mend();
    const claimants = this.#objects.claimants();
    // Each may hold one more for a time.
    const count = claimants.reduce((sum, { addresses }) => sum + Math.max(1, addresses.length), claimants.length + 1);
    this.#services.mend(this.#nodes.mend(count));
    const { cloud } = world.provider;
    this.#restore();
    const wanted = new Set(claimants.flatMap(({ addresses }) => addresses));
    for (const { address } of cloud.addresses()) if (!wanted.has(address)) cloud.moveByHand(address, null);
    await world.clock.advance(1_000);
    await this.#operator.isThere();
  }

  /** Whoever deleted an address that somebody wants makes it again. */
  #restore(): void {
    if (this.#isMaking()) return;
    const there = new Set(this.world.provider.cloud.addresses().map(({ address }) => address));
    const wanted = this.#objects.claimants().flatMap(({ addresses, deleting }) => (deleting ? [] : addresses));
    for (const address of wanted) if (!there.has(address)) this.world.address(address);
  }

  /** While one is being made nobody can tell an address that a person makes again from that one: he does it later. */
  #isMaking(): boolean {
    const records = [...this.world.invariants.records.values()].filter(({ chart }) => chart === 'pool');
    return (
      records.some(({ snapshot }) => (snapshot.context as unknown as PoolContext).acquiring.intent !== null) ||
      this.#objects.refs().some((ref) => this.world.statusOf(ref).pendingCreate !== undefined)
    );
  }

  #isRight(): boolean {
    // Somebody asked for another address before he could know which one his RoutedIP has got.
    this.#objects.mend();
    for (const ref of this.#objects.refs()) this.#helpOut(ref);
    this.#restore();
    return this.#end.wrongs().length === 0;
  }

  /** A RoutedIP that cannot tell which address is its own asks a person, who names one that nobody has, or another one. */
  #helpOut(ref: ObjectRef): void {
    const now = this.world.clock.monotonic();
    const isUnclear = this.world.cluster.conditions(ref).some(({ reason }) => reason === 'CreateUnknown');
    const since = this.#unclearSince.get(ref.uid) ?? now;
    if (isUnclear) this.#unclearSince.set(ref.uid, since);
    else this.#unclearSince.delete(ref.uid);
    if (!isUnclear || now - since < PERSON_WAITS_MS) return;
    this.#unclearSince.delete(ref.uid);
    const wanted = new Set(this.#objects.claimants().flatMap(({ addresses }) => addresses));
    const [own] = this.world
      .messageOf(ref)
      .split(/[^0-9.]+/)
      .filter((word) => this.#end.made.includes(word as Address) && !wanted.has(word as Address));
    this.#bought += 1;
    this.#objects.settle(ref, (own as Address | undefined) ?? this.world.address(`203.0.113.${100 + this.#bought}`));
  }
}
