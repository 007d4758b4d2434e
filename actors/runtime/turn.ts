import type { Effect } from '../../machines/events.ts';
import { cellOf } from '../../machines/model/actor-id.ts';
import type { ActorId, Finding } from '../../machines/model/types.ts';
import type { HeardEvent, Sender, Transition } from '../ports/observers.ts';
import type { ActorRecord, CellWrite, Command, JobCommand, Json, SendCommand, TimerCommand, Waiting } from '../ports/records.ts';
import { type Charts, isNewer, keyOf } from './charts.ts';
import { claimsDiff, copyOf, type Draft, isChanged, type Obsolete, obsoleteOf } from './draft.ts';
import { journalEntry } from './journal.ts';
import { begin, type MachineEvent, type Step, step } from './step.ts';

/** An event on its way to an actor of a cell. */
export interface Envelope {
  readonly to: ActorId;
  readonly event: { readonly type: string; readonly [field: string]: unknown };
  /** Handled only while the actor waits for this command under this key. */
  readonly fence?: { readonly key: string; readonly commandId: string };
  /** Creates the actor instead of sending it an event; does nothing when it exists. */
  readonly begin?: { readonly chart: string; readonly input: unknown };
  /** Actors that have ended and whose sends have all been handled: their last-seen ids are dropped. The actor receives no event. */
  readonly forget?: readonly ActorId[];
  /** Stored with the awaited command; the actor receives no event. */
  readonly waits?: Finding | null;
  /** Handled only once: a send with an id not newer than the last one of its sender is dropped. */
  readonly sender?: { readonly actor: ActorId; readonly id: string };
  /** The actor of the same cell that sent it within the turn. */
  readonly from?: ActorId;
}

/** What a cell holds in memory between turns: exactly what is stored. */
export interface CellState {
  readonly id: ActorId;
  readonly records: ReadonlyMap<ActorId, ActorRecord>;
  /** The last handled send per sending actor. There may be many: the map is not copied with each turn. */
  readonly seen: ReadonlyMap<ActorId, string>;
}

export interface TurnContext {
  readonly charts: Charts;
  readonly term: number;
  readonly now: number;
  /** Commands that were dispatched since the last write: their outbox entries are removed with this one. */
  readonly clear: readonly string[];
  /** No actor ended at a higher version earlier in this term; 0 for none. A new actor counts from there, so that ids never repeat. */
  readonly endedAt: () => number;
}

export interface TurnResult {
  /** Null when nothing changed: there is nothing to save. */
  readonly write: CellWrite | null;
  /** What the cell holds once the write is saved, except for `seen`. */
  readonly next: CellState;
  readonly transitions: readonly Transition[];
  readonly obsolete: readonly Obsolete[];
  /** Envelopes whose handling threw, which is a defect. Nothing of them is applied, neither the event nor the sends inside the cell that followed from it; the actor still
   *  waits for what it waited for, and the other envelopes of the turn stand. */
  readonly faults: readonly { readonly envelope: Envelope; readonly error: unknown }[];
  /** Claims whose target had ended before it could handle them: they are for its successor. */
  readonly unheard: readonly Envelope[];
}

/** Once this many actors have changed, the rest of a turn goes through the outbox and becomes the next turns. */
const ACTORS_PER_WRITE = 64;

/** The events that claim something of a firewall, and of a zone. */
const CLAIMS: ReadonlySet<string> = new Set(['CLAIM', 'RECORDS']);

/** One turn: runs events and all sends inside the cell in memory until none are left. Nothing is carried out. */
export function runTurn(state: CellState, envelopes: readonly Envelope[], context: TurnContext): TurnResult {
  const turn = new Turn(state, context);
  for (const envelope of envelopes) turn.handle(envelope);
  return turn.result();
}

class Turn {
  readonly #state: CellState;
  readonly #context: TurnContext;
  readonly #drafts = new Map<ActorId, Draft>();
  readonly #sends: SendCommand[] = [];
  readonly #faults: { envelope: Envelope; error: unknown }[] = [];
  readonly #unheard: Envelope[] = [];
  /** Drafts as they were before the envelope that is being handled; null for actors that had none. */
  readonly #savepoints = new Map<ActorId, Draft | null>();
  readonly #seen = new Map<ActorId, string | null>();
  #heard = 0;

  constructor(state: CellState, context: TurnContext) {
    this.#state = state;
    this.#context = context;
  }

  handle(first: Envelope): void {
    for (const actor of first.forget ?? []) this.#seen.set(actor, null);
    if (first.forget) return;
    if (CLAIMS.has(first.event.type) && (this.#draft(first.to)?.done ?? true)) {
      this.#unheard.push(first);
      return;
    }
    this.#savepoints.clear();
    const sends = this.#sends.length;
    const queue = [first];
    try {
      for (let envelope = queue.shift(); envelope; envelope = queue.shift()) queue.push(...this.#deliver(envelope));
    } catch (error) {
      this.#faults.push({ envelope: first, error });
      this.#sends.length = sends;
      for (const [actor, draft] of this.#savepoints) {
        if (draft) this.#drafts.set(actor, draft);
        else this.#drafts.delete(actor);
      }
    }
  }

  /** Saves the actor's draft as it was before this envelope. Call it before anything in the draft changes. */
  #keep(actor: ActorId): void {
    if (this.#savepoints.has(actor)) return;
    const draft = this.#drafts.get(actor);
    this.#savepoints.set(actor, draft ? copyOf(draft) : null);
  }

  /** Runs one event; returns the sends that stay inside the cell. */
  #deliver(envelope: Envelope): readonly Envelope[] {
    const { to, event, sender } = envelope;
    const fence = envelope.fence ?? claimFence(event);
    if (sender && this.#wasSeen(sender)) return [];
    if (envelope.begin) return this.#spawn({ id: to, ...envelope.begin }, OUTSIDE);
    const draft = this.#draft(to);
    if (!draft || draft.done) return [];
    const awaited = fence && draft.waiting.get(fence.key);
    if (fence) {
      if (awaited?.commandId !== fence.commandId) return [];
      if (envelope.waits !== undefined) {
        draft.waiting.set(fence.key, { ...awaited, waits: envelope.waits });
        return [];
      }
      draft.waiting.delete(fence.key);
      draft.consumed.add(fence.commandId);
    }
    const timed: MachineEvent = { ...event, at: this.#context.now };
    const before = draft.snapshot;
    const stepped = step(draft.chart, before, timed);
    draft.heard.push(this.#heardNow(timed, senderOf(envelope, awaited)));
    const inside = this.#apply(to, draft, stepped, event.type === 'RESUME');
    if (JSON.stringify(before.value) !== JSON.stringify(draft.snapshot.value))
      draft.journal.push(journalEntry(to, draft.chart, before, timed, draft.snapshot.value));
    return inside;
  }

  #heardNow(event: HeardEvent['event'], from: Sender): HeardEvent {
    this.#heard += 1;
    return { order: this.#heard, event, from };
  }

  /** Whether this send, or a later one of its sender, was already handled; records it as handled. */
  #wasSeen({ actor, id }: NonNullable<Envelope['sender']>): boolean {
    const last = this.#seen.has(actor) ? this.#seen.get(actor) : this.#state.seen.get(actor);
    if (last && !isNewer(id, last)) return true;
    this.#seen.set(actor, id);
    return false;
  }

  #draft(actor: ActorId): Draft | null {
    this.#keep(actor);
    const open = this.#drafts.get(actor);
    if (open) return open;
    const stored = this.#state.records.get(actor);
    const chart = stored && this.#context.charts[stored.chart];
    if (!stored || !chart) return null;
    const draft: Draft = {
      stored,
      version: stored.version + 1,
      chart,
      snapshot: stored.snapshot,
      waiting: new Map(Object.entries(stored.waiting)),
      commands: new Map(),
      consumed: new Set(),
      heard: [],
      journal: [],
      index: 0,
      done: false,
    };
    this.#drafts.set(actor, draft);
    return draft;
  }

  #apply(actor: ActorId, draft: Draft, stepped: Step, resuming: boolean): readonly Envelope[] {
    const waited = new Map(draft.waiting);
    draft.snapshot = stepped.snapshot;
    draft.done = stepped.done;
    for (const sendId of stepped.cancels) this.#forget(draft, sendId);
    for (const key of [...draft.waiting.keys()]) {
      if (isJobKey(draft, key) && !stepped.invoking.has(key)) this.#forget(draft, key);
    }
    for (const { sendId, delayMs } of stepped.delays) {
      const rest = resuming ? waited.get(sendId)?.dueAt : undefined;
      const { now } = this.#context;
      const waitMs = Math.max(0, Math.min(delayMs, (rest ?? Number.POSITIVE_INFINITY) - now));
      this.#await(actor, draft, sendId, (id) => ({ kind: 'timer', id, actor, sendId, dueAt: now + waitMs, waitMs }));
    }
    for (const { invokeId, job, input } of stepped.starts) {
      if (!stepped.invoking.has(invokeId)) continue;
      const described = draft.chart.job(job, input as never);
      const resumes = resuming ? waited.get(invokeId)?.commandId : undefined;
      this.#await(actor, draft, invokeId, (id) => ({
        kind: 'job',
        id,
        actor,
        invokeId,
        job,
        ...described,
        input: input as Json,
        ...(resumes !== undefined && { resumes }),
      }));
    }
    return stepped.effects.flatMap((effect) => this.#carry(actor, draft, effect));
  }

  #forget(draft: Draft, key: string): void {
    draft.waiting.delete(key);
    draft.commands.delete(key);
  }

  #nextId(actor: ActorId, draft: Draft): string {
    const id = keyOf(actor, this.#context.term, draft.version, draft.index);
    draft.index += 1;
    return id;
  }

  #await(actor: ActorId, draft: Draft, key: string, make: (id: string) => JobCommand | TimerCommand): void {
    const command = make(this.#nextId(actor, draft));
    draft.commands.set(key, command);
    const { id: commandId } = command;
    draft.waiting.set(key, command.kind === 'timer' ? { commandId, dueAt: command.dueAt } : { commandId, queue: command.queue });
  }

  #carry(actor: ActorId, draft: Draft, effect: Effect): readonly Envelope[] {
    switch (effect.type) {
      case 'spawn':
        return this.#spawn(effect.params, { kind: 'actor', actor });
      case 'tell': {
        const { to, event } = effect.params;
        const inside = cellOf(to) === this.#state.id && this.#drafts.size < ACTORS_PER_WRITE;
        if (inside) return [{ to, event, from: actor }];
        this.#sends.push({ kind: 'send', id: this.#nextId(actor, draft), actor, to, event: event as unknown as Json });
        return [];
      }
      case 'claim': {
        const id = this.#nextId(actor, draft);
        const event = { ...effect.params.event, claimId: id };
        draft.waiting.set('claim', { commandId: id });
        this.#sends.push({ kind: 'send', id, actor, to: effect.params.to, event: event as unknown as Json });
        return [];
      }
    }
  }

  #spawn({ chart: name, id, input }: { chart: string; id: ActorId; input: unknown }, from: Sender): readonly Envelope[] {
    const chart = this.#context.charts[name];
    if (!chart) throw new Error(`no chart named ${name}`);
    this.#keep(id);
    const former = this.#drafts.get(id);
    if (former ? !former.done : this.#state.records.has(id)) return [];
    const begun = begin(chart, input);
    const draft: Draft = {
      stored: former?.stored ?? null,
      version: former?.version ?? this.#context.endedAt() + 1,
      chart,
      snapshot: begun.snapshot,
      waiting: new Map(),
      commands: new Map(),
      consumed: new Set(),
      heard: [this.#heardNow({ type: 'init', input }, from)],
      journal: [{ actor: id, at: this.#context.now, event: 'init', from: null, to: begun.snapshot.value as Json }],
      index: former?.index ?? 0,
      done: false,
    };
    this.#drafts.set(id, draft);
    return this.#apply(id, draft, begun, false);
  }

  result(): TurnResult {
    const changed = [...this.#drafts].filter(([, draft]) => isChanged(draft));
    const records = new Map(this.#state.records);
    const transitions: Transition[] = [];
    const claims = { take: [] as CellWrite['claims']['take'][number][], free: [] as CellWrite['claims']['free'][number][] };
    for (const [actor, draft] of changed) {
      const after = draft.done ? null : this.#record(draft);
      if (after) records.set(actor, after);
      else records.delete(actor);
      const { chart, heard, consumed, stored } = draft;
      const events = heard.map(({ event }) => event.type);
      transitions.push({ actor, chart: chart.name, events, heard, consumed: [...consumed], before: stored, after });
      const diff = claimsDiff(actor, draft, after);
      claims.take.push(...diff.take);
      claims.free.push(...diff.free);
    }
    const next: CellState = { ...this.#state, records };
    // A cell that has ended no longer stores senders: they would never be deleted.
    const isNoted = this.#seen.size > 0 && records.size > 0;
    const nothing = changed.length === 0 && this.#sends.length === 0 && !isNoted;
    const jobs: Command[] = changed.flatMap(([, draft]) => (draft.done ? [] : [...draft.commands.values()]));
    const write: CellWrite = {
      cell: this.#state.id,
      term: this.#context.term,
      records: changed.map(([actor, draft]) => ({ actor, expected: draft.stored?.version ?? 0, record: records.get(actor) ?? null })),
      outbox: { add: [...jobs, ...this.#sends], clear: this.#context.clear },
      claims,
      seen: Object.fromEntries(this.#seen),
      journal: changed.flatMap(([, draft]) => draft.journal),
    };
    return {
      write: nothing ? null : write,
      next,
      transitions,
      obsolete: changed.flatMap(([, draft]) => obsoleteOf(draft)),
      faults: this.#faults,
      unheard: this.#unheard,
    };
  }

  #record(draft: Draft): ActorRecord {
    return {
      chart: draft.chart.name,
      chartVersion: draft.chart.version,
      snapshot: draft.snapshot as ActorRecord['snapshot'],
      waiting: Object.fromEntries(draft.waiting),
      version: draft.version,
      term: this.#context.term,
    };
  }
}

/** An answer of a firewall is fenced like an outcome, by the claim that it answers. */
export const claimFence = ({ type, claimId }: Envelope['event']): Envelope['fence'] =>
  type !== 'CLAIM' && typeof claimId === 'string' ? { key: 'claim', commandId: claimId } : undefined;

const OUTSIDE: Sender = { kind: 'outside' };
const TIMER: Sender = { kind: 'timer' };

/** `awaited` is what the actor waited for under the fence of the event. */
function senderOf({ sender, from, fence }: Envelope, awaited: Waiting | undefined): Sender {
  const actor = sender?.actor ?? from;
  if (actor !== undefined) return { kind: 'actor', actor };
  if (!fence || !awaited) return OUTSIDE;
  return awaited.dueAt === undefined ? { kind: 'job', invokeId: fence.key } : TIMER;
}

/** Timers have a due time, claims their own key; everything else that is waited for is a job. */
const isJobKey = (draft: Draft, key: string): boolean => key !== 'claim' && draft.waiting.get(key)?.dueAt === undefined;
