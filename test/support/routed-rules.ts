import type { PoolObject } from '../../actors/ports/cluster.ts';
import type { SavedTurn, Transition } from '../../actors/ports/observers.ts';
import type { ActorRecord } from '../../actors/ports/records.ts';
import type { AddressContext } from '../../machines/address/context.ts';
import { isOfJobs } from '../../machines/model/provider-key.ts';
import type { ActorId, Address, ObjectRef, ProviderID } from '../../machines/model/types.ts';
import { isCreating, type PoolContext } from '../../machines/pool/context.ts';
import { createdAt } from '../../machines/pool/creation.ts';
import { asksToDelete } from './asked-deletions.ts';
import { FirewallRules, type Records } from './firewall-rules.ts';
import { HolderMarks } from './holder-marks.ts';
import { LedRoutedIPs } from './led-routed-ips.ts';
import { fieldsOf, isAdopting, SeenClasses } from './seen-classes.ts';
import { SentCreations } from './sent-calls.ts';
import type { World } from './world.ts';

/** What must hold at every moment of RoutedIPs, their addresses and the marks of their holders. */
export type RoutedRule =
  | 'guarded before anything is done for it'
  | 'goes only when all is undone'
  | 'one address for each'
  | 'bound before it is used'
  | 'assigned only while it is wanted'
  | 'gives back only what it may'
  | 'marked before it is assigned'
  /** A node that holds an address, or is to get it, keeps its mark until the address is confirmed elsewhere or given up. */
  | 'keeps its mark while it holds';

const FINALIZER = 'routedip.io/finalizer';
const isOpenTo = ({ namespaces }: World, namespace: string): boolean => {
  const labels = namespaces.labelsOf(namespace);
  return labels.kind === 'known' && labels.labels['routedip.io/allow-operator-credentials'] === 'true';
};
const cellOf = ({ namespace, name }: ObjectRef): ActorId => `rip/${namespace}/${name}`;
const contextOf = ({ snapshot }: ActorRecord): AddressContext => snapshot.context as unknown as AddressContext;

/** Looks at every turn, at every call that makes, moves or deletes an address, and at every object that goes. */
export class RoutedRules {
  readonly firewalls: FirewallRules;
  readonly #violations: { readonly rule: RoutedRule; readonly at: number; readonly text: string }[] = [];
  readonly #world: World;
  readonly #objects = new Map<ActorId, PoolObject>();
  readonly #led: LedRoutedIPs;
  readonly #marks: HolderMarks;
  readonly #classes: SeenClasses;
  /** How many addresses were made for an object, by uid. */
  readonly #made = new Map<string, Set<Address>>();
  /** By address that was made: those that may have asked for it. Another object may bear the name of one that is gone. */
  readonly #madeFor = new Map<Address, readonly ObjectRef[]>();
  /** By uid: the provider at which its records would have an address made before they began to. A status does not say. */
  readonly #madeAt = new Map<string, string>();
  /** Addresses that were deleted by a call, and not made by one since: what a person makes again is his. */
  readonly #deleted = new Set<Address>();
  /** By uid of an object that is deleted: whether its address was to go, as its class said then. */
  readonly #asked = new Map<string, boolean>();
  /** By uid of an object that is gone: whether what was made for it was to go with it, as its class said then. */
  readonly #left = new Map<string, boolean>();
  /** Addresses that are being assigned to a node which their class wanted marked when that began: a class that is changed meanwhile is too late. */
  readonly #toMark = new Set<ActorId>();
  /** The uid of the RoutedIP for which a Job makes an address at this moment; null while none does. */
  #making: string | null = null;

  constructor(world: World) {
    this.#world = world;
    this.firewalls = new FirewallRules(world, () => this.objects().map((ref) => [cellOf(ref), world.cluster.pool(ref)?.status]));
    this.#led = new LedRoutedIPs(world);
    this.#classes = new SeenClasses(this.#led, (namespace) => isOpenTo(world, namespace));
    this.#marks = new HolderMarks(world, (node, actor) =>
      this.#note('keeps its mark while it holds', `${node} bears no mark any more, and holds ${actor}`),
    );
    const { invariants } = world;
    const { turnSaved } = invariants;
    invariants.turnSaved = (turn) => {
      this.#marks.look();
      turnSaved.call(invariants, turn);
      this.#look(turn);
    };
    this.#watchCluster();
    this.#watchCloud();
  }

  /** A Job makes an address: it says for whom. */
  madeFor<T>(uid: string, make: () => T): T {
    this.#making = uid;
    try {
      return make();
    } finally {
      this.#making = null;
    }
  }

  get violations(): readonly { readonly rule: string; readonly at: number; readonly text: string }[] {
    return [...this.#violations, ...this.firewalls.violations];
  }

  /** The RoutedIPs that are there. */
  objects(): readonly ObjectRef[] {
    return [...this.#objects.values()].map(({ ref }) => ref);
  }

  /** What is not as it must be when nothing is under way and no RoutedIP waits for anything. */
  wrongs(records: Records = this.#world.invariants.records): readonly string[] {
    const serving = [...records].filter(([actor, { chart }]) => chart === 'ip' && actor.startsWith('rip/'));
    const marked = serving.flatMap(([, record]) => (contextOf(record).policy.taint ? (contextOf(record).assigned?.name ?? []) : []));
    const [wanted, is] = [[...new Set(marked)].sort(), Object.keys(this.#world.cluster.holders()).sort()];
    const unguarded = [...this.#objects.values()].filter(({ ref }) => !this.#isGuarded(ref));
    return [
      ...(wanted.join() === is.join()
        ? []
        : [`nodes ${is.join(', ') || 'none'} bear the mark of a holder, not ${wanted.join(', ') || 'none'}`]),
      ...unguarded.map(({ ref }) => `${cellOf(ref)} is not guarded`),
      ...this.firewalls.wrongs(records),
    ];
  }

  #look({ transitions }: SavedTurn): void {
    this.#refresh();
    for (const transition of transitions) {
      const { chart, actor } = transition;
      if (chart === 'pool') this.#notePool(transition);
      if (chart === 'ip' && actor.startsWith('rip/')) {
        this.#marks.note(transition);
        this.#noteAssign(transition);
      }
    }
  }

  #notePool(transition: Transition): void {
    const pool = transition.after?.snapshot.context as PoolContext | undefined;
    this.#marks.notePool(transition);
    if (pool && !isCreating(pool.acquiring)) this.#madeAt.set(pool.ref.uid, createdAt(pool));
    // Made while it came to name another one, it is left, and that is told: another one may be made once none is named any more.
    const { unpublished = null } = pool?.acquiring ?? {};
    if (unpublished && JSON.stringify(transition.after?.snapshot.value).includes('"Announcing"'))
      this.#made.get(pool?.ref.uid ?? '')?.delete(unpublished);
    const isLeft = (address: Address): boolean => this.#madeFor.get(address)?.some((ref) => this.#isLeft(ref, address)) ?? false;
    this.#led.note(transition, { isAsked: (uid) => this.#asked.get(uid) === true, isLeft });
  }

  #noteAssign({ actor, before, after, events }: Transition): void {
    const command = after?.waiting.assign?.commandId;
    // Of what is heard in one turn the grant may come first.
    const wasGivenUp = (before && contextOf(before).retiring !== null) || events.includes('RESUME', events.indexOf('RETIRE') + 1);
    if (after && command !== undefined && command !== before?.waiting.assign?.commandId && wasGivenUp && contextOf(after).retiring !== null)
      this.#note('assigned only while it is wanted', `an assign is decided for ${actor}, which is given up`);
    if (after?.snapshot.value !== 'Assigning') this.#toMark.delete(actor);
    else if (before?.snapshot.value !== 'Assigning' && contextOf(after).policy.taint) this.#toMark.add(actor);
  }

  #watchCluster(): void {
    const { cluster } = this.#world;
    void cluster.process().start({
      poolObserved: (object) => {
        if (object.ref.kind !== 'RoutedIP') return;
        this.#objects.set(cellOf(object.ref), object);
        this.#classes.see(object);
        if (object.deleting && !this.#asked.has(object.ref.uid)) this.#noteAsked(object);
      },
      poolGone: (ref) => void (ref.kind === 'RoutedIP' && this.#gone(ref)),
      clusterObserved: () => undefined,
      policyGone: (ref) => this.#classes.remove(ref),
      policyObserved: (policy) => {
        this.#classes.put(policy);
        if (this.#led.isHearing()) return;
        // What whoever led before has heard of a deletion goes on as it was decided.
        for (const object of this.#objects.values()) if (object.deleting && !this.#led.hasHeard(object.ref)) this.#noteAsked(object);
      },
    });
  }

  /** Whoever leads decides when he hears of the deletion, by what he has heard of the class, and an edit of the class is too late then; as long as nobody has led since it is not. */
  #noteAsked(object: PoolObject): void {
    const isUnheard = this.#world.processes.some(({ cluster: { watch } }) => !watch.sees('policies'));
    this.#asked.set(object.ref.uid, this.#classes.mustDelete(object) || (isUnheard && this.#isServedToDelete(object.ref)));
  }

  #isServedToDelete(ref: ObjectRef): boolean {
    const context = this.#poolOf(cellOf(ref));
    return context?.ref.uid === ref.uid && context.spec?.exposes?.reclaim === 'Delete';
  }

  #gone(ref: ObjectRef): void {
    const cell = cellOf(ref);
    const object = this.#objects.get(cell);
    if (!object || object.ref.uid !== ref.uid) return;
    const { routedIP } = fieldsOf(object.status);
    this.#objects.delete(cell);
    this.#left.set(ref.uid, this.#classes.mayDelete(object, true) || this.#wasToDelete(object));
    this.#marks.forget(cell);
    if (object.marks?.annotations['routedip.io/force-release'] === 'true') {
      // A call that was sent before somebody let it go at once is still on its way.
      if (this.#classes.mayDelete(object)) this.#world.invariants.given.add(routedIP as Address);
      this.#world.invariants.forgetSent(routedIP as Address);
      this.firewalls.forced(cell);
      return;
    }
    // Where whoever leads has not heard of it yet, what is open is open for its former self, which somebody let go at once.
    const served = this.#poolOf(cell);
    if (served === undefined || served.ref.uid === ref.uid) this.firewalls.gone(cell);
    // The call that was to delete it may be on its way still.
    const isToGo = this.#classes.mayDelete(object) && this.#asked.get(ref.uid) === true;
    if (isToGo) this.#world.invariants.given.add(routedIP as Address);
    const isThere = this.#world.provider.cloud.addresses().some(({ address }) => address === routedIP);
    if (isToGo && !this.#classes.mayStay(object) && isThere && !this.#deleted.has(routedIP as Address))
      this.#note('goes only when all is undone', `${cell} is gone, and ${routedIP}, which was made for it, is still there`);
  }

  #watchCloud(): void {
    const { cloud } = this.#world.provider;
    asksToDelete(this.#world.provider, (address, isSent) => this.#checkDeletion(address, isSent));
    const creations = new SentCreations(this.#world, () => this.#creating());
    const { create, assign, delete: remove, removeByHand } = cloud;
    cloud.create = (region) => {
      const address = create.call(cloud, region);
      this.#noteMade(address, creations.makers());
      return address;
    };
    cloud.assign = (address, node) => {
      this.#checkUse(address, node);
      return assign.call(cloud, address, node);
    };
    cloud.removeByHand = (address) => {
      this.takes(address);
      removeByHand.call(cloud, address);
    };
    cloud.delete = (address) => {
      remove.call(cloud, address);
      this.#deleted.add(address);
      this.#noteLeft(address);
    };
  }

  #noteMade(address: Address, makers: readonly ObjectRef[]): void {
    this.#deleted.delete(address);
    for (const ref of makers) {
      const made = (this.#made.get(ref.uid) ?? new Set()).add(address);
      this.#made.set(ref.uid, made);
      this.#madeFor.set(address, [...(this.#madeFor.get(address) ?? []), ref]);
      if (made.size > 1) this.#note('one address for each', `${address} is address number ${made.size} that was made for ${cellOf(ref)}`);
      if (this.#world.cluster.pool(ref) && !this.#isGuarded(ref))
        this.#note('guarded before anything is done for it', `${address} was made for ${cellOf(ref)}`);
    }
  }

  /** Deleted since another one was named instead: one may be made again once none is named any more. */
  #noteLeft(address: Address): void {
    this.#refresh();
    for (const { uid } of this.#madeFor.get(address) ?? []) {
      const owner = [...this.#objects.values()].find(({ ref }) => ref.uid === uid);
      const { routedIP: named } = owner ? fieldsOf(owner.spec) : {};
      if (named !== undefined && named !== address) this.#made.get(uid)?.delete(address);
    }
  }

  /** A person deletes the address, or attaches it to a node: as long as nobody is bound to it that is his from then on, and another one may be made. */
  takes(address: Address): void {
    this.#refresh();
    const isBound = [...this.#objects.values()].some(({ status }) => fieldsOf(status).routedIP === address);
    if (!isBound) for (const { uid } of this.#madeFor.get(address) ?? []) this.#made.get(uid)?.delete(address);
  }

  #checkUse(address: Address, node: ProviderID): void {
    this.#refresh();
    this.#marks.look();
    const owner = [...this.#world.invariants.records].find(
      ([actor, record]) => record.chart === 'ip' && actor.startsWith('rip/') && contextOf(record).address === address,
    );
    if (!owner) return;
    const [actor, record] = owner;
    const object = this.#servedBy(actor.split('/', 3).join('/'));
    if (object && !this.#isGuarded(object.ref)) this.#note('guarded before anything is done for it', `${address} is assigned for ${actor}`);
    if (object && this.#madeFor.has(address) && fieldsOf(object.status).routedIP !== address)
      this.#note('bound before it is used', `${address} is assigned before it stands in the status of ${cellOf(object.ref)}`);
    const { policy, elected, retiring } = contextOf(record);
    if (!policy.taint || !this.#toMark.has(actor) || retiring !== null || elected?.providerID !== node) return;
    if (this.#marks.isMissing(elected.name))
      this.#note('marked before it is assigned', `${address} is assigned to ${elected.name}, which bears no mark`);
  }

  /** Whether it is there still or not: who asks for one that is gone would delete one that somebody makes again. */
  #checkDeletion(address: Address, isSent: boolean): void {
    this.#refresh();
    const bound = [...this.#objects.values()].find(({ status }) => fieldsOf(status).routedIP === address);
    if (bound && isSent && this.#classes.keeps(bound, address, this.#world.processes))
      this.#note('gives back only what it may', `${address} is deleted, and the class of ${cellOf(bound.ref)} says Retain by now`);
    // Another one may have the name of that for which it was made, and which was let go.
    if (!bound && this.#world.invariants.given.has(address)) return;
    const makers = this.#madeFor.get(address) ?? [];
    const owners = bound ? [bound.ref] : makers;
    const why = owners.length > 0 ? `${owners.map(cellOf)} does not ask for that` : 'is nobody’s';
    const isGivenBack = this.#led.givenBack.has(address) || makers.some((ref) => this.#isLeft(ref, address));
    const isRight = bound ? this.#isAskedFor(bound, makers) : isGivenBack;
    if (isRight) this.#world.invariants.given.add(address);
    else this.#note('gives back only what it may', `${address} is deleted, and ${why}`);
  }

  /** What a status says may be wrong: it was seen for whom it was made. */
  #isAskedFor(bound: PoolObject, makers: readonly ObjectRef[]): boolean {
    // One that is made again under its name has what was made for the one before.
    const isOthers = makers.length > 0 && !makers.some((ref) => cellOf(ref) === cellOf(bound.ref)) && !isAdopting(bound.marks);
    const isAsked = this.#classes.mayDelete(bound) || this.#asked.get(bound.ref.uid) === true || this.#led.wasToDelete(bound.ref);
    return bound.deleting && isAsked && !isOthers;
  }

  /** One that was deleted before the address stood in its status, or is gone by now, whoever has its name; or one that has, or asks for, another address. */
  #isLeft(ref: ObjectRef, address: Address): boolean {
    const object = this.#world.cluster.pool(ref);
    if (!object) return this.#left.get(ref.uid) === true;
    const own = fieldsOf(object.status).routedIP ?? fieldsOf(object.spec).routedIP ?? address;
    return (object.deleting || own !== address) && this.#classes.mayDelete(object, true);
  }

  /** Nobody was told of its last spec, or of its class, before it was gone, or that spec is not valid: the last valid one that was told counts, and what its class said then. */
  #wasToDelete({ ref, generation }: PoolObject): boolean {
    const context = this.#poolOf(cellOf(ref)) ?? this.#led.lastOf(cellOf(ref));
    const isOlder = context !== undefined && (!this.#led.isHearing() || context.generation < generation || context.error !== null);
    return isOlder && context.ref.uid === ref.uid && context.spec?.exposes?.reclaim === 'Delete';
  }

  /** A change of status alone is told to nobody. */
  #refresh(): void {
    for (const [cell, object] of this.#objects) this.#objects.set(cell, this.#world.cluster.pool(object.ref) ?? object);
  }

  #isGuarded(ref: ObjectRef): boolean {
    return this.#world.cluster.pool(ref)?.marks?.finalizers.includes(FINALIZER) ?? false;
  }

  /** The object that the records of that name are about: another one may bear the name by now, for which nothing was done yet. */
  #servedBy(cell: ActorId): PoolObject | undefined {
    const object = this.#objects.get(cell);
    const uid = this.#poolOf(cell)?.ref.uid ?? object?.ref.uid;
    return object?.ref.uid === uid ? object : undefined;
  }

  /** As a turn has told it since the records were lost last, else as whoever leads remembers it, who may have lost nothing. */
  #poolOf(cell: ActorId): PoolContext | undefined {
    const { invariants, processes } = this.#world;
    const remembered = processes.flatMap(({ supervisor }) => supervisor.records().get(cell)?.get(cell) ?? []);
    const record = invariants.records.get(cell) ?? remembered[0];
    return record?.snapshot.context as PoolContext | undefined;
  }

  /** Those for which a call may be under way: as records say, or, without these, statuses. What a list has told of nobody waits for. A Job says for whom it makes one. */
  #creating(): readonly ObjectRef[] {
    this.#refresh();
    const records = [...this.#world.invariants.records].filter(([actor, { chart }]) => chart === 'pool' && actor.startsWith('rip/'));
    const contexts = records.map(([, { snapshot }]) => snapshot.context as unknown as PoolContext);
    if (this.#making !== null) return this.#refsOf(this.#making, contexts);
    const recorded = new Set(contexts.map(({ ref }) => ref.uid));
    const shown = [...this.#objects.values()].filter(
      ({ ref, status }) => !recorded.has(ref.uid) && fieldsOf(status).pendingCreate !== undefined,
    );
    const creating = contexts.filter(({ acquiring }) => isCreating(acquiring));
    return [...creating, ...shown].flatMap(({ ref }) => (isOfJobs(this.#madeAt.get(ref.uid) ?? '') ? [] : ref));
  }

  #refsOf(uid: string, contexts: readonly PoolContext[]): readonly ObjectRef[] {
    return [...contexts, ...this.#objects.values(), ...this.#led.all()]
      .filter(({ ref }) => ref.uid === uid)
      .map(({ ref }) => ref)
      .slice(0, 1);
  }

  #note(rule: RoutedRule, text: string): void {
    this.#violations.push({ rule, at: this.#world.clock.monotonic(), text });
  }
}
