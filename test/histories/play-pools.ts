import type { Json } from '../../actors/ports.ts';
import type { ObjectRef } from '../../machines/jobs.ts';
import { PAUSED } from '../../machines/marks.ts';
import { type ActorId, type Address, MOVE_TO } from '../../machines/types.ts';
import { type Moment, momentOf } from '../support/marks.ts';
import { type Claiming, ownersOf, shownBy } from '../support/owners.ts';
import type { World } from '../support/world.ts';
import { addressOf, type Happening, type History, nameOf, nodeName, type PoolRules, ZONE } from './steps.ts';

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
export interface PlayedPool {
  readonly ref: ObjectRef;
  readonly createdAt: number;
  readonly recordName: number | null;
  readonly listed: readonly Address[];
  /** Of those that it lists the first so many are wanted. */
  readonly desired: number;
}

type Edit = Extract<Happening, { readonly pool: number }>;
type Mark = { readonly kind: 'pause' | 'resume' } | { readonly kind: 'moveTo'; readonly address: number; readonly node: number };

/** The pools of a history, and what people do to them. */
export class PlayedPools {
  readonly #world: World;
  readonly #plans: readonly PoolPlan[];
  readonly #beforeEdit: () => void;

  /** `beforeEdit` is told before a person takes anything out of a spec. */
  constructor(world: World, history: History, beforeEdit: () => void) {
    this.#world = world;
    this.#beforeEdit = beforeEdit;
    this.#plans = history.pools.map((ips, index) => ({
      name: `pool-${index}`,
      ips: ips.map(addressOf),
      extra: history.extra?.[index] ?? 0,
      coolOffSeconds: history.coolOffSeconds,
      rules: history.rules?.[index] ?? {},
      broken: false,
      recordName: history.names?.[index] ?? null,
      ref: null,
      pausedSince: null,
    }));
  }

  makeAll(): void {
    for (const plan of this.#plans) this.#apply(plan, plan.ips);
  }

  edit(what: Edit): void {
    const plan = this.#plans[what.pool];
    if (!plan) return;
    const listed = this.#listed(plan);
    this.#beforeEdit();
    if (what.kind === 'removePool') {
      if (plan.ref) this.#world.cluster.removePool(plan.ref);
      plan.ref = null;
      plan.pausedSince = null;
      return;
    }
    if (what.kind === 'pause' || what.kind === 'resume' || what.kind === 'moveTo') {
      this.#mark(plan, what);
      return;
    }
    change(plan, what);
    // Who lists addresses applies a manifest: what the operator has added is not in it.
    if (what.kind === 'list') this.#apply(plan, plan.ips, plan.ref !== null);
    else this.#apply(plan, listed ?? plan.ips, plan.ref !== null || what.kind === 'makePool');
  }

  /** Valid specs for all that are there, and none of them is paused. What was asked for stays asked for. */
  mend(): void {
    for (const plan of this.#plans) {
      this.#mark(plan, { kind: 'resume' });
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

  /** Requests that were not answered. */
  unanswered(): readonly string[] {
    return this.#plans.flatMap(({ name, ref }) => {
      const asked = ref && this.#world.cluster.pool(ref)?.marks?.annotations[MOVE_TO];
      return asked ? [`${name} has not answered ${asked}`] : [];
    });
  }

  /** What each asks for, and has by its status. */
  claiming(): readonly Claiming<string>[] {
    return this.byAge().map((pool) => claimingOf(this.#world, pool));
  }

  byAge(): readonly PlayedPool[] {
    return this.#plans.flatMap((plan) => this.#played(plan)).sort((a, b) => a.createdAt - b.createdAt);
  }

  /** Whether nodes that are about to go may keep a pool from moving anything: it counts those that it does not drain. */
  holdForLeaving(): boolean {
    return this.#plans.some(({ ref, rules }) => ref && rules.safeHold && rules.drainPolicy !== 'OnCordon');
  }

  #mark(plan: PoolPlan, what: Mark): void {
    const { cluster } = this.#world;
    const pool = plan.ref && cluster.pool(plan.ref);
    if (!pool) return;
    const annotations = pool.marks?.annotations ?? {};
    const { [PAUSED]: _, ...others } = annotations;
    if (what.kind === 'moveTo') {
      const asked = [annotations[MOVE_TO] ?? [], `${addressOf(what.address)}=${nodeName(what.node)}`].flat().join(',');
      cluster.annotate(pool.ref, { ...annotations, [MOVE_TO]: asked });
    } else if (what.kind === 'pause') {
      plan.pausedSince ??= momentOf(this.#world);
      cluster.annotate(pool.ref, { ...others, [PAUSED]: 'true' });
    } else {
      if (plan.pausedSince !== null) cluster.annotate(pool.ref, others);
      plan.pausedSince = null;
    }
  }

  #played({ ref, recordName }: PoolPlan): readonly PlayedPool[] {
    const pool = ref && this.#world.cluster.pool(ref);
    if (!pool) return [];
    const { ips = [], desiredIPs } = pool.spec as { readonly ips?: readonly Address[]; readonly desiredIPs?: number };
    return [{ ref, createdAt: pool.createdAt, recordName, listed: ips, desired: desiredIPs ?? ips.length }];
  }

  #listed({ ref }: PoolPlan): readonly Address[] | null {
    const spec = ref && (this.#world.cluster.pool(ref)?.spec as { readonly ips?: readonly Address[] } | undefined);
    return spec ? (spec.ips ?? []) : null;
  }

  #apply(plan: PoolPlan, ips: readonly Address[], isThere = true): void {
    if (!isThere) return;
    plan.ref = this.#world.pool(plan.name, {
      ips: [...ips],
      ...(plan.extra > 0 && { desiredIPs: plan.ips.length + plan.extra }),
      assignmentCoolOffSeconds: plan.coolOffSeconds,
      ...(plan.rules as { readonly [field: string]: Json }),
      match: { nodeLabel: plan.broken ? 'pool in (' : 'pool=work' },
      ...(plan.recordName !== null && { dnsRecordSet: { zone: ZONE, recordName: nameOf(plan.recordName) } }),
    });
  }
}

function change(plan: PoolPlan, what: Edit): void {
  if (what.kind === 'list') plan.ips = what.addresses.map(addressOf);
  if (what.kind === 'want') plan.extra = what.extra;
  if (what.kind === 'name') plan.recordName = what.name;
  if (what.kind === 'rules') plan.rules = what.rules;
  if (what.kind === 'coolOff') plan.coolOffSeconds = what.seconds;
  if (what.kind === 'breakSpec') plan.broken = true;
  if (what.kind === 'mendSpec') plan.broken = false;
}

export const claimingOf = (world: World, { ref, createdAt, listed }: PlayedPool): Claiming<string> => ({
  id: ref.uid,
  createdAt,
  addresses: listed,
  has: shownBy(world.cluster.pool(ref)),
});

/** What is wrong with what the statuses say, and the addresses that are wanted: each by the pool that has it. */
export function wrongStates(
  world: World,
  pools: readonly PlayedPool[],
): { readonly wrongs: readonly string[]; readonly wanted: ReadonlySet<Address> } {
  const owners = ownersOf(pools.map((pool) => claimingOf(world, pool)));
  const wanted = new Set<Address>();
  const wrongs = pools.flatMap(({ ref, listed, desired }) => {
    const states = world.states(ref);
    const lacking = listed.length < desired ? [`${ref.name} lists ${listed.length} of ${desired} addresses`] : [];
    const held = world.status(ref).safeHold ? [`${ref.name} still holds`] : [];
    const wrong = listed.flatMap((address, index) => {
      const expected = owners.get(address) !== ref.uid ? 'error' : index < desired ? 'active' : 'disabled';
      if (expected === 'active') wanted.add(address);
      return states[address] === expected ? [] : [`${ref.name} says ${states[address]} of ${address}, not ${expected}`];
    });
    return [...lacking, ...held, ...wrong];
  });
  return { wrongs, wanted };
}
