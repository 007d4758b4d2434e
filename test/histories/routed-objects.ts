import type { PoolObject } from '../../actors/ports/cluster.ts';
import type { Json } from '../../actors/ports.ts';
import type { ObjectRef } from '../../machines/jobs.ts';
import { PAUSED } from '../../machines/marks.ts';
import { boundAddress } from '../../machines/rebuild-routed-ip.ts';
import { type ActorId, type Address, MOVE_TO } from '../../machines/types.ts';
import { CLASS_NAME, type RoutedWorld } from '../actors/routed-world.ts';
import { type Moment, momentOf } from '../support/marks.ts';
import { PROVIDER } from '../support/world.ts';
import { ISSUER } from './routed-policies.ts';
import { serviceName } from './routed-services.ts';
import type { RoutedHappening, RoutedHistory, RoutedMark } from './routed-steps.ts';
import { addressOf, nodeName } from './steps.ts';

interface RoutedNow {
  readonly name: string;
  readonly service: number;
  policy: number;
  address: Address | null;
  ref: ObjectRef | null;
  /** Of the object of that uid: since when it is paused. */
  paused: { readonly uid: string; readonly since: Moment } | null;
}

/** Somebody who wants an address, as he stands in the cluster. */
export interface Claimant {
  readonly ref: ObjectRef;
  readonly createdAt: number;
  readonly deleting: boolean;
  /** Those that it names or has got. */
  readonly addresses: readonly Address[];
  /** Of a RoutedIP. */
  readonly service: string | null;
}

type OfRouted = Extract<RoutedHappening, { readonly routed: number }>;
const isMark = (what: OfRouted): what is RoutedMark => what.kind === 'pause' || what.kind === 'resume' || what.kind === 'moveTo';

const FORCE = { 'routedip.io/force-release': 'true' };

/** The RoutedIPs of a history and the pool beside them, and what people do to them. */
export class RoutedObjects {
  readonly #world: RoutedWorld;
  readonly #plans: readonly RoutedNow[];
  #pool: ObjectRef | null = null;

  constructor(world: RoutedWorld, { routed, pool }: RoutedHistory) {
    this.#world = world;
    this.#plans = routed.map(({ policy, service, address }, index) => ({
      name: `r${index}`,
      service,
      policy,
      address: address === null ? null : addressOf(address),
      ref: null,
      paused: null,
    }));
    this.list(pool);
    for (const [index, { isThere }] of routed.entries()) if (isThere) this.act({ kind: 'make', routed: index });
  }

  /** Those that are there. */
  refs(): readonly ObjectRef[] {
    return this.#plans.flatMap(({ ref }) => (ref && this.#world.cluster.pool(ref) ? [ref] : []));
  }

  /** All that want addresses, the oldest first. */
  claimants(): readonly Claimant[] {
    const routed = this.#plans.flatMap((plan) => this.#claimant(plan.ref, serviceName(plan.service)));
    return [...routed, ...this.#claimant(this.#pool, null)].sort((a, b) => a.createdAt - b.createdAt);
  }

  act(what: OfRouted): void {
    const plan = this.#plans[what.routed];
    if (!plan) return;
    if (isMark(what)) {
      this.#mark(plan, what);
      return;
    }
    const object = plan.ref && this.#world.cluster.pool(plan.ref);
    if (what.kind === 'ask') plan.address = what.address === null ? null : addressOf(what.address);
    if (what.kind === 'use') plan.policy = what.policy;
    const isEdit = what.kind === 'ask' || what.kind === 'use';
    if (object ? isEdit && !object.deleting : what.kind === 'make') this.#apply(plan);
    if (object && !isEdit && what.kind !== 'make') this.#delete(object, what.kind === 'force');
  }

  /** Since when the RoutedIP of that actor is paused; null while it is not. */
  pausedSince(actor: ActorId): Moment | null {
    const plan = this.#plans.find(({ name }) => actor === `rip/web/${name}`);
    return plan && this.#isPaused(plan) ? (plan.paused?.since ?? null) : null;
  }

  /** Requests that were not answered. */
  unanswered(): readonly string[] {
    return this.#plans.flatMap(({ name, ref }) => {
      const asked = ref && this.#world.cluster.pool(ref)?.marks?.annotations[MOVE_TO];
      return asked ? [`${name} has not answered ${asked}`] : [];
    });
  }

  #isPaused({ ref, paused }: RoutedNow): boolean {
    return paused !== null && ref !== null && this.#world.cluster.pool(ref)?.ref.uid === paused.uid;
  }

  #mark(plan: RoutedNow, what: RoutedMark): void {
    const { cluster } = this.#world;
    const object = plan.ref && cluster.pool(plan.ref);
    if (!object) return;
    const annotations = object.marks?.annotations ?? {};
    const { [PAUSED]: _, ...others } = annotations;
    if (what.kind === 'moveTo') cluster.annotate(object.ref, { ...annotations, [MOVE_TO]: nodeName(what.node) });
    else if (what.kind === 'pause') {
      if (!this.#isPaused(plan)) plan.paused = { uid: object.ref.uid, since: momentOf(this.#world) };
      cluster.annotate(object.ref, { ...others, [PAUSED]: 'true' });
    } else {
      if (this.#isPaused(plan)) cluster.annotate(object.ref, others);
      plan.paused = null;
    }
  }

  #delete({ ref, deleting, marks }: PoolObject, isForced: boolean): void {
    if (!deleting) this.#world.cluster.markDeleting(ref);
    if (isForced) this.#world.cluster.annotate(ref, { ...marks?.annotations, ...FORCE });
  }

  /** The pool is to have these, and is gone without any. */
  list(addresses: readonly number[]): void {
    const { cluster } = this.#world;
    if (addresses.length === 0) {
      if (this.#pool) cluster.removePool(this.#pool);
      this.#pool = null;
      return;
    }
    const spec = {
      provider: PROVIDER,
      region: 'nyc3',
      match: { nodeLabel: 'pool=work' },
      drainPolicy: 'OnCordon',
      ips: addresses.map(addressOf),
    };
    this.#pool = cluster.setPool({ name: 'beside', spec });
  }

  /** None is paused any more; whoever asked for another address than the one that his RoutedIP has got takes that back. */
  mend(): void {
    for (const plan of this.#plans) {
      this.#mark(plan, { kind: 'resume', routed: 0 });
      const object = plan.ref && this.#world.cluster.pool(plan.ref);
      if (!object || object.deleting) continue;
      const bound = boundAddress(object.status);
      if (bound && plan.address && bound !== plan.address) {
        plan.address = bound;
        this.#apply(plan);
      }
    }
  }

  /** A person names the address that a RoutedIP is to have. */
  settle(ref: ObjectRef, address: Address): void {
    const plan = this.#plans.find((each) => each.ref?.uid === ref.uid);
    if (!plan) return;
    plan.address = address;
    this.#apply(plan);
  }

  #apply(plan: RoutedNow): void {
    const spec: { readonly [field: string]: Json } = {
      ...(plan.policy === 0 ? { className: CLASS_NAME } : { issuerRef: { name: ISSUER } }),
      serviceRef: { serviceName: serviceName(plan.service) },
      ...(plan.address && { routedIP: plan.address }),
    };
    plan.ref = this.#world.cluster.setPool({ kind: 'RoutedIP', namespace: 'web', name: plan.name, spec });
  }

  #claimant(ref: ObjectRef | null, service: string | null): readonly Claimant[] {
    const object = ref && this.#world.cluster.pool(ref);
    if (!object) return [];
    const { ips, routedIP } = object.spec as { readonly ips?: readonly Address[]; readonly routedIP?: Address };
    const own = routedIP ?? boundAddress(object.status);
    return [{ ref, createdAt: object.createdAt, deleting: object.deleting, addresses: ips ?? (own ? [own] : []), service }];
  }
}
