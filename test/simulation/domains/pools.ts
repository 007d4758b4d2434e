import fc from 'fast-check';
import type { Json } from '../../../actors/ports/records.ts';
import type { ObjectRef } from '../../../machines/model/types.ts';
import { type ActorId, type Address, MOVE_TO, UNASSIGNED } from '../../../machines/model/types.ts';
import { PAUSED } from '../../../machines/pool/annotations.ts';
import { type Moment, momentOf } from '../../support/marks.ts';
import { ADDRESSES, type Domain, index, NODES, of, type Played, POOLS, type Stage } from '../domain.ts';
import { addressOf, NAMES, nameOf, nodeName, ZONE } from '../history.ts';
import { type Claimant, forgets } from '../made.ts';

/** What a spec says of how much is borne before an address is moved, in its own words. */
export interface PoolRules {
  readonly recoveryGraceSeconds?: number;
  readonly drainPolicy?: 'OnNotReady' | 'OnCordon';
  readonly safeHold?: { readonly maxUnavailable: number; readonly windowSeconds: number };
  readonly contention?: { readonly moves: number; readonly windowSeconds: number; readonly takeover: 'Yield' | 'Reclaim' };
}

/** A pool as people want it at first. */
export interface PoolSetup {
  /** Addresses that it lists. */
  readonly ips: readonly number[];
  /** So many more than it lists are wanted. */
  readonly extra?: number;
  readonly coolOffSeconds: number;
  readonly rules?: PoolRules;
  /** The name under which it is published. */
  readonly name?: number | null;
}

export type PoolHappening =
  | { readonly kind: 'list'; readonly pool: number; readonly addresses: readonly number[] }
  | { readonly kind: 'coolOff'; readonly pool: number; readonly seconds: number }
  | { readonly kind: 'rules'; readonly pool: number; readonly rules: PoolRules }
  | { readonly kind: 'breakSpec' | 'mendSpec' | 'removePool' | 'makePool'; readonly pool: number }
  /** It is deleted and made again at once, as another object; `isDown`: while the operator restarts. */
  | { readonly kind: 'recreate'; readonly pool: number; readonly isDown: boolean }
  /** So many addresses more than it lists. */
  | { readonly kind: 'want'; readonly pool: number; readonly extra: number }
  | { readonly kind: 'name'; readonly pool: number; readonly name: number | null }
  | PoolMark;

/** Somebody puts the annotation on that has the operator decide nothing, or takes it off; or asks for an address to go to a node, besides what was asked for before. */
type PoolMark =
  | { readonly kind: 'pause' | 'resume'; readonly pool: number }
  | { readonly kind: 'moveTo'; readonly pool: number; readonly address: number; readonly node: number }
  /** An address is wanted on no node; whatever was is granted nodes again. */
  | { readonly kind: 'park'; readonly pool: number; readonly address: number }
  | { readonly kind: 'takeBack'; readonly pool: number };

/** A pool as people want it. What the operator adds to its spec stands in the cluster alone. */
interface PoolPlan {
  readonly name: string;
  ips: readonly Address[];
  extra: number;
  coolOffSeconds: number;
  rules: PoolRules;
  broken: boolean;
  recordName: number | null;
  ref: ObjectRef | null;
  /** Since when it is paused; null while it is not. */
  pausedSince: Moment | null;
}

/** A pool as it stands in the cluster. */
export interface PlayedPool extends Claimant {
  readonly recordName: number | null;
  /** Of those that it lists the first so many are wanted. */
  readonly desired: number;
}

/** The pools of a history, and what people do to them. */
export class PlayedPools implements Played<PoolHappening> {
  readonly #stage: Stage;
  readonly #plans: readonly PoolPlan[];
  /** Addresses that nodes bore while the store did not know of them: what was decided without it. Null where nothing is. */
  readonly #unwritten: Set<string> | null;

  constructor(stage: Stage, setups: readonly PoolSetup[]) {
    this.#stage = stage;
    this.#unwritten = stage.world.isAway ? new Set() : null;
    this.#plans = setups.map(({ ips, extra = 0, coolOffSeconds, rules = {}, name = null }, index) => ({
      name: `pool-${index}`,
      ips: ips.map(addressOf),
      extra,
      coolOffSeconds,
      rules,
      broken: false,
      recordName: name,
      ref: null,
      pausedSince: null,
    }));
    for (const plan of this.#plans) this.#apply(plan, plan.ips);
  }

  act(what: PoolHappening): unknown {
    const plan = this.#plans[what.pool];
    if (!plan) return;
    if (what.kind === 'recreate' && what.isDown) return this.#stage.operator.whileDown(() => this.act({ ...what, isDown: false }));
    const listed = this.#listed(plan);
    this.#stage.made.rules.noteSpecs();
    if (what.kind === 'removePool' || what.kind === 'recreate') {
      this.#remove(plan, what.kind === 'recreate' ? listed : null);
      return;
    }
    if (isMark(what)) {
      this.#mark(plan, what);
      return;
    }
    change(plan, what);
    // Who lists addresses applies a manifest: what the operator has added is not in it.
    if (what.kind === 'list') this.#apply(plan, plan.ips, plan.ref !== null);
    else this.#apply(plan, listed ?? plan.ips, plan.ref !== null || what.kind === 'makePool');
  }

  /** Valid specs for all that are there, none of them is paused, and no address is wanted on no node. What was asked for stays asked for. */
  mend(): void {
    for (const plan of this.#plans) {
      for (const kind of ['resume', 'takeBack'] as const) this.#mark(plan, { kind, pool: 0 });
      plan.broken = false;
      // One that lists no address and wants none is not valid either.
      if ((this.#listed(plan) ?? []).length === 0) plan.extra = Math.max(1, plan.extra);
      this.#apply(plan, this.#listed(plan) ?? plan.ips, plan.ref !== null);
    }
  }

  /** A person adds an address to what the pool lists. */
  add(ref: ObjectRef, address: Address): void {
    const plan = this.#plans.find((each) => each.ref?.uid === ref.uid);
    if (plan) this.#apply(plan, [...(this.#listed(plan) ?? []), address]);
  }

  /** Since when the pool of that actor is paused; null while it is not. */
  pausedSince(actor: ActorId): Moment | null {
    return this.#plans.find(({ name }) => actor === `pool/default/${name}`)?.pausedSince ?? null;
  }

  refs(): readonly ObjectRef[] {
    return this.claimants().map(({ ref }) => ref);
  }

  claimants(): readonly PlayedPool[] {
    return this.#plans.flatMap((plan) => this.#played(plan));
  }

  /** How many nodes they may want at once: what is listed and not wanted may sit on a node, and each may be about to list one more. */
  nodesWanted(): number {
    return this.claimants().reduce((sum, { addresses, desired }) => sum + Math.max(addresses.length, desired) + 1, 0);
  }

  /** Whether nodes that are about to go may keep a pool from moving anything: it counts those that it does not drain. */
  holdForLeaving(): boolean {
    return this.#plans.some(({ ref, rules }) => ref && rules.safeHold && rules.drainPolicy !== 'OnCordon');
  }

  /** Addresses that are wanted: each by the pool that has it. */
  wanted(): ReadonlySet<Address> {
    const owners = this.#stage.made.owners();
    return new Set(
      this.claimants().flatMap(({ ref, addresses, desired }) =>
        addresses.slice(0, desired).filter((address) => owners.get(address) === ref.uid),
      ),
    );
  }

  wrongs(): readonly string[] {
    const { made, nodes, world } = this.#stage;
    const owners = made.owners();
    const wanted = this.wanted();
    const places = [...wanted].flatMap((address) => {
      const holder = world.holderIfAny(address);
      return holder !== null && nodes.mayHold(holder) ? [] : [`${address} is on ${holder}`];
    });
    return [
      ...this.claimants().flatMap((pool) => this.#wrongsOf(pool, owners)),
      ...places,
      ...this.#wrongAnnotations(wanted),
      ...this.#unanswered(),
    ];
  }

  /** What only a process knew that ended without the store may stay, too. */
  noteUnwritten(): void {
    if (!this.#unwritten) return;
    const annotated = Object.values(this.#stage.world.cluster.annotations()).filter((address) => !this.#unwritten?.has(address));
    if (annotated.length === 0) return;
    const stored = JSON.stringify([...this.#stage.world.store.checkpoint().data.cells.values()].map(({ records }) => [...records]));
    for (const address of annotated) if (!stored.includes(`"${address}\\"`)) this.#unwritten.add(address);
  }

  #wrongsOf({ ref, addresses, desired }: PlayedPool, owners: ReadonlyMap<Address, string>): readonly string[] {
    const { world } = this.#stage;
    const states = world.states(ref);
    const lacking = addresses.length < desired ? [`${ref.name} lists ${addresses.length} of ${desired} addresses`] : [];
    const held = world.status(ref).safeHold ? [`${ref.name} still holds`] : [];
    const wrong = addresses.flatMap((address, index) => {
      const expected = owners.get(address) !== ref.uid ? 'error' : index < desired ? 'active' : 'disabled';
      return states[address] === expected ? [] : [`${ref.name} says ${states[address]} of ${address}, not ${expected}`];
    });
    return [...lacking, ...held, ...wrong, ...this.#misplaced(ref)];
  }

  /** What was moved by hand may be where it might stay, and is found there only when the provider is read: until then a status says otherwise, and what is done about it is still
   *  to come. */
  #misplaced(ref: ObjectRef): readonly string[] {
    const { world } = this.#stage;
    return Object.entries(world.status(ref).ips ?? {}).flatMap(([address, { state, nodeName }]) => {
      const on = world.holderIfAny(address as Address);
      return state !== 'active' || nodeName === on ? [] : [`${ref.name} says that ${address} is on ${nodeName}, and it is on ${on}`];
    });
  }

  #wrongAnnotations(wanted: ReadonlySet<Address>): readonly string[] {
    const { world } = this.#stage;
    const shown = world.cluster.annotations();
    // A node that holds several is annotated with one of them.
    const isShown = (address: Address): boolean | undefined => {
      const on = world.holderIfAny(address);
      const there = on === null ? undefined : shown[on];
      return there !== undefined && (wanted.has(there) || this.#stage.attacker?.claims(there)) && world.holderIfAny(there) === on;
    };
    const missing = [...wanted].filter((address) => !isShown(address));
    const others = Object.entries(shown).filter(([node, address]) =>
      wanted.has(address)
        ? world.holderIfAny(address) !== node
        : !forgets(this.#stage) && !this.#unwritten?.has(address) && !this.#stage.attacker?.claims(address),
    );
    return [
      ...missing.map((address) => `${address} is not annotated`),
      ...others.map(([node, address]) => `${node} is annotated ${address}`),
    ];
  }

  /** Requests that were not answered. */
  #unanswered(): readonly string[] {
    return this.#plans.flatMap(({ name, ref }) => {
      const asked = ref && this.#stage.world.cluster.pool(ref)?.marks?.annotations[MOVE_TO];
      return asked ? [`${name} has not answered ${asked}`] : [];
    });
  }

  #remove(plan: PoolPlan, again: readonly Address[] | null): void {
    if (plan.ref) this.#stage.world.cluster.removePool(plan.ref);
    const wasThere = plan.ref !== null;
    plan.ref = null;
    plan.pausedSince = null;
    if (again && wasThere) this.#apply(plan, again);
  }

  #mark(plan: PoolPlan, what: PoolMark): void {
    const { cluster } = this.#stage.world;
    const pool = plan.ref && cluster.pool(plan.ref);
    if (!pool) return;
    const annotations = pool.marks?.annotations ?? {};
    const { [PAUSED]: _, ...others } = annotations;
    if (what.kind === 'moveTo') {
      const asked = [annotations[MOVE_TO] ?? [], `${addressOf(what.address)}=${nodeName(what.node)}`].flat().join(',');
      cluster.annotate(pool.ref, { ...annotations, [MOVE_TO]: asked });
    } else if (what.kind === 'park') {
      const asked = [annotations[UNASSIGNED] ?? [], addressOf(what.address)].flat().join(',');
      this.#stage.world.invariants.unwanted.add(addressOf(what.address));
      cluster.annotate(pool.ref, { ...annotations, [UNASSIGNED]: asked });
    } else if (what.kind === 'takeBack') {
      const { [UNASSIGNED]: _asked, ...left } = annotations;
      cluster.annotate(pool.ref, left);
    } else if (what.kind === 'pause') {
      plan.pausedSince ??= momentOf(this.#stage.world);
      cluster.annotate(pool.ref, { ...others, [PAUSED]: 'true' });
    } else {
      if (plan.pausedSince !== null) cluster.annotate(pool.ref, others);
      plan.pausedSince = null;
    }
  }

  #played({ ref, recordName }: PoolPlan): readonly PlayedPool[] {
    const pool = ref && this.#stage.world.cluster.pool(ref);
    if (!pool) return [];
    const { ips = [], desiredIPs } = pool.spec as { readonly ips?: readonly Address[]; readonly desiredIPs?: number };
    return [{ ref, createdAt: pool.createdAt, deleting: false, recordName, addresses: ips, desired: desiredIPs ?? ips.length }];
  }

  #listed({ ref }: PoolPlan): readonly Address[] | null {
    const spec = ref && (this.#stage.world.cluster.pool(ref)?.spec as { readonly ips?: readonly Address[] } | undefined);
    return spec ? (spec.ips ?? []) : null;
  }

  #apply(plan: PoolPlan, ips: readonly Address[], isThere = true): void {
    if (!isThere) return;
    plan.ref = this.#stage.world.pool(plan.name, {
      ips: [...ips],
      ...(plan.extra > 0 && { desiredIPs: plan.ips.length + plan.extra }),
      assignmentCoolOffSeconds: plan.coolOffSeconds,
      ...(plan.rules as { readonly [field: string]: Json }),
      match: { nodeLabel: plan.broken ? 'pool in (' : 'pool=work' },
      ...(plan.recordName !== null && { dnsRecordSet: { zone: ZONE, recordName: nameOf(plan.recordName) } }),
    });
  }
}

const isMark = (what: PoolHappening): what is PoolMark => ['pause', 'resume', 'moveTo', 'park', 'takeBack'].includes(what.kind);

function change(plan: PoolPlan, what: PoolHappening): void {
  if (what.kind === 'list') plan.ips = what.addresses.map(addressOf);
  if (what.kind === 'want') plan.extra = what.extra;
  if (what.kind === 'name') plan.recordName = what.name;
  if (what.kind === 'rules') plan.rules = what.rules;
  if (what.kind === 'coolOff') plan.coolOffSeconds = what.seconds;
  if (what.kind === 'breakSpec') plan.broken = true;
  if (what.kind === 'mendSpec') plan.broken = false;
}

const windowSeconds = fc.constantFrom(20, 60, 300);
/** Each rule by itself: most specs have none, some have several. */
const rules: fc.Arbitrary<PoolRules> = fc.record(
  {
    recoveryGraceSeconds: fc.constantFrom(5, 30, 120),
    drainPolicy: fc.constantFrom('OnCordon' as const, 'OnNotReady' as const),
    safeHold: fc.record({ maxUnavailable: fc.integer({ min: 1, max: 2 }), windowSeconds }),
    contention: fc.record({
      moves: fc.integer({ min: 1, max: 2 }),
      windowSeconds,
      takeover: fc.constantFrom('Yield' as const, 'Reclaim' as const),
    }),
  },
  { requiredKeys: [] },
);
const coolOffSeconds = fc.constantFrom(0, 0, 3, 10);
const extra = index(3);
const name = fc.option(index(NAMES));
const pool = index(POOLS);
const address = index(ADDRESSES);

/** What pools list at first: of addresses that are there, and of some that they make. */
const listed = fc.constantFrom<readonly number[][]>(
  [[0, 1]],
  [[0, 1, 2]],
  [[0, 1], [2]],
  [
    [0, 1],
    [1, 2, 3],
  ],
  [[]],
  [[0]],
  [[0], []],
  [[0], [0, 1]],
);

export const poolSetups = (isNamed: boolean): fc.Arbitrary<readonly PoolSetup[]> =>
  listed.chain((pools) =>
    fc.tuple(
      ...pools.map((ips) =>
        fc.record({
          ips: fc.constant(ips),
          extra: fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, extra),
          coolOffSeconds,
          rules: fc.oneof(fc.constant<PoolRules>({}), rules),
          ...(isNamed && { name }),
        }),
      ),
    ),
  );

export const POOLS_DOMAIN: Domain<PoolHappening, PlayedPools> = {
  sorts: [
    { weight: 3, arbitrary: fc.record({ kind: of('list'), pool, addresses: fc.uniqueArray(address, { minLength: 1 }) }) },
    { weight: 1, arbitrary: fc.record({ kind: of('coolOff'), pool, seconds: fc.constantFrom(0, 3, 10) }) },
    { weight: 1, arbitrary: fc.record({ kind: of('rules'), pool, rules }) },
    { weight: 2, arbitrary: fc.record({ kind: of('breakSpec', 'mendSpec', 'removePool', 'makePool'), pool }) },
    { weight: 1, arbitrary: fc.record({ kind: of('recreate'), pool, isDown: fc.boolean() }) },
    { weight: 2, arbitrary: fc.record({ kind: of('want'), pool, extra }) },
    { weight: 1, arbitrary: fc.record({ kind: of('name'), pool, name }) },
    { weight: 1, arbitrary: fc.record({ kind: of('pause', 'resume'), pool }) },
    { weight: 1, arbitrary: fc.oneof(fc.record({ kind: of('park'), pool, address }), fc.record({ kind: of('takeBack'), pool })) },
    { weight: 2, arbitrary: fc.record({ kind: of('moveTo'), pool, address, node: index(NODES) }) },
  ],
  open: (stage) => new PlayedPools(stage, stage.history.pools ?? []),
};
