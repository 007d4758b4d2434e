import type { ActorRecord } from '../../actors/ports/records.ts';
import type { ActorId, Address, ObjectRef } from '../../machines/model/types.ts';
import type { PoolContext } from '../../machines/pool/context.ts';
import { AdoptionRules, type Owner } from '../support/adoption-rules.ts';
import { CreationRules } from '../support/creations.ts';
import { type Account, type Claiming, ownersOf, shownBy } from '../support/owners.ts';
import { providerIDOf } from '../support/world.ts';
import type { Stage, Violation } from './domain.ts';
import { addressOf, nodeName } from './history.ts';

/** How long a person looks on while somebody cannot tell which address is its own, ms. */
const PERSON_WAITS_MS = 30_000;

/** Somebody who wants addresses. */
export interface Claimant {
  readonly ref: ObjectRef;
  readonly createdAt: number;
  readonly deleting: boolean;
  /** Those that it lists, names or has got. */
  readonly addresses: readonly Address[];
  /** What a RoutedIP has got by its status, whatever it names: people read there which address was made for it. */
  readonly bound?: Address;
  /** Where Jobs serve it nobody can list what there is; another account has nothing of this one. Absent for this one itself. */
  readonly account?: Exclude<Account, 'Lists'>;
}

/** The addresses of the account: those that stand there at first, that people make, and that the operator makes. */
export class Made {
  readonly #stage: Stage;
  readonly #adoption: AdoptionRules;
  readonly rules: CreationRules;
  #bought = 0;
  /** By uid: since when it cannot tell which address is its own, virtual ms. */
  readonly #unclearSince = new Map<string, number>();

  constructor(stage: Stage) {
    this.#stage = stage;
    this.#adoption = new AdoptionRules(stage.world, () => this.#adopting());
    this.rules = new CreationRules(stage.world, () =>
      this.claimants().map(({ addresses, bound }) => (bound ? [...addresses, bound] : addresses)),
    );
  }

  /** Before and after whatever people do. */
  look(): void {
    this.#adoption.look();
  }

  /** Those that may be asked for addresses, and whether they take what is on other machines. */
  #adopting(): readonly Owner[] {
    const { pools, routed, attacker, history } = this.#stage;
    const ofPools = (pools?.refs() ?? []).map((ref) => ({ ref, mayTake: history.adopt !== 'unassigned', isByJobs: false }));
    return [...ofPools, ...(routed?.adopting() ?? []), ...(attacker?.adopting() ?? [])];
  }

  /** The provider holds as many on a node as it can. */
  makeAll(): void {
    const { holders, nodes, perNode } = this.#stage.history;
    const held = new Map<number, number>();
    for (const [index, holder] of holders.entries()) {
      const isFree = holder !== null && holder < nodes && (held.get(holder) ?? 0) < perNode;
      if (isFree) held.set(holder, (held.get(holder) ?? 0) + 1);
      this.#stage.world.address(addressOf(index), isFree ? nodeName(holder) : null);
    }
  }

  /** All that want addresses, the oldest first. */
  claimants(): readonly Claimant[] {
    return [...this.victims(), ...(this.#stage.attacker?.claimants() ?? [])];
  }

  /** Those of them that attack nobody. */
  victims(): readonly Claimant[] {
    const { pools, routed } = this.#stage;
    return [...(pools?.claimants() ?? []), ...(routed?.claimants() ?? [])];
  }

  /** Address → uid of the object that has it. */
  owners(): ReadonlyMap<Address, string> {
    return ownersOf(this.claiming());
  }

  /** What each asks for, and has by its status. */
  claiming(): readonly Claiming<string>[] {
    const { cluster } = this.#stage.world;
    return this.claimants().map(({ ref, createdAt, addresses, account }) => ({
      id: ref.uid,
      createdAt,
      addresses,
      has: shownBy(cluster.pool(ref)),
      accountOf: (address) => account ?? (this.isThere(address) ? 'Lists' : 'Lacks'),
    }));
  }

  /** The address that a number of a history stands for: those with higher numbers than there are at first are those that the operator made. */
  at(index: number): Address | undefined {
    const { length } = this.#stage.history.holders;
    return index < length ? addressOf(index) : this.rules.made[index - length];
  }

  isThere(address: Address): boolean {
    return this.#stage.world.provider.cloud.addresses().some((each) => each.address === address);
  }

  /** A person makes an address. */
  buy(): Address {
    this.#bought += 1;
    return this.#stage.world.address(`203.0.113.${100 + this.#bought}`);
  }

  /** While one is being made for a RoutedIP nobody can tell an address that a person makes again from that one: he does it later. */
  isMaking(): boolean {
    const { world, routed, attacker } = this.#stage;
    if (!routed) return false;
    // What became of a creation of an attacker that nobody can tell any more nobody settles for him.
    const isCreating = (actor: ActorId, { acquiring }: PoolContext): boolean =>
      acquiring.intent !== null && !(attacker?.isOwn(actor) && acquiring.unclear.length > 0);
    for (const [actor, { chart, snapshot }] of world.invariants.records)
      if (chart === 'pool' && actor.startsWith('rip/') && isCreating(actor, snapshot.context as unknown as PoolContext)) return true;
    return routed.refs().some((ref) => world.statusOf(ref).pendingCreate !== undefined);
  }

  /** Whoever deleted an address that somebody wants makes it again; what nobody wants is on no node, whoever goes and leaves it there. */
  mend(): void {
    const { cloud } = this.#stage.world.provider;
    this.restore();
    const wanted = new Set(this.claimants().flatMap(({ addresses }) => addresses));
    for (const { address, providerID } of cloud.addresses())
      if (providerID !== null && (!wanted.has(address) || this.#isKept(address, providerID))) cloud.moveByHand(address, null);
  }

  /** On a machine outside of the cluster, where not everybody may take it: whoever has it there lets it go. */
  #isKept(address: Address, providerID: string): boolean {
    if (this.#stage.world.cluster.machines().includes(providerID) || this.#adopting().every(({ mayTake }) => mayTake)) return false;
    return !this.#adoption.hasShown(this.owners().get(address) ?? '', address);
  }

  restore(): void {
    if (this.isMaking()) return;
    const there = new Set(this.#stage.world.provider.cloud.addresses().map(({ address }) => address));
    // What only an attacker names nobody makes for him.
    const wanted = this.victims().flatMap(({ addresses, deleting }) => (deleting ? [] : addresses));
    for (const address of wanted) if (!there.has(address)) this.#stage.world.address(address);
  }

  /** The provider lets nobody put more on a node than it can hold. */
  moveByHand(address: Address, target: number | null): void {
    const { world, history, nodes } = this.#stage;
    const { cloud } = world.provider;
    const providerID = target === null ? null : target === FOREIGN ? providerIDOf('foreign') : nodes.machineOf(nodeName(target));
    const held = cloud.addresses().filter((each) => each.providerID === providerID).length;
    if (providerID !== null && (held >= history.perNode || !cloud.hasNode(providerID))) return;
    cloud.moveByHand(address, providerID);
    if (providerID === null) return;
    this.rules.takes(address);
    world.routedRules?.takes(address);
  }

  /** Who cannot tell which address is its own asks a person, who names one that nobody has, or another one when all are somebody's. */
  helps(): void {
    const { pools, routed } = this.#stage;
    // One that was deleted before it was published is wanted only now, and another one may have lost its owner only now.
    this.mend();
    for (const ref of pools?.refs() ?? []) this.#settle(ref, (address) => pools?.add(ref, address));
    for (const ref of routed?.refs() ?? []) this.#settle(ref, (address) => routed?.settle(ref, address));
  }

  #settle(ref: ObjectRef, name: (address: Address) => void): void {
    const { world } = this.#stage;
    const now = world.clock.monotonic();
    const isUnclear = world.cluster.conditions(ref).some(({ reason }) => reason === 'CreateUnknown');
    if (!isUnclear) {
      this.#unclearSince.delete(ref.uid);
      return;
    }
    const since = this.#unclearSince.get(ref.uid) ?? now;
    this.#unclearSince.set(ref.uid, since);
    if (now - since < PERSON_WAITS_MS) return;
    this.#unclearSince.delete(ref.uid);
    const wanted = new Set(this.claimants().flatMap(({ addresses }) => addresses));
    const text = `${world.status(ref).error ?? ''} ${world.messageOf(ref)}`;
    const named = text.split(/[^0-9.]+/).filter((word) => this.rules.made.includes(word as Address) && !wanted.has(word as Address));
    // One that stood in another spec before was made for that one. When no text names any, a look at the account does.
    const unknown = this.rules.unknown();
    const own = named.find((word) => unknown.includes(word as Address)) ?? named[0] ?? unknown[0];
    name((own as Address | undefined) ?? this.buy());
  }

  /** How many addresses Jobs may have made for an attacker and not told of yet: nobody waits for that. */
  #untoldForAttacker(): number {
    const { attacker, world } = this.#stage;
    const isUnderWay = ({ create, reconcile }: ActorRecord['waiting']): boolean => (create ?? reconcile) !== undefined;
    return [...world.invariants.records].filter(([actor, { waiting }]) => isUnderWay(waiting) && attacker?.isOwn(actor)).length;
  }

  /** Addresses that the operator made and of which nobody knows. */
  wrongs(): readonly string[] {
    const unknown = this.#mayForget ? [] : this.rules.unknown();
    return unknown.length <= this.#untoldForAttacker() ? [] : unknown.map((address) => `${address} was made, and nobody knows of it`);
  }

  /** What a person made while a creation was in doubt counts as what it made: should that come later, it is nobody's. */
  get #mayForget(): boolean {
    const { happens } = this.#stage;
    const isPoolLost = this.#isUnread && happens('pools', 'removePool', 'recreate');
    return isPoolLost || forgets(this.#stage) || this.#isLost('recreate', 'force') || happens('people', 'makeByHand');
  }

  /** A RoutedIP that was let go at once, or made again under its name, is known by its records alone, and whoever leads may have lost them or not have read them. */
  #isLost(...letGo: readonly string[]): boolean {
    const { happens } = this.#stage;
    return happens('routed', ...letGo) && (this.#isUnread || happens('stores', ...LOSSES));
  }

  /** Whoever leads may not have read the records. */
  get #isUnread(): boolean {
    const { happens, history } = this.#stage;
    return history.away === true && (happens('processes', 'cutStore') || happens('stores', 'storeDown', 'redisDown'));
  }

  violations(): readonly Violation[] {
    if (!this.#isLost('recreate')) this.rules.checkCalls();
    return [...this.rules.violations, ...this.#adoption.violations];
  }
}

/** After these what was known may be lost. */
const LOSSES = ['wipe', 'wipeAtRest', 'goBack', 'failOver'] as const;

/** A pool that was deleted while all that was known of it was lost has nobody left who knows what it made, or annotated. */
export const forgets = ({ happens }: Stage): boolean => happens('pools', 'removePool', 'recreate') && happens('stores', ...LOSSES);

/** A machine that is none of the cluster's. */
const FOREIGN = 4;
