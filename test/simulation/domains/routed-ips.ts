import fc from 'fast-check';
import type { PoolObject } from '../../../actors/ports/cluster.ts';
import type { ActorRecord, Json } from '../../../actors/ports/records.ts';
import type { ObjectRef } from '../../../machines/model/types.ts';
import { type ActorId, type Address, MOVE_TO } from '../../../machines/model/types.ts';
import { PAUSED } from '../../../machines/pool/annotations.ts';
import type { PoolContext } from '../../../machines/pool/context.ts';
import { boundAddress } from '../../../machines/status/restore-routedip.ts';
import { CLASS_NAME } from '../../actors/routedip/world.ts';
import type { Owner } from '../../support/adoption-rules.ts';
import { type Moment, momentOf } from '../../support/marks.ts';
import type { RoutedRules } from '../../support/routed-rules.ts';
import { ADDRESSES, type Domain, exactly, index, NODES, of, orNull, type Played, type Stage, type Violation } from '../domain.ts';
import { addressOf, ISSUER, nodeName, serviceName } from '../history.ts';
import type { Claimant } from '../made.ts';
import { wrongRoutedIPs } from './routed-ips-end.ts';

export interface RoutedIPSetup {
  readonly policy: number;
  readonly service: number;
  /** The address that its spec names; null for one that is created. */
  readonly address: number | null;
  /** It is there from the start. */
  readonly isThere: boolean;
}

export type RoutedIPHappening =
  /** `force`: it is deleted, and let go at once. */
  | { readonly kind: 'make' | 'remove' | 'force'; readonly routed: number }
  /** That, and it is made again at once, as another object; `isDown`: while the operator restarts. */
  | { readonly kind: 'recreate'; readonly routed: number; readonly isDown: boolean }
  | { readonly kind: 'ask'; readonly routed: number; readonly address: number | null }
  | { readonly kind: 'use'; readonly routed: number; readonly policy: number }
  | RoutedMark;

type RoutedEdit = Exclude<RoutedIPHappening, RoutedMark | { readonly kind: 'recreate' }>;

/** What people ask for by annotations of a RoutedIP. */
type RoutedMark =
  | { readonly kind: 'pause' | 'resume'; readonly routed: number }
  | { readonly kind: 'moveTo'; readonly routed: number; readonly node: number };

interface RoutedNow {
  readonly name: string;
  readonly service: number;
  policy: number;
  address: Address | null;
  ref: ObjectRef | null;
  /** Of the object of that uid: since when it is paused. */
  paused: { readonly uid: string; readonly since: Moment } | null;
}

/** A RoutedIP as it stands in the cluster. */
export interface PlayedRoutedIP extends Claimant {
  readonly service: string;
}

/** What may be so while a RoutedIP is on its way. */
const UNDER_WAY = /bear the mark of a holder| is left in /;
const isUnderWay = ({ chart, waiting, snapshot: { value, context } }: ActorRecord): boolean => {
  if (chart === 'ip') return Object.keys(waiting).length > 0 || !JSON.stringify(value).includes('Stable');
  // One that asks for another address than it has keeps that one, and nobody takes it back; nor what was open for one whose account nobody can read.
  return (value === 'Invalid' || value === 'Priming') && (context as unknown as PoolContext).exposed?.bound !== null;
};

const isMark = (what: RoutedIPHappening): what is RoutedMark => what.kind === 'pause' || what.kind === 'resume' || what.kind === 'moveTo';

const FORCE = { 'routedip.io/force-release': 'true' };

/** The RoutedIPs of a history, and what people do to them. */
export class PlayedRoutedIPs implements Played<RoutedIPHappening> {
  readonly #stage: Stage;
  readonly #rules: RoutedRules;
  readonly #plans: readonly RoutedNow[];

  constructor(stage: Stage, rules: RoutedRules, setups: readonly RoutedIPSetup[]) {
    this.#stage = stage;
    this.#rules = rules;
    this.#plans = setups.map(({ policy, service, address }, index) => ({
      name: `r${index}`,
      service,
      policy,
      address: address === null ? null : addressOf(address),
      ref: null,
      paused: null,
    }));
    for (const [index, { isThere }] of setups.entries()) if (isThere) this.act({ kind: 'make', routed: index });
    const { invariants } = stage.world;
    const { turnSaved } = invariants;
    invariants.turnSaved = (turn) => {
      turnSaved.call(invariants, turn);
      stage.made.rules.noteSpecs();
    };
  }

  /** Those that are there, and what their classes let them take. */
  adopting(): readonly Owner[] {
    const { policies } = this.#stage;
    return this.#plans.flatMap(({ ref, policy }) =>
      ref
        ? [
            {
              ref,
              mayTake: (policies?.adoptionOf(policy) ?? 'Any') === 'Any',
              isByJobs: this.#isByJobs(policy),
            },
          ]
        : [],
    );
  }

  #isByJobs(policy: number): boolean {
    return policy === 0 && this.#stage.history.routed?.jobs !== undefined;
  }

  /** Those that are there. */
  refs(): readonly ObjectRef[] {
    return this.#plans.flatMap(({ ref }) => (ref && this.#stage.world.cluster.pool(ref) ? [ref] : []));
  }

  claimants(): readonly PlayedRoutedIP[] {
    return this.#plans.flatMap((plan) => this.#claimant(plan));
  }

  violations(): readonly Violation[] {
    return this.#rules.violations;
  }

  wrongs(): readonly string[] {
    return [...wrongRoutedIPs(this.#stage, this.claimants()), ...this.#unanswered(), ...this.#left()];
  }

  #left(): readonly string[] {
    const { leader } = this.#stage.world;
    const records = new Map([...(leader?.supervisor.records().values() ?? [])].flatMap((cell) => [...cell]));
    const wrongs = this.#rules.wrongs(records);
    const { attacker } = this.#stage;
    if (!attacker) return wrongs;
    // More than a firewall can bear is open for nobody who asks for it: that others lack nothing has to be so. What is under way for him is neither done nor undone yet.
    const ofOthers = this.#rules.wrongs(new Map([...records].filter(([actor]) => !attacker.isOwn(actor))));
    const isBusy = [...records].some(([actor, record]) => attacker.isOwn(actor) && isUnderWay(record));
    return wrongs.filter((text) => (text.includes(' is not open in ') ? ofOthers.includes(text) : !isBusy || !UNDER_WAY.test(text)));
  }

  act(what: RoutedIPHappening): unknown {
    const plan = this.#plans[what.routed];
    if (!plan) return;
    // What it has got stands in its status, though nobody may have had a turn since.
    this.#stage.made.rules.noteSpecs();
    if (isMark(what)) this.#mark(plan, what);
    else if (what.kind !== 'recreate') this.#edit(plan, what);
    else if (what.isDown) return this.#stage.operator.whileDown(() => this.#recreate(plan));
    else this.#recreate(plan);
  }

  #edit(plan: RoutedNow, what: RoutedEdit): void {
    const object = plan.ref && this.#stage.world.cluster.pool(plan.ref);
    if (what.kind === 'ask') plan.address = what.address === null ? null : addressOf(what.address);
    if (what.kind === 'use') plan.policy = what.policy;
    const isEdit = what.kind === 'ask' || what.kind === 'use';
    if (object ? isEdit && !object.deleting : what.kind === 'make') this.#apply(plan);
    if (object && !isEdit && what.kind !== 'make') this.#delete(object, what.kind === 'force');
  }

  /** Somebody takes our finalizer off, too. */
  #recreate(plan: RoutedNow): void {
    const { cluster } = this.#stage.world;
    const object = plan.ref && cluster.pool(plan.ref);
    if (!object) return;
    this.#delete(object, true);
    cluster.removePool(object.ref);
    this.#apply(plan);
  }

  /** Since when the RoutedIP of that actor is paused; null while it is not. */
  pausedSince(actor: ActorId): Moment | null {
    const plan = this.#plans.find(({ name }) => actor === `rip/web/${name}`);
    return plan && this.#isPaused(plan) ? (plan.paused?.since ?? null) : null;
  }

  /** Requests that were not answered. */
  #unanswered(): readonly string[] {
    return this.#plans.flatMap(({ name, ref }) => {
      const asked = ref && this.#stage.world.cluster.pool(ref)?.marks?.annotations[MOVE_TO];
      return asked ? [`${name} has not answered ${asked}`] : [];
    });
  }

  #isPaused({ ref, paused }: RoutedNow): boolean {
    return paused !== null && ref !== null && this.#stage.world.cluster.pool(ref)?.ref.uid === paused.uid;
  }

  #mark(plan: RoutedNow, what: RoutedMark): void {
    const { cluster } = this.#stage.world;
    const object = plan.ref && cluster.pool(plan.ref);
    if (!object) return;
    const annotations = object.marks?.annotations ?? {};
    const { [PAUSED]: _, ...others } = annotations;
    if (what.kind === 'moveTo') cluster.annotate(object.ref, { ...annotations, [MOVE_TO]: nodeName(what.node) });
    else if (what.kind === 'pause') {
      if (!this.#isPaused(plan)) plan.paused = { uid: object.ref.uid, since: momentOf(this.#stage.world) };
      cluster.annotate(object.ref, { ...others, [PAUSED]: 'true' });
    } else {
      if (this.#isPaused(plan)) cluster.annotate(object.ref, others);
      plan.paused = null;
    }
  }

  #delete({ ref, deleting, marks }: PoolObject, isForced: boolean): void {
    if (!deleting) this.#stage.world.cluster.markDeleting(ref);
    if (isForced) this.#stage.world.cluster.annotate(ref, { ...marks?.annotations, ...FORCE });
  }

  /** None is paused any more. */
  mend(): void {
    for (const plan of this.#plans) this.#mark(plan, { kind: 'resume', routed: 0 });
    this.helps();
  }

  /** Whoever asked for another address than the one that his RoutedIP has got takes that back. */
  helps(): void {
    for (const plan of this.#plans) {
      const object = plan.ref && this.#stage.world.cluster.pool(plan.ref);
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
    plan.ref = this.#stage.world.cluster.setPool({ kind: 'RoutedIP', namespace: 'web', name: plan.name, spec });
  }

  #claimant({ ref, service, policy }: RoutedNow): readonly PlayedRoutedIP[] {
    const object = ref && this.#stage.world.cluster.pool(ref);
    if (!object) return [];
    const { routedIP } = object.spec as { readonly routedIP?: Address };
    const bound = boundAddress(object.status);
    const own = routedIP ?? bound;
    const { createdAt, deleting } = object;
    const addresses = own ? [own] : [];
    const byJobs = this.#isByJobs(policy) ? { account: 'Unlistable' as const } : {};
    return [{ ref, createdAt, deleting, addresses, ...(bound && { bound }), ...byJobs, service: serviceName(service) }];
  }
}

const ROUTED = 3;
const routed = index(ROUTED);

export const routedIPSetups: fc.Arbitrary<readonly RoutedIPSetup[]> = exactly(
  ROUTED,
  fc.record({
    policy: fc.constantFrom(0, 0, 1),
    service: index(2),
    address: fc.option(index(ADDRESSES), { freq: 2 }),
    isThere: fc.constantFrom(true, true, false),
  }),
);

export const ROUTED_DOMAIN: Domain<RoutedIPHappening, PlayedRoutedIPs> = {
  sorts: [
    { weight: 6, arbitrary: fc.record({ kind: of('make', 'make', 'remove', 'remove', 'remove', 'force'), routed }) },
    { weight: 1, arbitrary: fc.record({ kind: of('recreate'), routed, isDown: fc.boolean() }) },
    { weight: 1, arbitrary: fc.record({ kind: of('ask'), routed, address: orNull(index(ADDRESSES)) }) },
    { weight: 1, arbitrary: fc.record({ kind: of('use'), routed, policy: index(2) }) },
    { weight: 1, arbitrary: fc.record({ kind: of('pause', 'resume'), routed }) },
    { weight: 2, arbitrary: fc.record({ kind: of('moveTo'), routed, node: index(NODES) }) },
  ],
  open: (stage) => {
    const { routedRules } = stage.world;
    if (!routedRules) throw new Error('there are no RoutedIPs here');
    return new PlayedRoutedIPs(stage, routedRules, stage.history.routed?.routed ?? []);
  },
};
