import type { SavedTurn, Transition } from '../../actors/ports/observers.ts';
import type { AddressContext } from '../../machines/address/context.ts';
import { nodesFull } from '../../machines/model/node-claim.ts';
import type { ActorId, Address } from '../../machines/model/types.ts';
import { isPaused, type Move } from '../../machines/pool/annotations.ts';
import { familyServed, type PoolContext } from '../../machines/pool/context.ts';
import { nodeNameOf, type World } from './world.ts';

/** What must hold at every moment of what people ask for by annotations. */
export type MarkRule =
  | 'is not moved while it is paused'
  /** Nothing is created or given up, and what is to be open for an address, or asked for with it, stays what it was. */
  | 'begins nothing while it is paused'
  | 'goes where it was asked to go'
  | 'is said to have moved when it has'
  | 'comes to no node that is to be evacuated';

/** A time by both clocks: the wall clock jumps, and what is seen by the monotonic one is seen late when a reply was lost. */
export interface Moment {
  readonly wall: number;
  readonly monotonic: number;
}

export const momentOf = ({ clock }: World): Moment => ({ wall: clock.now(), monotonic: clock.monotonic() });

/** What people have asked for, whatever the operator has heard of it: since when, or null. */
export interface MarkTruth {
  readonly pausedSince: (pool: ActorId) => Moment | null;
  readonly evacuatedSince: (node: string) => Moment | null;
}

/** How long it may take until everybody knows what stands in the cluster, ms. */
const KNOWN_AFTER_MS = 60_000;

/** Looks at every saved turn. */
export class MarkRules {
  readonly violations: { readonly rule: MarkRule; readonly at: number; readonly text: string }[] = [];
  readonly #world: World;
  readonly #truth: MarkTruth;

  constructor(world: World, truth: MarkTruth) {
    this.#world = world;
    this.#truth = truth;
    const { invariants } = world;
    const { turnSaved } = invariants;
    invariants.turnSaved = (turn) => {
      turnSaved.call(invariants, turn);
      this.#look(turn);
    };
  }

  #look({ cell, at, transitions }: SavedTurn): void {
    const now: Moment = { wall: at, monotonic: this.#world.clock.monotonic() };
    const own = transitions.find(({ actor, chart }) => actor === cell && chart === 'pool');
    if (own) this.#checkAnswers(own);
    if (own && isPaused(contextOf(own.before) ?? {}) && isPaused(contextOf(own.after) ?? {})) this.#checkPaused(own, transitions);
    for (const { chart, before, after } of transitions) {
      if (chart !== 'ip' || !after || !own?.after) continue;
      const [then, is] = [addressIn(before), addressIn(after)];
      const isGranted = then !== null && is !== null && is.epoch !== then.epoch && is.elected !== null;
      if (isGranted && is.elected?.providerID !== is.holder) this.#checkMove(is, own, now);
    }
  }

  #checkPaused({ before, after }: Transition, transitions: readonly Transition[]): void {
    const [then, pool] = [contextOf(before), contextOf(after)];
    if (!pool || pool.deleted) return;
    if (pool.acquiring.intent && !then?.acquiring.intent) this.#note('begins nothing while it is paused', `${pool.id} creates an address`);
    // One that was given up before has ended, and begins anew by what holds now.
    const known = transitions.filter(({ chart, before: former }) => chart === 'ip' && former && !addressIn(former)?.retiring);
    for (const { actor, before: former, after: present } of known) {
      const [was, is] = [addressIn(former), addressIn(present)];
      // What was never its own, and others have by now, is left to them.
      const isOthers = was !== null && was.epoch === 0 && pool.conflicts[was.address] !== undefined;
      if ((!is || is.retiring) && !isOthers) this.#note('begins nothing while it is paused', `${actor} is given up`);
      if (is && JSON.stringify(is.policy) !== JSON.stringify(was?.policy))
        this.#note('begins nothing while it is paused', `${actor} is told of other rules`);
    }
  }

  #checkMove({ address, elected }: AddressContext, own: Transition, now: Moment): void {
    const [then, pool] = [contextOf(own.before), contextOf(own.after)];
    if (!pool || !elected) return;
    const about = `${address} was granted ${elected.name}`;
    const pausedSince = this.#truth.pausedSince(pool.id);
    const isKnown = then !== null && isPaused(then) && isPaused(pool);
    if (isKnown || (pausedSince && since(pausedSince, now) > KNOWN_AFTER_MS))
      this.#note('is not moved while it is paused', `${about} although ${pool.id} is paused`);
    const evacuatedSince = this.#truth.evacuatedSince(elected.name);
    if (evacuatedSince && since(evacuatedSince, now) > KNOWN_AFTER_MS)
      this.#note('comes to no node that is to be evacuated', `${about} although that one is to be evacuated`);
    const asked = openMoves(pool).find((move) => move.begun && (move.address ?? address) === address);
    if (asked && asked.node !== elected.name && isFree(pool, asked.node, now.wall))
      this.#note('goes where it was asked to go', `${about} although ${asked.node}, for which it left its node, is free`);
  }

  #checkAnswers({ before, after }: Transition): void {
    const pool = contextOf(after);
    const told = new Set((contextOf(before)?.marks?.moves ?? []).flatMap(({ text, answer: said }) => (said ? [text] : [])));
    for (const { text, address: named, node, answer } of pool?.marks?.moves ?? []) {
      // A request to a RoutedIP names none: it has one.
      const address = named ?? (Object.keys(pool?.members ?? {})[0] as Address | undefined);
      if (!answer?.done || !address || told.has(text)) continue;
      const wasThere = this.#world.provider.cloud
        .history(address)
        .some(({ providerID }) => providerID !== null && nodeNameOf(providerID) === node);
      if (!wasThere) this.#note('is said to have moved when it has', `${address} has never been on ${node}: ${answer.message}`);
    }
  }

  #note(rule: MarkRule, text: string): void {
    this.violations.push({ rule, at: this.#world.clock.monotonic(), text });
  }
}

const contextOf = (record: Transition['after']): PoolContext | null => (record?.snapshot.context as unknown as PoolContext) ?? null;
const addressIn = (record: Transition['after']): AddressContext | null => (record?.snapshot.context as unknown as AddressContext) ?? null;
const openMoves = (pool: PoolContext | null): readonly Move[] => (pool?.marks?.moves ?? []).filter(({ answer }) => answer === null);

/** The pool may grant the node, and nothing but the request decides about it. */
function isFree(pool: PoolContext, name: string, at: number): boolean {
  const { candidates, members, backOff, fullNodes, held, spec } = pool;
  const isTaken = Object.values(members).some(({ node, stands }) => node?.name === name || stands?.name === name);
  const isLeft = (backOff[name]?.until ?? 0) > at || nodesFull(fullNodes, familyServed(pool)).includes(name);
  return candidates.some((each) => each.name === name) && !isTaken && !isLeft && !held && !spec?.contention;
}

/** How long ago that was by either clock: what one of them says because it jumped does not count. */
const since = (then: Moment, now: Moment): number => Math.min(now.wall - then.wall, now.monotonic - then.monotonic);
