import { seededRandom } from '../../adapters/memory/random.ts';
import type { ObjectRef } from '../../machines/jobs.ts';
import type { Address } from '../../machines/types.ts';
import { CreationRules } from '../support/creations.ts';
import { MarkRules } from '../support/marks.ts';
import { Keepers } from '../support/owners.ts';
import { PatienceRules } from '../support/patience.ts';
import { providerIDOf, World, type WorldOptions } from '../support/world.ts';
import { PlayedNames } from './play-names.ts';
import { PlayedNodes } from './play-nodes.ts';
import { PlayedPools, wrongStates } from './play-pools.ts';
import { PlayedOperator } from './played-operator.ts';
import { ADDRESSES, addressOf, type Happening, type History, nodeName } from './steps.ts';

/** The longest that everything may take to be right again once nothing is in the way, ms: the longest back-off of each table, one after the other. */
const RIGHT_WITHIN_MS = 3_600_000;
/** How long a person looks on while a pool cannot tell which address is its own, ms. */
const PERSON_WAITS_MS = 30_000;

/** A world in which a history happens, and what is known of it from outside. */
export class Play {
  readonly world: World;
  readonly creations: CreationRules;
  readonly patience: PatienceRules;
  readonly marks: MarkRules;
  /** Null in a history without names. */
  readonly names: PlayedNames | null;
  readonly #keepers = new Keepers();
  readonly #history: History;
  readonly #pools: PlayedPools;
  readonly #nodes: PlayedNodes;
  readonly #operator: PlayedOperator;
  #boughtCount = 0;
  /** By pool: since when it cannot tell which address is its own, virtual ms. */
  readonly #unclearSince = new Map<string, number>();
  /** Addresses that nodes bore while the store did not know of them: what was decided without it. Null where nothing is. */
  readonly #unwritten: Set<string> | null;

  constructor(history: History, options: WorldOptions = {}) {
    this.#history = history;
    this.#unwritten = options.away ? new Set() : null;
    const random = seededRandom(history.seed);
    const provider = { actionMs: history.actionMs, callMs: history.callMs, random };
    this.world = new World({ ...options, provider, settings: { verifyEveryMs: 60_000, ...options.settings } });
    const { world } = this;
    this.#operator = new PlayedOperator(world, () => world.start());
    this.#pools = new PlayedPools(world, history, () => this.creations.noteSpecs());
    this.creations = new CreationRules(world, () => this.#pools.byAge().map(({ listed }) => listed));
    this.#nodes = new PlayedNodes(world, history.names !== undefined);
    const nodes = this.#nodes;
    this.patience = new PatienceRules(world, {
      troubledAt: (name) => nodes.troubledAt(name),
      leavesWhileItWorks: (name) => nodes.leavesWhileItWorks(name),
    });
    this.marks = new MarkRules(world, {
      pausedSince: (pool) => this.#pools.pausedSince(pool),
      evacuatedSince: (name) => nodes.evacuatedSince(name),
    });
    this.names = history.names ? new PlayedNames(world, (name) => this.#nodes.mayHold(name)) : null;
    for (let index = 0; index < history.nodes; index += 1) this.#nodes.comes(nodeName(index));
    world.provider.cloud.addNode(providerIDOf('foreign'));
    const taken = new Set<number>();
    for (let index = 0; index < history.addresses; index += 1) {
      const holder = history.holders[index] ?? null;
      const free = holder !== null && holder < history.nodes && !taken.has(holder);
      if (free) taken.add(holder);
      world.address(addressOf(index), free ? nodeName(holder) : null);
    }
    this.#pools.makeAll();
  }

  /** Lets everything happen, then takes everything out of the way and waits until all is right. @throws Error when it does not become right */
  async run(): Promise<void> {
    const { world } = this;
    await world.start();
    for (const { afterMs, what } of this.#history.steps) {
      await world.clock.advance(afterMs);
      this.#noteUnwritten();
      this.#lookAround();
      await this.#happen(what);
      this.#lookAround();
    }
    await this.#mend();
    this.#lookAround();
    try {
      await world.clock.runUntil(() => this.#isRight(), RIGHT_WITHIN_MS);
      await world.clock.advance(30_000);
    } catch (error) {
      throw new Error(`not right after ${RIGHT_WITHIN_MS} ms: ${this.wrongs().join('; ')}`, { cause: error });
    }
    this.#lookAround();
    const wrongs = this.wrongs();
    if (wrongs.length > 0) throw new Error(`right, and then wrong again: ${wrongs.join('; ')}`);
  }

  #lookAround(): void {
    this.#keepers.look(this.#pools.claiming(), this.world.clock.monotonic());
  }

  /** What was wrong at any moment; to be asked once. */
  violations(): readonly { readonly rule: string; readonly at: number; readonly text: string }[] {
    this.world.invariants.checkCalls();
    this.creations.checkCalls();
    const { invariants } = this.world;
    return [
      ...invariants.violations,
      ...this.creations.violations,
      ...this.patience.violations,
      ...this.marks.violations,
      ...this.#keepers.violations,
      ...(this.names?.rules.violations ?? []),
    ];
  }

  /** What is not as it must be in the end. */
  wrongs(): readonly string[] {
    const pools = this.#pools.byAge();
    const { wrongs, wanted } = wrongStates(this.world, pools);
    const places = [...wanted].flatMap((address) => {
      const holder = this.#holderOf(address);
      return holder !== null && this.#nodes.mayHold(holder) ? [] : [`${address} is on ${holder}`];
    });
    const unknown =
      this.#mayForget || this.#mayMistake ? [] : this.creations.unknown().map((address) => `${address} was made, and nobody knows of it`);
    return [
      ...wrongs,
      ...places,
      ...this.#wrongAnnotations(wanted),
      ...(this.names?.wrongs({ nodes: this.#nodes.eligible(), pools, wanted }) ?? []),
      ...unknown,
      ...this.#nodes.wrongEvacuations(),
      ...this.#pools.unanswered(),
      ...this.#unsettled(),
    ];
  }

  /** What is shown may be from before: it counts only while somebody leads, and nothing is under way. */
  #unsettled(): readonly string[] {
    const leader = this.world.processes.find(({ dead, supervisor }) => !dead && supervisor.leading);
    if (!leader) return ['nobody leads'];
    return [...leader.supervisor.records().values()].flatMap((cell) =>
      [...cell].flatMap(([actor, { chart, waiting }]) =>
        chart === 'ip' && Object.keys(waiting).length > 0 ? [`${actor} waits for ${Object.keys(waiting)}`] : [],
      ),
    );
  }

  #wrongAnnotations(owned: ReadonlySet<Address>): readonly string[] {
    const shown = this.world.cluster.annotations();
    const missing = [...owned].filter((address) => shown[this.#holderOf(address) ?? ''] !== address);
    const others = Object.entries(shown).filter(([node, address]) =>
      owned.has(address) ? this.#holderOf(address) !== node : !this.#mayForget && !this.#unwritten?.has(address),
    );
    return [
      ...missing.map((address) => `${address} is not annotated`),
      ...others.map(([node, address]) => `${node} is annotated ${address}`),
    ];
  }

  /** What only a process knew that ended without the store may stay, too. */
  #noteUnwritten(): void {
    if (!this.#unwritten) return;
    const stored = JSON.stringify([...this.world.store.checkpoint().data.cells.values()].map(({ records }) => [...records]));
    for (const address of Object.values(this.world.cluster.annotations()))
      if (!stored.includes(`"${address}\\"`)) this.#unwritten.add(address);
  }

  /** A pool that was deleted while all that was known of it was lost has nobody left who knows of its annotations. */
  get #mayForget(): boolean {
    const kinds = new Set(this.#history.steps.map(({ what }) => what.kind));
    const forgets = ['wipe', 'wipeAtRest', 'goBack'] as const;
    return kinds.has('removePool') && forgets.some((kind) => kinds.has(kind));
  }

  /** What a person made while a creation was in doubt counts as what it made: should that come later, it is nobody's. */
  get #mayMistake(): boolean {
    return this.#history.steps.some(({ what }) => what.kind === 'makeByHand');
  }

  #holderOf(address: Address): string | null {
    const { addresses } = this.world.provider.cloud;
    const exists = addresses.call(this.world.provider.cloud).some((each) => each.address === address);
    return exists ? this.world.holderOf(address) : null;
  }

  // ---------------------------------------------------------------- what happens

  async #happen(what: Happening): Promise<void> {
    switch (what.kind) {
      case 'nodeFails':
      case 'nodeRecovers':
      case 'nodeGoes':
      case 'nodeComes':
      case 'nodeEnds':
      case 'machineGoes':
      case 'machineDies':
      case 'cordon':
      case 'uncordon':
      case 'doom':
      case 'spare':
      case 'evacuate':
      case 'stay':
        return this.#nodes.act(what.kind, nodeName(what.node));
      case 'moveByHand':
      case 'deleteByHand':
      case 'restoreByHand':
      case 'lockByHand':
        return this.#byHand(what);
      case 'list':
      case 'coolOff':
      case 'rules':
      case 'breakSpec':
      case 'mendSpec':
      case 'removePool':
      case 'makePool':
      case 'pause':
      case 'resume':
      case 'moveTo':
      case 'want':
      case 'name':
        return this.#pools.edit(what);
      case 'nameNodes':
      case 'removeNodeSet':
      case 'breakNodeSet':
      case 'mendNodeSet':
      case 'dropRecord':
      case 'changeRecord':
      case 'addRecord':
      case 'addAlias':
        return this.names?.act(what);
      case 'makeByHand':
        return void this.#bought();
      case 'fault':
        return this.world.provider.faults.next(what.verb, what.fault, what.times);
      case 'staleReads':
        return this.world.provider.staleReads(what.ms);
      case 'failActions':
        return this.world.provider.cloud.failActions(what.times);
      case 'jump':
        return this.world.jump(what.ms);
      case 'start':
      case 'kill':
      case 'killAll':
      case 'stop':
      case 'freeze':
      case 'deleteLease':
      case 'cutLease':
      case 'mendLease':
        return this.#operator.ofProcess(what);
      case 'loseReplies':
        return this.#operator.ofStore({ kind: what.kind, times: what.times });
      default:
        return this.#operator.ofStore({ kind: what.kind });
    }
  }

  #byHand(what: Extract<Happening, { readonly address: number }>): void {
    const { cloud } = this.world.provider;
    const address = this.#addressOf(what.address);
    if (!address) return;
    const exists = cloud.addresses().some((each) => each.address === address);
    if (what.kind === 'restoreByHand') {
      if (!exists) this.world.address(address);
    } else if (!exists) return;
    else if (what.kind === 'deleteByHand') cloud.removeByHand(address);
    else if (what.kind === 'lockByHand') cloud.lock(address, 5_000);
    else if (what.kind === 'moveByHand') this.#moveByHand(address, what.node);
  }

  /** Those with higher numbers than there are addresses are those that were made on the way. */
  #addressOf(index: number): Address | undefined {
    return index < ADDRESSES ? addressOf(index) : this.creations.made[index - ADDRESSES];
  }

  /** The provider lets nobody put a second address on a node. */
  #moveByHand(address: Address, index: number | null): void {
    const { cloud } = this.world.provider;
    const target = index === null ? null : providerIDOf(index === 4 ? 'foreign' : nodeName(index));
    const taken = cloud.addresses().some(({ providerID }) => providerID === target);
    if (target === null || (!taken && cloud.hasNode(target))) cloud.moveByHand(address, target);
  }

  // ---------------------------------------------------------------- the end

  /** Nothing is in the way any more: enough nodes, all addresses, valid specs, a process, and nobody holds what is wanted. */
  async #mend(): Promise<void> {
    const { world } = this;
    world.provider.faults.clear();
    world.provider.cloud.failActions(0);
    this.#operator.mend();
    this.#pools.mend();
    this.names?.mend();
    const pools = this.#pools.byAge();
    // What is listed and not wanted may sit on a node, and each pool may be about to list one more.
    const holding = pools.reduce((sum, { listed, desired }) => sum + Math.max(listed.length, desired), 0);
    this.#nodes.mend(Math.max(6, holding + pools.length), !this.#pools.holdForLeaving());
    this.#mendAddresses(new Set(pools.flatMap(({ listed }) => listed)));
    await world.clock.advance(1_000);
    await this.#operator.isThere();
  }

  #mendAddresses(listed: ReadonlySet<Address>): void {
    const { cloud } = this.world.provider;
    this.#restore(listed);
    for (const { address } of cloud.addresses()) if (!listed.has(address)) cloud.moveByHand(address, null);
  }

  /** Whoever deleted an address that a pool lists makes it again. */
  #restore(listed: Iterable<Address>): void {
    const there = new Set(this.world.provider.cloud.addresses().map(({ address }) => address));
    for (const address of listed) if (!there.has(address)) this.world.address(address);
  }

  #isRight(): boolean {
    const pools = this.#pools.byAge();
    for (const { ref } of pools) this.#helpOut(ref);
    // One that was deleted before it was published is listed only now.
    this.#restore(pools.flatMap(({ listed }) => listed));
    return this.wrongs().length === 0;
  }

  /** A person makes an address. */
  #bought(): Address {
    this.#boughtCount += 1;
    return this.world.address(`203.0.113.${100 + this.#boughtCount}`);
  }

  /** A pool that cannot tell which address is its own asks a person, who lists one that nobody lists yet, or another one when all are somebody's. */
  #helpOut(ref: ObjectRef): void {
    const now = this.world.clock.monotonic();
    const isUnclear = this.world.cluster.conditions(ref).some(({ reason }) => reason === 'CreateUnknown');
    const since = this.#unclearSince.get(ref.uid) ?? now;
    if (isUnclear) this.#unclearSince.set(ref.uid, since);
    else this.#unclearSince.delete(ref.uid);
    if (!isUnclear || now - since < PERSON_WAITS_MS) return;
    this.#unclearSince.delete(ref.uid);
    const listed = new Set(this.#pools.byAge().flatMap((pool) => pool.listed));
    const text = this.world.status(ref).error ?? '';
    const [own] = text.split(/[^0-9.]+/).filter((word) => this.creations.made.includes(word as Address) && !listed.has(word as Address));
    this.#pools.add(ref, (own as Address | undefined) ?? this.#bought());
  }
}
