import type { PoolObject } from '../../actors/ports/cluster.ts';
import type { AddressContext } from '../../machines/address/context.ts';
import { isOwn } from '../../machines/address/context.ts';
import { memo } from '../../machines/model/memo.ts';
import type { ObjectRef } from '../../machines/model/types.ts';
import { type Address, fieldsOf, type ProviderID } from '../../machines/model/types.ts';
import type { PoolContext } from '../../machines/pool/context.ts';
import { rememberedPool } from '../../machines/status/restore-pool.ts';
import { rememberedRoutedIP } from '../../machines/status/restore-routedip.ts';
import { providerIDOf, type World } from './world.ts';

/** How long what was decided may still take effect, virtual ms: somebody may attach the address to another machine between the last look and the call, a Node may be deleted and
 *  a class changed once an address was granted a node, and a Job may wait for its Pod. */
const STALE_MS = { look: 30_000, grant: 150_000, job: 400_000 } as const;

export type AdoptionRule = 'takes nothing off machines outside of the cluster';

export interface Owner {
  readonly ref: ObjectRef;
  /** It may take what is on other machines. */
  readonly mayTake: boolean;
  readonly isByJobs: boolean;
}

interface Shown {
  readonly own: ReadonlySet<Address>;
  /** What was taken out of the list of a pool, which lets go of it. Listed again it is not its own before a status shows that anew: the last one may be from before. */
  readonly unlisted: ReadonlySet<Address>;
}

/** Nobody takes an address off a machine outside of the cluster that was never its own, unless he may. */
export class AdoptionRules {
  readonly violations: { readonly rule: AdoptionRule; readonly at: number; readonly text: string }[] = [];
  readonly #world: World;
  readonly #owners: () => readonly Owner[];
  /** What was an object's own once: `<uid> <address>`. */
  readonly #own = new Set<string>();
  /** By uid: what the status of an object has shown to be. */
  readonly #shown = new Map<string, Shown>();
  /** When an object was last seen to be free to take anything, by uid. */
  readonly #freeAt = new Map<string, number>();
  /** Since when a machine that is none of the cluster's has been none, and since when it has had the address. */
  readonly #outsideSince = new Map<string, number>();
  readonly #heldSince = new Map<Address, number>();

  constructor(world: World, owners: () => readonly Owner[]) {
    this.#world = world;
    this.#owners = owners;
    const { cloud } = world.provider;
    const { assign, moveByHand } = cloud;
    cloud.assign = (address, node) => {
      this.#check(address, node);
      return assign.call(cloud, address, node);
    };
    cloud.moveByHand = (address, providerID) => {
      this.#heldSince.set(address, this.#now);
      moveByHand.call(cloud, address, providerID);
    };
    const { invariants } = world;
    const { turnSaved } = invariants;
    invariants.turnSaved = (turn) => {
      turnSaved.call(invariants, turn);
      this.look();
    };
  }

  get #now(): number {
    return this.#world.clock.monotonic();
  }

  /** Before and after whatever people do, and after every turn. */
  look(): void {
    for (const { ref, mayTake } of this.#owners()) {
      if (mayTake) this.#freeAt.set(ref.uid, this.#now);
      this.#noteShown(this.#world.cluster.pool(ref));
    }
    for (const context of this.#addresses()) if (isOwn(context)) this.#own.add(`${this.#uidOf(context)} ${context.address}`);
    const nodes = new Set(this.#world.cluster.machines());
    const held = this.#world.provider.cloud.addresses().flatMap(({ providerID }) => providerID ?? []);
    for (const machine of held) if (!nodes.has(machine) && !this.#outsideSince.has(machine)) this.#outsideSince.set(machine, this.#now);
    for (const machine of this.#outsideSince.keys()) if (nodes.has(machine)) this.#outsideSince.delete(machine);
  }

  #noteShown(object: PoolObject | null): void {
    if (!object) return;
    const { own, unlisted } = this.#shown.get(object.ref.uid) ?? { own: new Set(), unlisted: new Set() };
    const shown = new Set(ownIn(object));
    const known = own.union(shown);
    const left = unlisted.intersection(shown).union(known.difference(listedIn(object) ?? known));
    this.#shown.set(object.ref.uid, { own: known.difference(left), unlisted: left });
  }

  /** As they were recorded last. */
  #addresses(): readonly AddressContext[] {
    return [...this.#world.invariants.records.values()].flatMap(({ chart, snapshot }) =>
      chart === 'ip' ? [snapshot.context as unknown as AddressContext] : [],
    );
  }

  #uidOf({ pool }: AddressContext): string {
    return (this.#world.invariants.records.get(pool)?.snapshot.context as unknown as PoolContext | undefined)?.ref.uid ?? '';
  }

  #check(address: Address, node: ProviderID): void {
    const { cloud } = this.#world.provider;
    const holder = cloud.addresses().find((each) => each.address === address)?.providerID ?? null;
    if (holder === null || holder === node) return;
    this.look();
    const outsideSince = this.#outsideSince.get(holder);
    if (outsideSince === undefined) return;
    const asked = this.#addresses()
      .filter((context) => context.address === address && context.elected?.providerID === node)
      .map((context) => this.#uidOf(context));
    const owner = this.#owners().find(({ ref }) => asked.includes(ref.uid));
    if (!owner || this.#own.has(`${owner.ref.uid} ${address}`)) return;
    const stale = owner.isByJobs ? STALE_MS.job : holder === providerIDOf('foreign') ? STALE_MS.look : STALE_MS.grant;
    const since = Math.max(outsideSince, this.#heldSince.get(address) ?? 0);
    const isLate = this.#now - since <= stale || this.#now - (this.#freeAt.get(owner.ref.uid) ?? Number.NEGATIVE_INFINITY) <= STALE_MS.job;
    if (isLate) return;
    this.#note('takes nothing off machines outside of the cluster', `${address} is taken off ${holder} by ${owner.ref.name}`);
  }

  #note(rule: AdoptionRule, text: string): void {
    this.violations.push({ rule, at: this.#now, text });
  }

  /** Its status has shown that the address was its own: nothing holds up its failover. */
  hasShown(uid: string, address: Address): boolean {
    return this.#shown.get(uid)?.own.has(address) ?? false;
  }
}

/** The addresses of which the status says that they are its own. Looked for after every turn, and an object is written only now and then: each write makes another one. */
const ownIn = memo((object: PoolObject): readonly Address[] => {
  const remember = object.ref.kind === 'RoutedIP' ? rememberedRoutedIP : rememberedPool;
  const { addresses, created } = remember(object.status, 0, 0);
  return (Object.keys(addresses) as Address[]).filter((address) =>
    isOwn({ origin: created.includes(address) ? 'Created' : 'Found', epoch: 0, ...addresses[address] }),
  );
});

/** What a pool lists; null for a RoutedIP, which has what it has got for good. */
const listedIn = ({ ref, spec }: PoolObject): ReadonlySet<Address> | null =>
  ref.kind === 'FloatingIPPool' ? new Set(fieldsOf<readonly Address[]>(spec).ips ?? []) : null;
