import type { Observer, SavedTurn, Transition } from '../../actors/ports/observers.ts';
import type { ActionRef } from '../../actors/ports/provider.ts';
import type { ActorRecord, StoredCell } from '../../actors/ports/records.ts';
import type { MemoryProvider } from '../../adapters/memory/provider.ts';
import type { LoggedCall } from '../../adapters/memory/requests.ts';
import type { AddressContext } from '../../machines/address/context.ts';
import { claimedNodes } from '../../machines/address/decisions.ts';
import { cellOf } from '../../machines/model/actor-id.ts';
import { nodesFull } from '../../machines/model/node-claim.ts';
import { cloudOf } from '../../machines/model/provider-key.ts';
import type { ActorId, Address, ObjectRef, ProviderID } from '../../machines/model/types.ts';
import { familyServed, type PoolContext } from '../../machines/pool/context.ts';
import type { PoolStatus } from '../../machines/status/pool.ts';
import { doubtMs, isSentSince, isUnconfirmed, MakingRoom } from './under-way.ts';

/** What must hold at every moment of every run. */
export type Rule =
  | 'one assign at a time'
  | 'reads before it repeats'
  | 'hears only what it waits for'
  | 'confirmed by the provider'
  | 'one address on a node'
  | 'never taken off'
  | 'spaced'
  | 'stays where it may'
  | 'terms only grow'
  | 'comes to rest';

export interface Violation {
  readonly rule: Rule;
  /** Virtual ms. */
  readonly at: number;
  readonly text: string;
}

/** Somebody has asked for the address to go to the node that it was granted. */
export const isAskedFor = ({ marks }: PoolContext, { address, elected }: AddressContext): boolean =>
  (marks?.moves ?? []).some((move) => (move.address ?? address) === address && move.node === elected?.name);

export interface InvariantsOptions {
  readonly provider: MemoryProvider;
  readonly monotonic: () => number;
  readonly callDeadlineMs: number;
  /** Addresses that one node can hold. */
  readonly perNode: number;
  /** How long it is from one virtual time to another for who goes by the wall clock, which jumps, ms. */
  readonly elapsed: (from: number, to: number) => number;
  /** What an object shows of itself; undefined for one that is gone. */
  readonly statusOf: (ref: ObjectRef) => unknown;
  /** What is stored of a cell. */
  readonly load: (cell: ActorId) => Promise<StoredCell | null>;
  /** Ends all processes: what goes round for ever would keep the clock from going on. */
  readonly killAll: () => void;
}

/** A time by both clocks: the wall clock jumps, and what is seen by the monotonic one is seen late when a reply was lost. */
interface Moment {
  readonly wall: number;
  readonly monotonic: number;
}

/** How long ago the provider may have shown what a confirmation says: the outcome has waited in a queue since, and that of a Job whose queue was lost until it was
 *  overdue. While nobody led it waited for whoever leads next. */
const CONFIRMATION_AGE_MS = 360_000;
/** More turns of one cell at one moment have no end. */
const TURNS_AT_ONCE = 3_000;
/** Outcomes of jobs, timers, and answers to claims. */
const ANSWER = /^(?:xstate\.(?:done|error)\.actor\.|xstate\.after\.|OPENED$|PRUNED$|REFUSED$)/;

const uidOf = ({ snapshot }: ActorRecord): string => (snapshot.context as unknown as PoolContext).ref.uid;

/** Looks at every saved turn and at every request that reaches the provider, and notes what must never be. */
export class Invariants implements Observer {
  readonly violations: Violation[] = [];
  /** Assigns that said what an earlier one of unknown outcome had said, or pointed an address to where it was already. */
  readonly repeats: { readonly at: number; readonly address: Address }[] = [];
  /** Addresses that somebody has wanted on no node. */
  readonly unwanted = new Set<Address>();
  /** Addresses that were deleted as their owners ask for. */
  readonly given = new Set<Address>();
  /** Every saved turn that did something, oldest first. */
  readonly turns: SavedTurn[] = [];
  /** Some process goes on without the store. */
  isAway: () => boolean = () => false;
  /** Who goes on without the store hears at its next look at the Lease that another one leads, ms. */
  leaseLookMs = 2_000;
  readonly #options: InvariantsOptions;
  /** Times before which what was sent about an address, null for any, is known to nobody from then on, virtual ms. */
  readonly #forgotten: { readonly address: Address | null; readonly at: number }[] = [];
  /** Addresses that somebody has run. */
  readonly #known = new Set<ActorId>();
  readonly #records = new Map<ActorId, ActorRecord>();
  readonly #makingRoom = new MakingRoom();
  /** By pool: when an address was confirmed on a new node, oldest first. */
  readonly #confirmedAt = new Map<ActorId, readonly Moment[]>();
  /** By address: our last action, and where it goes. */
  readonly #ours = new Map<Address, { readonly to: ProviderID; readonly action: ActionRef | null }>();
  /** How many turns of which cell were saved at the present moment. */
  readonly #atOnce = { at: 0, turns: new Map<ActorId, number>() };
  /** The highest one, and when its first turn began, ms since the epoch. `isUnfenced`: somebody was without the store by then, or the store has lost it since. */
  #term = { term: 0, since: 0, isUnfenced: false };
  #last = { at: 0, term: 0 };
  /** How long no turn was saved before the present term began, and when that was, ms. */
  #silence = { ms: 0, endedAt: Number.NEGATIVE_INFINITY };
  /** The one that was written on the Lease last. */
  #newest = 0;

  constructor(options: InvariantsOptions) {
    this.#options = options;
    const { cloud } = options.provider;
    const assign = cloud.assign.bind(cloud);
    cloud.assign = (address, node) => {
      this.#assignArrives(address, node);
      const action = assign(address, node);
      this.#ours.set(address, { to: node, action });
      return action;
    };
  }

  get records(): ReadonlyMap<ActorId, ActorRecord> {
    return this.#records;
  }

  /** The records were lost, and the term with them. */
  forget(): void {
    this.#records.clear();
    this.#term = { ...this.#term, isUnfenced: true };
  }

  turnSaved(turn: SavedTurn): void {
    this.turns.push(turn);
    this.#checkTerm(turn);
    this.#noteSilence(turn);
    for (const { actor, before, after } of turn.transitions) if (!before && after?.chart === 'pool') this.#forgetFormer(actor, after);
    for (const { actor, after } of turn.transitions) {
      if (after) this.#records.set(actor, after);
      else this.#records.delete(actor);
    }
    const at = { wall: turn.at, monotonic: this.#options.monotonic() };
    this.#noteClock(at);
    this.#checkRest(turn.cell, at);
    this.#makingRoom.note(turn, this.#records, at.monotonic);
    const pools = new Map(turn.transitions.filter(({ chart }) => chart === 'pool').map((transition) => [transition.actor, transition]));
    for (const transition of turn.transitions) this.#checkTransition(transition, at, pools);
    this.#checkNodes();
  }

  /** Of an object that was let go, and made again under its name, whoever leads may have no record: then nobody runs its addresses any more. */
  #forgetFormer(actor: ActorId, after: ActorRecord): void {
    const former = this.#records.get(actor);
    if (former && uidOf(former) === uidOf(after)) return;
    for (const each of [...this.#records.keys()]) if (each.startsWith(`${actor}/ip/`)) this.#records.delete(each);
  }

  /** Nobody can know from now on what was sent about the address before: somebody lets it go at once, or deletes it. Null for any address: a leader begins although neither a
   *  Lease nor the store nor a status tells of a former one. */
  forgetSent(address: Address | null): void {
    this.#forgotten.push({ address, at: this.#options.monotonic() });
  }

  /** A term stands on the Lease; `known`: the highest one that stood anywhere by then. One that stood nowhere any more nobody could know of. */
  termWritten(term: number, known: number): void {
    if (term <= known) this.#note('terms only grow', `term ${term} was begun, and ${known} is known`);
    this.#newest = term;
    if (term < this.#term.term) this.#term = { term, since: 0, isUnfenced: false };
  }

  /** What was written before, and is seen late because the reply was lost, does not count; nor does what a leader writes under a term that the store does not fence, in its
   *  memory or in a store that has lost the higher one, as long as it does not know that its Lease was deleted and another one leads. It may have ended by then. */
  #checkTerm({ cell, term, at }: SavedTurn): void {
    const { term: known, since, isUnfenced } = this.#term;
    if (term < known && at > since + (isUnfenced || this.isAway() ? this.leaseLookMs : 0))
      this.#note('terms only grow', `${cell} was written under term ${term} after ${known}`);
    if (term > known && term <= this.#newest) this.#term = { term, since: at, isUnfenced: this.isAway() };
  }

  #noteSilence({ term }: SavedTurn): void {
    const at = this.#options.monotonic();
    if (term !== this.#last.term) this.#silence = { ms: at - this.#last.at, endedAt: at };
    this.#last = { at, term };
  }

  #checkRest(cell: ActorId, { monotonic }: Moment): void {
    if (this.#atOnce.at !== monotonic) this.#atOnce.turns.clear();
    this.#atOnce.at = monotonic;
    const turns = (this.#atOnce.turns.get(cell) ?? 0) + 1;
    this.#atOnce.turns.set(cell, turns);
    if (turns !== TURNS_AT_ONCE) return;
    this.#note('comes to rest', `${cell} had ${turns} turns in one moment`);
    this.#options.killAll();
  }

  /** A clock that was set back and on again says that so much time has passed. */
  #noteClock({ wall }: Moment): void {
    for (const [pool, all] of this.#confirmedAt)
      this.#confirmedAt.set(
        pool,
        all.map((moment) => (wall < moment.wall ? { ...moment, wall } : moment)),
      );
  }

  /** Looks at the whole log of calls: to be asked once, at the end. */
  checkCalls(): void {
    const { calls } = this.#options.provider;
    const assigns = this.#options.provider.writes().filter(({ verb }) => verb === 'assignRoutedIP');
    for (const [index, call] of assigns.entries()) {
      const former = assigns.slice(0, index).findLast(({ args }) => args[0] === call.args[0]);
      if (!former || this.#isUnknown(former, call)) continue;
      const about = `assign of ${call.args[0]} at ${former.at} (${former.result}) and again at ${call.at}`;
      const inDoubtMs = doubtMs(former, this.#options.callDeadlineMs);
      if (inDoubtMs === 0) continue;
      // Whoever takes over a call of a process that died may say the same again, after a read; but nothing else.
      const repeats = call.args[1] === former.args[1];
      if (repeats) this.repeats.push({ at: call.at, address: call.args[0] as Address });
      else if (this.#options.elapsed(former.at, call.at) < inDoubtMs && !this.#landed(former, call.at))
        this.#note('one assign at a time', about);
      const read = calls.some(
        ({ at, verb, result, args }) =>
          at >= former.at &&
          at <= call.at &&
          ((verb === 'listRoutedIPs' && (result === 'ok' || result === 'partial')) ||
            (verb === 'findRoutedIP' && result === 'ok' && args[0] === call.args[0])),
      );
      if (!read) this.#note('reads before it repeats', about);
    }
    this.#checkRemovals();
  }

  /** Whoever sent the later call could know nothing of the former one. */
  #isUnknown(former: LoggedCall, { at, args }: LoggedCall): boolean {
    return this.#forgotten.some((each) => (each.address ?? args[0]) === args[0] && former.at < each.at && at >= each.at);
  }

  #checkRemovals(): void {
    for (const { verb, args, at } of this.#options.provider.writes()) {
      const isGiven = verb === 'deleteRoutedIP' && this.given.has(args[0] as Address);
      const isUnwanted =
        verb === 'unassignRoutedIP' && (this.unwanted.has(args[0] as Address) || this.#makingRoom.mayTakeOff(args[0] as Address, at));
      if (!isGiven && !isUnwanted && (verb === 'unassignRoutedIP' || verb === 'deleteRoutedIP'))
        this.#note('never taken off', `${verb} ${args.join(' ')}`);
    }
  }

  /** The address came to where the call sent it: the call can have no more effect, and a read may have told so. */
  #landed({ args, at }: LoggedCall, before: number): boolean {
    const history = this.#options.provider.cloud.history(args[0] as Address);
    return history.some((holding) => holding.providerID === args[1] && holding.at >= at && holding.at <= before);
  }

  #note(rule: Rule, text: string): void {
    this.violations.push({ rule, at: this.#options.monotonic(), text });
  }

  #assignArrives(address: Address, node: ProviderID): void {
    const observed = this.#options.provider.cloud.addresses().find((each) => each.address === address);
    if (!observed) return;
    const ours = this.#ours.get(address);
    const isUnderWay = observed.locked && ours?.action && this.#options.provider.cloud.actionState(ours.action) === 'running';
    if (isUnderWay && ![node, observed.providerID].includes(ours.to) && this.#areOfOne(address, ours.to, node))
      this.#note('one assign at a time', `an assign of ${address} to ${node} met an action of our own`);
    if (observed.providerID === node) this.repeats.push({ at: this.#options.monotonic(), address });
  }

  /** Whether whoever sent the later of the two calls may know of the other one; a call that hangs may arrive after one that was sent later. */
  #areOfOne(address: Address, ...nodes: readonly [ProviderID, ProviderID]): boolean {
    const writes = this.#options.provider.writes().filter(({ verb, args }) => verb === 'assignRoutedIP' && args[0] === address);
    const sent = nodes.flatMap((node) => writes.findLast(({ args }) => args[1] === node) ?? []);
    const [former, later] = sent.sort((a, b) => a.at - b.at);
    // What a Job has sent is of another platform to the operator.
    return former ? later !== undefined && !this.#isUnknown(former, later) : true;
  }

  #checkHeard({ actor, events, consumed }: Transition): void {
    const answers = events.filter((event) => ANSWER.test(event));
    if (answers.length === consumed.length) return;
    this.#note('hears only what it waits for', `${actor} heard ${answers.join(', ')}, and waited for ${consumed.join(', ') || 'nothing'}`);
  }

  #checkTransition(turn: Transition, at: Moment, pools: ReadonlyMap<ActorId, Transition>): void {
    const { actor, chart, events, before, after } = turn;
    this.#checkHeard(turn);
    if (chart === 'pool' && after && !before) this.#keepShown(after.snapshot.context as unknown as PoolContext);
    if (chart !== 'ip' || !after) return;
    const now = after.snapshot.context as unknown as AddressContext;
    const then = before?.snapshot.context as unknown as AddressContext | undefined;
    // One that is rebuilt comes with its former epoch, and with the node to which it may be under way.
    const isRebuilt = !then && this.#known.has(actor) && !events.includes('NODE_GRANTED');
    this.#known.add(actor);
    if (!isRebuilt) this.#checkGrant(actor, then, now, at, pools.get(now.pool));
    this.#checkConfirmation(now, then);
    if (now.assigned && now.assigned.name !== then?.assigned?.name && events.includes('xstate.done.actor.assign'))
      this.#confirmedAt.set(now.pool, [...(this.#confirmedAt.get(now.pool) ?? []), at]);
  }

  /** Of a pool that is rebuilt nobody knows more than its status says, which lags behind. */
  #keepShown({ id, ref }: PoolContext): void {
    const { lastAssignmentTime } = (this.#options.statusOf(ref) ?? {}) as Partial<PoolStatus>;
    const shown = lastAssignmentTime === undefined ? Number.NEGATIVE_INFINITY : Date.parse(lastAssignmentTime);
    this.#confirmedAt.set(
      id,
      (this.#confirmedAt.get(id) ?? []).filter(({ wall }) => wall <= shown),
    );
  }

  #checkConfirmation(now: AddressContext, then: AddressContext | undefined): void {
    if (!now.assigned || now.assigned.providerID === then?.assigned?.providerID) return;
    const { provider, monotonic } = this.#options;
    const history = provider.cloud.history(now.address);
    const { ms, endedAt } = this.#silence;
    const waitedMs = CONFIRMATION_AGE_MS + (monotonic() - endedAt < CONFIRMATION_AGE_MS ? ms : 0);
    const held = history.some(
      ({ providerID }, index) =>
        providerID === now.assigned?.providerID && (history[index + 1]?.at ?? Number.POSITIVE_INFINITY) >= monotonic() - waitedMs,
    );
    if (!held) this.#note('confirmed by the provider', `${now.address} is said to be on ${now.assigned.name}, which never held it`);
  }

  /** A grant was taken: it had its time, and it takes the address away from nobody who may keep it. */
  #checkGrant(actor: ActorId, then: AddressContext | undefined, now: AddressContext, at: Moment, turn: Transition | undefined): void {
    if (!now.elected || now.epoch === (then?.epoch ?? 0)) return;
    const adopted = now.elected.providerID === now.holder;
    const pool = this.#records.get(now.pool)?.snapshot.context as unknown as PoolContext | undefined;
    if (!pool || adopted) return;
    this.#checkSpacing(actor, now, pool, at);
    const holder = pool.candidates.find(({ providerID }) => providerID === now.holder);
    // Whoever gave it up in the same turn may have done so only afterwards.
    const before = turn?.before?.snapshot.context as unknown as PoolContext | undefined;
    const taken = [...Object.entries(pool.members), ...Object.entries(before?.members ?? {})].some(
      ([address, { node }]) => address !== now.address && node?.name === holder?.name,
    );
    if (
      holder &&
      wasKnown(holder.name, turn) &&
      !isAskedFor(pool, now) &&
      holder.name !== now.elected.name &&
      !taken &&
      !nodesFull(pool.fullNodes, familyServed(pool)).includes(holder.name)
    ) {
      this.#note(
        'stays where it may',
        `${now.address} was granted ${now.elected.name} although ${holder.name}, which holds it, is eligible and free`,
      );
    }
  }

  #checkSpacing(actor: ActorId, { pool: id, elected }: AddressContext, { spec }: PoolContext, at: Moment): void {
    const coolOffMs = spec?.coolOffMs ?? 0;
    if (coolOffMs === 0) return;
    const last = this.#confirmedAt.get(id)?.at(-1);
    const since = last ? Math.max(at.wall - last.wall, at.monotonic - last.monotonic) : coolOffMs;
    if (since < coolOffMs) this.#note('spaced', `${actor} was granted ${elected?.name} ${since} ms after the last assignment`);
    for (const [other, record] of this.#records)
      if (other !== actor && isUnconfirmed(record, id)) void this.#confirmUnspaced(actor, other, record);
  }

  /** What was seen may be behind what is stored, when the writer ended just then. What is not stored any more nobody has told to have ended: a rebuild may have lost it. It
   *  was never under way if neither the store nor a status could take it: then nothing was sent. */
  async #confirmUnspaced(actor: ActorId, other: ActorId, seen: ActorRecord): Promise<void> {
    const at = this.#options.monotonic();
    const { pool, elected } = seen.snapshot.context as unknown as AddressContext;
    const isSent = isSentSince(this.#confirmedAt.get(pool)?.at(-1)?.monotonic ?? 0, seen, this.#options.provider.writes());
    const stored = (await this.#options.load(cellOf(other)).catch(() => null))?.records[other];
    if (isUnconfirmed(stored ?? seen, pool) && (stored || isSent))
      this.violations.push({ rule: 'spaced', at, text: `${actor} was granted a node while ${other} is not confirmed on ${elected?.name}` });
  }

  #checkNodes(): void {
    const owners = new Map<string, { readonly node: string; readonly actors: ActorId[]; limit: number }>();
    for (const [actor, record] of this.#records) {
      if (record.chart !== 'ip') continue;
      const context = record.snapshot.context as unknown as AddressContext;
      for (const node of claimedNodes(context)) {
        const key = `${cloudOf(context.provider)} ${node}`;
        const held = owners.get(key) ?? { node, actors: [], limit: 0 };
        held.actors.push(actor);
        held.limit = Math.max(held.limit, context.perNode ?? this.#options.perNode);
        owners.set(key, held);
      }
    }
    for (const { node, actors, limit } of owners.values()) if (actors.length > limit) void this.#confirmFull(node, actors, limit);
  }

  /** What was seen may be behind what is stored, when the reply to a write was lost: what is stored counts. */
  async #confirmFull(node: string, actors: readonly ActorId[], limit: number): Promise<void> {
    const stored = await Promise.all(actors.map((actor) => this.#options.load(cellOf(actor)).catch(() => null)));
    const holders = actors.filter((actor, index) => {
      const context = stored[index]?.records[actor]?.snapshot.context as unknown as AddressContext | undefined;
      return context && claimedNodes(context).includes(node);
    });
    if (holders.length > limit) this.#note('one address on a node', `${node} is held by ${holders.join(' and ')}`);
  }
}

/** Whether a node was eligible when the turn granted: before it, or because the turn began with the nodes. What it heard of them later it could not know. */
const wasKnown = (node: string, turn: Transition | undefined): boolean => {
  const before = turn?.before?.snapshot.context as unknown as PoolContext | undefined;
  const first = turn?.events.find((type) => type !== 'RESUME');
  return !turn || first === 'CLUSTER_OBSERVED' || (before?.candidates.some(({ name }) => name === node) ?? false);
};
