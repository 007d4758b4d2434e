import type { SavedTurn, Transition } from '../../actors/ports/observers.ts';
import type { ActorRecord } from '../../actors/ports/records.ts';
import type { AddressContext } from '../../machines/address/context.ts';
import type { RecordSetContext } from '../../machines/dns/record-set.ts';
import { nodesFull } from '../../machines/model/node-claim.ts';
import type { ActorId, Address, NodeRef } from '../../machines/model/types.ts';
import type { ContentionRules } from '../../machines/policy/contention.ts';
import { isPaused } from '../../machines/pool/annotations.ts';
import { familyServed, type PoolContext, wanted } from '../../machines/pool/context.ts';
import type { PoolStatus } from '../../machines/status/pool.ts';
import { isAskedFor } from './invariants.ts';
import type { World } from './world.ts';

/** What must hold at every moment of what a pool bears before it moves an address: grace, drain, safe hold, contention. */
export type PatienceRule =
  | 'stays through the grace of its node'
  | 'stays published through the grace of its node'
  | 'leaves a node that works only for another one'
  | 'stays while too many nodes are absent'
  | 'is left to others for a window';

/** What people know of a node, whatever the operator has heard of it. */
export interface NodeTruth {
  /** When something but being Ready was last wrong with it, virtual ms: now, while it is. Where a Service is named that is, too, that load balancers are kept
   *  from it. */
  readonly troubledAt: (name: string, service: string | null) => number;
  /** It is cordoned or about to go, and has been Ready for so long that everybody knows; where a Service is named, one that serves it. */
  readonly leavesWhileItWorks: (name: string, service: string | null) => boolean;
}

/** A time by both clocks: the wall clock jumps, and what is seen by the monotonic one is seen late when a reply was lost. */
interface Moment {
  wall: number;
  readonly monotonic: number;
}

/** An address that was active on a node which matched, when it was last, and the grace that the spec gave then. */
interface Served {
  readonly graceMs: number;
  readonly node: NodeRef;
  readonly at: Moment;
}

/** What somebody else did with an address of ours. */
interface Contest {
  readonly rules: string;
  readonly moves: readonly Moment[];
  readonly restsSince: Moment | null;
}

/** Nodes that matched, each with the last time that it did, and those for which the pool holds. */
interface Lost {
  readonly rules: string;
  readonly there: Map<string, { readonly node: NodeRef; readonly at: Moment }>;
  holds: boolean;
}

/** Looks at every saved turn, and goes by what it saw of nodes and addresses; what the pool itself remembers of absences and of moves it does not read. */
export class PatienceRules {
  readonly violations: { readonly rule: PatienceRule; readonly at: number; readonly text: string }[] = [];
  readonly #world: World;
  readonly #truth: NodeTruth;
  readonly #served = new Map<ActorId, Served>();
  readonly #contests = new Map<ActorId, Contest>();
  readonly #lost = new Map<ActorId, Lost>();

  constructor(world: World, truth: NodeTruth) {
    this.#world = world;
    this.#truth = truth;
    const { invariants } = world;
    const { turnSaved, forget } = invariants;
    invariants.turnSaved = (turn) => {
      turnSaved.call(invariants, turn);
      this.#look(turn);
    };
    invariants.forget = () => {
      forget.call(invariants);
      this.#lost.clear();
    };
  }

  #look({ cell, at, transitions }: SavedTurn): void {
    const now: Moment = { wall: at, monotonic: this.#world.clock.monotonic() };
    this.#noteClock(now);
    const pool = this.#poolOf(cell);
    if (pool) this.#noteLost(cell, pool, now);
    for (const transition of transitions) {
      if (transition.chart === 'ip') this.#lookAt(transition, pool, now);
      if (transition.chart === 'dns-record-set' && pool) this.#checkPublished(transition, pool, now);
    }
    if (pool) this.#noteServed(cell, pool, now);
    else this.#lost.delete(cell);
  }

  #lookAt(transition: Transition, pool: PoolContext | null, now: Moment): void {
    const { actor, before, after } = transition;
    if (!after || !pool) {
      this.#served.delete(actor);
      this.#contests.delete(actor);
      return;
    }
    const then = before ? contextOf(before) : null;
    const is = contextOf(after);
    if (!then) this.#keepShown(actor, is, pool);
    if (is.retiring) return;
    this.#noteMove(transition, pool, now);
    this.#checkDrain(transition, pool);
    if (is.epoch === (then?.epoch ?? 0) || is.elected === null) return;
    const isAdopted = is.elected.providerID === is.holder;
    if (!isAdopted && !isAskedFor(pool, is)) this.#checkMove(actor, is, pool, now);
    this.#noteGrant(actor, pool, is.elected, isAdopted, now);
  }

  /** Of one that is rebuilt nobody knows more than its status says, which lags behind: where it served, and that it was left to others, but not how often they
   *  had moved it. */
  #keepShown(actor: ActorId, { address }: AddressContext, { ref }: PoolContext): void {
    const { ips = {} } = (this.#world.cluster.pool(ref)?.status ?? {}) as Partial<PoolStatus>;
    const { nodeName, machineState, contendedUntil } = ips[address] ?? {};
    if (machineState !== 'Stable' || nodeName !== this.#served.get(actor)?.node.name) this.#served.delete(actor);
    const contest = this.#contests.get(actor);
    if (contest && contendedUntil !== undefined) this.#contests.set(actor, { ...contest, moves: [] });
    else this.#contests.delete(actor);
  }

  #checkMove(actor: ActorId, { address, elected, holder }: AddressContext, pool: PoolContext, now: Moment): void {
    const served = this.#served.get(actor);
    const about = `${address} was granted ${elected?.name}`;
    // Where all was lost another pool may have been quicker to claim its node.
    const isTaken = nodesFull(pool.fullNodes, familyServed(pool)).includes(served?.node.name ?? '');
    if (served && holder === served.node.providerID && elected?.name !== served.node.name && !isTaken) {
      if (this.#isInGrace(served, pool, now))
        this.#note('stays through the grace of its node', `${about}, ${served.node.name} has time to come back`);
      const lost = this.#lost.get(pool.id);
      if (lost?.holds && lost.there.has(keyOf(served.node)) && !matches(pool, served.node))
        this.#note('stays while too many nodes are absent', `${about} although ${served.node.name} is one of those that are absent`);
    }
    const contest = this.#contests.get(actor);
    const rules = pool.spec?.contention;
    // Statuses tell of times in whole milliseconds.
    if (rules && contest?.restsSince && since(contest.restsSince, now) <= rules.windowMs - 1)
      this.#note('is left to others for a window', `${about} ${since(contest.restsSince, now)} ms after it was left to others`);
  }

  // ---------------------------------------------------------------- grace

  /** Its node matched less than the grace ago, and nothing but that it is not Ready has been wrong with it since. */
  #isInGrace({ node, at, graceMs }: Served, { spec }: PoolContext, now: Moment): boolean {
    const troubledAt = this.#truth.troubledAt(node.name, spec?.exposes?.service.name ?? null);
    return since(at, now) < Math.min(graceMs, spec?.graceMs ?? 0) && troubledAt < at.monotonic;
  }

  #noteServed(cell: ActorId, pool: PoolContext, now: Moment): void {
    for (const [actor, record] of this.#world.invariants.records) {
      if (record.chart !== 'ip' || !actor.startsWith(`${cell}/ip/`)) continue;
      const { assigned, elected, eligible, retiring } = contextOf(record);
      const isActive = stateOf(record).includes('Stable') && assigned && assigned.name === elected?.name;
      if (isActive && eligible && !retiring && matches(pool, assigned))
        this.#served.set(actor, { node: assigned, at: now, graceMs: pool.spec?.graceMs ?? 0 });
      const served = this.#served.get(actor);
      if (served && isStartedAnew(pool, contextOf(record)) && matches(pool, served.node)) this.#served.set(actor, { ...served, at: now });
    }
  }

  /** One that is moved serves on its former node until it has arrived, whoever asked for it. */
  #checkPublished({ actor, before, after }: Transition, pool: PoolContext, now: Moment): void {
    const then = before?.snapshot.context as unknown as RecordSetContext | undefined;
    const next = after?.snapshot.context as unknown as RecordSetContext | undefined;
    if (!then || !next || then.ref || JSON.stringify(then.target) !== JSON.stringify(next.target)) return;
    for (const address of then.addresses.filter((each) => !next.addresses.includes(each))) {
      const id = `${actor.replace(/\/dns$/, '')}/ip/${address}`;
      const record = this.#world.invariants.records.get(id);
      const served = this.#served.get(id);
      if (!record || !served) continue;
      const is = contextOf(record);
      // A turn whose process died before it was heard of may have let the address go.
      if (
        pool.members[address]?.retiring === false &&
        is.holder === served.node.providerID &&
        this.#isThere(address, served.node) &&
        this.#isInGrace(served, pool, now)
      )
        this.#note('stays published through the grace of its node', `${address} was taken out of ${actor}`);
    }
  }

  #isThere(address: Address, { providerID }: NodeRef): boolean {
    return this.#world.provider.cloud.addresses().some((each) => each.address === address && each.providerID === providerID);
  }

  // ---------------------------------------------------------------- drain

  #checkDrain({ before, after }: Transition, { spec }: PoolContext): void {
    if (!before || !after || spec?.drainPolicy !== 'OnCordon' || stateOf(before) !== '{"Stable":"Holding"}') return;
    const [then, is] = [contextOf(before), contextOf(after)];
    // A person may want it on no node.
    const isLeft = !is.parked && stateOf(after).includes('Unassigned') && is.elected === null && is.holder === then.assigned?.providerID;
    // A node that serves its Service no more does not work for a RoutedIP.
    const service = spec.exposes?.service.name ?? null;
    if (isLeft && then.assigned && this.#truth.leavesWhileItWorks(then.assigned.name, service))
      this.#note('leaves a node that works only for another one', `${is.address} gave ${then.assigned.name} up, and got nothing`);
  }

  // ---------------------------------------------------------------- safe hold

  #noteLost(cell: ActorId, pool: PoolContext, now: Moment): void {
    const rules = pool.spec?.safeHold ?? null;
    const text = JSON.stringify(rules);
    const former = this.#lost.get(cell);
    const lost = former?.rules === text ? former : { rules: text, there: new Map(), holds: false };
    this.#lost.set(cell, lost);
    if (this.#beginsAnew(cell, pool)) this.#keepShownNodes(lost, pool);
    if (!rules) return;
    for (const node of [...pool.candidates, ...pool.leaving]) lost.there.set(keyOf(node), { node, at: now });
    // A machine that was gone, or a node that was taken away on purpose, may count or not.
    for (const [key, { node, at }] of lost.there) if (this.#truth.troubledAt(node.name, null) >= at.monotonic) lost.there.delete(key);
    const absent = [...lost.there.values()].filter(({ node }) => !matches(pool, node));
    const counted = lost.holds ? absent : absent.filter(({ at }) => since(at, now) < rules.windowMs);
    lost.holds = counted.length > rules.maxUnavailable;
    if (lost.holds) return;
    for (const { node, at } of absent) if (since(at, now) >= rules.windowMs) lost.there.delete(keyOf(node));
  }

  #beginsAnew(cell: ActorId, { members }: PoolContext): boolean {
    const record = this.#world.invariants.records.get(cell);
    return record !== undefined && stateOf(record) === '"Priming"' && Object.keys(members).length === 0;
  }

  /** One that is rebuilt knows of the nodes that matched before only those that its status names: for which it holds, and on which its addresses are. */
  #keepShownNodes({ there }: Lost, { ref }: PoolContext): void {
    const { safeHold, ips = {} } = (this.#world.cluster.pool(ref)?.status ?? {}) as Partial<PoolStatus>;
    const shown = new Set([...(safeHold?.nodes ?? []).map(({ name }) => name), ...Object.values(ips).map(({ nodeName }) => nodeName)]);
    for (const [key, { node }] of there) if (!shown.has(node.name)) there.delete(key);
  }

  // ---------------------------------------------------------------- contention

  /** An address that served was found to be somewhere else, although its node was there, or an assign met somebody who was quicker. Whoever pauses a pool may move its addresses by hand. */
  #noteMove({ actor, events, before, after }: Transition, pool: PoolContext, now: Moment): void {
    const rules = pool.spec?.contention ?? null;
    const text = JSON.stringify(rules);
    const former = this.#contests.get(actor);
    const contest: Contest = former?.rules === text ? former : { rules: text, moves: [], restsSince: null };
    const then = before && contextOf(before);
    const node = then?.assigned;
    const isMoved =
      before &&
      !isPaused(pool) &&
      then?.eligible &&
      node &&
      matches(pool, node) &&
      stateOf(before).includes('Stable') &&
      events.includes('xstate.done.actor.find') &&
      after !== null &&
      contextOf(after).holder !== node.providerID;
    const isMet = events.includes('xstate.error.actor.assign') && after !== null && hasMet(contextOf(after));
    this.#contests.set(actor, rules && (isMoved || isMet) ? moved(contest, rules, now) : contest);
  }

  #noteGrant(actor: ActorId, { spec, leaving }: PoolContext, elected: NodeRef, isAdopted: boolean, now: Moment): void {
    const contest = this.#contests.get(actor);
    if (!contest?.restsSince) return;
    // On one that is about to go it only stays for its rest.
    if (isAdopted && leaving.some(({ providerID }) => providerID === elected.providerID)) return;
    // The other may have put it on a node that may have it; else it is tried afresh, or taken back once.
    if (isAdopted) this.#contests.set(actor, { ...contest, restsSince: null });
    else if (spec?.contention?.takeover === 'Reclaim') this.#contests.set(actor, { ...contest, restsSince: now });
    else this.#contests.delete(actor);
  }

  // ---------------------------------------------------------------- within

  /** A clock that was set back and on again says that so much time has passed. */
  #noteClock({ wall }: Moment): void {
    const moments = [
      ...[...this.#served.values()].map(({ at }) => at),
      ...[...this.#lost.values()].flatMap(({ there }) => [...there.values()].map(({ at }) => at)),
      ...[...this.#contests.values()].flatMap(({ moves, restsSince }) => [...moves, ...(restsSince ? [restsSince] : [])]),
    ];
    for (const moment of moments) moment.wall = Math.min(moment.wall, wall);
  }

  #poolOf(cell: ActorId): PoolContext | null {
    const record = this.#world.invariants.records.get(cell);
    return record?.chart === 'pool' ? (record.snapshot.context as unknown as PoolContext) : null;
  }

  #note(rule: PatienceRule, text: string): void {
    this.violations.push({ rule, at: this.#world.clock.monotonic(), text });
  }
}

const contextOf = ({ snapshot }: ActorRecord): AddressContext => snapshot.context as unknown as AddressContext;
const stateOf = ({ snapshot }: ActorRecord): string => JSON.stringify(snapshot.value);
/** Somebody else has the address, so that the grant is given back. */
const hasMet = ({ failure, elected }: AddressContext): boolean => failure?.kind === 'Conflict' && elected === null;
const keyOf = ({ name, providerID }: NodeRef): string => `${name} ${providerID}`;
const matches = ({ candidates, leaving }: PoolContext, { name, providerID }: NodeRef): boolean =>
  [...candidates, ...leaving].some((each) => each.name === name && each.providerID === providerID);

/** It goes to another account, or all was lost: it serves all the while, though nobody has heard from there where it is. */
const isStartedAnew = (pool: PoolContext, { address, retiring }: AddressContext): boolean =>
  !pool.deleted && wanted(pool).includes(address) && (retiring !== null || pool.members[address]?.heard === false);

const since = (then: Moment, now: Moment): number => Math.max(now.wall - then.wall, now.monotonic - then.monotonic);

/** One move more: the one that is too many begins a rest, and each further one anew when we yield. */
function moved({ rules: text, moves, restsSince }: Contest, rules: ContentionRules, now: Moment): Contest {
  const recent = moves.filter((move) => since(move, now) < rules.windowMs);
  const all = [...recent, now];
  if (restsSince && (recent.length > 0 || since(restsSince, now) < rules.windowMs))
    return { rules: text, moves: all, restsSince: rules.takeover === 'Yield' ? now : restsSince };
  return { rules: text, moves: all, restsSince: all.length >= rules.moves ? now : null };
}
