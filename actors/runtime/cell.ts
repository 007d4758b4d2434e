import type { ActorId, Finding } from '../../machines/model/types.ts';
import { Unreachable } from '../ports/errors.ts';
import type { Log, Observer, Probe } from '../ports/observers.ts';
import type { ActorRecord, CellWrite, Clock, Command, RecordStore, SaveResult, StoredCell } from '../ports/records.ts';
import type { TurnGate } from '../ports/turn-gate.ts';
import { Ailment, awaitedBy } from './ailment.ts';
import { type Charts, isOf, termOf } from './charts.ts';
import { Mailbox, type Pending } from './mailbox.ts';
import { type CellState, type Envelope, runTurn, type TurnResult } from './turn.ts';

/** Why a cell stopped; its leader has to check the store again. */
export type Halt = 'stale' | 'lost' | 'unreachable';

/** The ports with which every turn is run and saved. */
export interface TurnPorts {
  readonly charts: Charts;
  readonly store: RecordStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly probe: Probe;
  readonly observers: readonly Observer[];
}

export interface CellPorts extends TurnPorts {
  /** Shared with other cells: a turn that has entered waits for none of theirs. */
  readonly gate: TurnGate;
  /** The term under which this cell writes. */
  readonly term: () => number;
  /** Dispatches saved commands; returns the ids of the jobs and timers that were stored. Never throws; a send is reported by `arrived` later. */
  readonly dispatch: (commands: readonly Command[]) => Promise<readonly string[]>;
  /** Best effort: these jobs and timers are no longer waited for. */
  readonly discard: (obsolete: TurnResult['obsolete']) => void;
  /** No actor of this term ended at a higher version; 0 before any has ended. */
  readonly endedAt: () => number;
  /** An actor has ended whose last stored version is this; 0 if it was never stored. */
  readonly ended: (version: number) => void;
  /** Claims changed hands. */
  readonly claimsChanged: (claims: CellWrite['claims']) => void;
  /** A claim arrived after its target in this cell had ended. Resolves once the replacement has handled it. */
  readonly unheard: (cell: Cell, envelope: Envelope) => Promise<void>;
  /** The cell takes no more turns until it is reopened. */
  readonly halted: (cell: ActorId, why: Halt) => void;
}

/** Pause of a cell that requests a claim known to be refused, ms. */
const REFUSED_PAUSE_MS = 1000;

/** What a cell is doing, and since when, monotonic ms. `queued`: the limit of concurrent turns of its kind is reached. */
export interface Work {
  readonly what: 'queued' | 'deciding' | 'saving' | 'dispatching';
  readonly since: number;
}

/** How many waiting events one write may cover. */
const EVENTS_PER_TURN = 32;

/** A pool and its addresses, or one other actor: one mailbox, one turn at a time. A turn is saved as a whole before any of its effects is carried out. */
export class Cell {
  readonly id: ActorId;
  readonly #ports: CellPorts;
  readonly #seen: Map<ActorId, string>;
  #state: CellState;
  #outbox = new Map<string, Command>();
  /** Dispatched, but still in the stored outbox. */
  #toClear = new Set<string>();
  readonly #mailbox = new Mailbox();
  #running = false;
  #halted: Halt | null = null;
  readonly #ailment: Ailment;
  #work: Work | null = null;
  /** Ends the pause after a turn that failed. */
  #wake: (() => void) | null = null;
  #fullNodes: ReadonlySet<string> = new Set();
  #idle: (() => void)[] = [];

  constructor(id: ActorId, stored: StoredCell | null, ports: CellPorts) {
    this.id = id;
    this.#ports = ports;
    this.#ailment = new Ailment(id, ports.log);
    this.#seen = new Map(Object.entries(stored?.seen ?? {}));
    this.#state = { id, records: new Map(Object.entries(stored?.records ?? {})), seen: this.#seen };
    for (const command of stored?.outbox ?? []) {
      if (isOver(command, stored?.records ?? {}, ports.term())) this.#toClear.add(command.id);
      else this.#outbox.set(command.id, command);
    }
  }

  get records(): ReadonlyMap<ActorId, ActorRecord> {
    return this.#state.records;
  }

  get halt(): Halt | null {
    return this.#halted;
  }

  /** What is wrong with its turns, for users; null for nothing. */
  get trouble(): Finding | null {
    return this.#ailment.finding;
  }

  /** The actors whose sends it could not handle. */
  get unheardOf(): readonly ActorId[] {
    return this.#ailment.unheardOf;
  }

  /** The stage at which its turns fail, once they are retried at a slow pace; null otherwise. */
  get failing(): 'save' | 'turn' | null {
    return this.#ailment.failing;
  }

  /** Null while it is idle. */
  get work(): Work | null {
    return this.#work;
  }

  /** Nodes that this cell has observed as taken by others. */
  get fullNodes(): ReadonlySet<string> {
    return this.#fullNodes;
  }

  /** Resolves once the turn that handled the event is saved, or the event was found void. Rejects when the cell is halted before that. */
  send(envelope: Envelope): Promise<void> {
    if (this.#halted) return Promise.reject(new Unreachable(`${this.id} is halted: ${this.#halted}`));
    if (envelope.event.type === 'CLAIMS_OBSERVED') this.#fullNodes = new Set(envelope.event.fullNodes as readonly string[]);
    return new Promise((handled, refused) => {
      this.#mailbox.put({ envelope, handled, refused });
      void this.#run();
    });
  }

  /** Creates an actor in this cell. */
  async spawn(chart: string, id: ActorId, input: unknown): Promise<void> {
    await this.send({ to: id, event: { type: 'init' }, begin: { chart, input } });
  }

  /** Resolves when the mailbox is empty and nothing runs. */
  quiet(): Promise<void> {
    if (!this.#running) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Retries failed dispatches. */
  async sweep(): Promise<void> {
    if (this.#outbox.size > 0 && !this.#halted) await this.#dispatch([...this.#outbox.values()]);
  }

  /** Whether a send of this actor may come again: the actor exists, or one of its sends is still in the outbox. */
  maySend(actor: ActorId): boolean {
    if (this.records.has(actor)) return true;
    return [...this.#outbox.keys(), ...this.#toClear].some((id) => isOf(actor, id));
  }

  /** Drops the last-seen sends of senders that are gone, queued behind everything they have sent. */
  forgetSenders(maySend: (actor: ActorId) => boolean): void {
    if (this.#halted || this.#running) return;
    const gone = [...this.#seen.keys()].filter((actor) => !maySend(actor));
    if (gone.length > 0) this.send({ to: this.id, event: { type: 'forget' }, forget: gone }).catch(() => undefined);
  }

  /** Takes no more turns; waiting events are rejected. */
  stop(why: Halt): void {
    if (this.#halted) return;
    this.#halted = why;
    this.#wake?.();
    this.#refuse();
  }

  #refuse(): void {
    for (const { refused } of this.#mailbox.take(Number.POSITIVE_INFINITY))
      refused(new Unreachable(`${this.id} is halted: ${this.#halted}`));
  }

  /** A send of this cell was handled by its receiver: its outbox entry is removed with the next write. */
  arrived(id: string): void {
    if (this.#outbox.delete(id)) this.#toClear.add(id);
  }

  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    try {
      while (!this.#mailbox.isEmpty && !this.#halted) {
        this.#enter('queued');
        const waits = this.#ports.gate.enter();
        if (waits) await waits;
        // Events that arrived meanwhile are handled in the same turn; none are left if the cell was stopped.
        const pending = this.#mailbox.take(EVENTS_PER_TURN);
        try {
          if (pending.length > 0) await this.#try(pending);
        } finally {
          this.#ports.gate.leave();
          this.#work = null;
        }
        if (this.#ailment.pauseMs > 0 && !this.#halted) await this.#pause();
      }
    } finally {
      // A turn that was under way when it was halted may have put its events back.
      if (this.#halted) this.#refuse();
      this.#running = false;
      for (const resolve of this.#idle.splice(0)) resolve();
    }
  }

  #enter(what: Work['what']): void {
    this.#work = { what, since: this.#ports.clock.monotonic() };
  }

  /** A failed turn is a defect of this cell or of its stored records: it is retried after a pause while all other cells go on. */
  async #try(pending: readonly Pending[]): Promise<void> {
    this.#enter('deciding');
    try {
      await this.#turn(pending);
      this.#ailment.succeeded();
    } catch (error) {
      this.#mailbox.putBack(pending);
      this.#ailment.failed(this.#work?.what === 'saving' ? 'save' : 'turn', error);
    }
  }

  async #pause(): Promise<void> {
    await new Promise<void>((resolve) => {
      const cancel = this.#ports.clock.after(this.#ailment.pauseMs, resolve);
      this.#wake = () => {
        cancel();
        resolve();
      };
    });
    this.#wake = null;
  }

  async #turn(pending: readonly Pending[]): Promise<void> {
    const clear = [...this.#toClear];
    const { charts, clock, endedAt, term } = this.#ports;
    const context = { charts, term: term(), now: clock.now(), clear, endedAt };
    const result = runTurn(
      this.#state,
      pending.map(({ envelope }) => envelope),
      context,
    );
    const saved = result.write ? await this.#save(result.write) : SAVED;
    if (saved.kind === 'claimsFull') {
      await this.#retryWithout(saved.nodes, pending);
      return;
    }
    if (saved.kind !== 'saved') {
      this.#giveUp(saved.kind === 'lost' ? 'lost' : 'stale', pending);
      return;
    }
    this.#adopt(result, clear, context.now);
    for (const { envelope } of pending) this.#ailment.handled(envelope);
    for (const fault of result.faults) this.#setAside(fault);
    for (const { envelope, handled, refused } of pending) {
      if (result.unheard.includes(envelope)) this.#ports.unheard(this, envelope).then(handled, refused);
      else handled();
    }
    this.#enter('dispatching');
    if (result.write) await this.#dispatch(result.write.outbox.add);
  }

  #setAside({ envelope, error }: TurnResult['faults'][number]): void {
    const { to: actor, event } = envelope;
    this.#ailment.setAside(envelope, error);
    const told = { actor, event: event.type, ...awaitedBy(envelope) };
    for (const observer of this.#ports.observers) this.#tell(() => observer.eventSetAside?.(told));
  }

  #adopt(result: TurnResult, cleared: readonly string[], at: number): void {
    this.#state = result.next;
    if (!result.write) return;
    this.#noteSenders(result.write);
    for (const { expected, record } of result.write.records) if (!record) this.#ports.ended(expected);
    for (const id of cleared) this.#toClear.delete(id);
    for (const command of result.write.outbox.add) this.#outbox.set(command.id, command);
    for (const { commandId } of result.obsolete) {
      if (this.#outbox.delete(commandId)) this.#toClear.add(commandId);
    }
    this.#ports.probe('afterWrite', this.id);
    if (result.obsolete.length > 0) this.#ports.discard(result.obsolete);
    const turn = { cell: this.id, term: result.write.term, at, transitions: result.transitions };
    for (const observer of this.#ports.observers) this.#tell(() => observer.turnSaved(turn));
    // After the observers: cells that wait for a claim also receive what this turn changed for them.
    if (result.write.claims.take.length + result.write.claims.free.length > 0) this.#ports.claimsChanged(result.write.claims);
  }

  #noteSenders({ seen }: CellWrite): void {
    for (const [actor, id] of Object.entries(seen)) {
      if (id === null) this.#seen.delete(actor);
      else this.#seen.set(actor, id);
    }
  }

  /** An observer cannot affect the cell, even by throwing. */
  #tell(observe: () => void): void {
    try {
      observe();
    } catch (error) {
      this.#ports.log.error('an observer threw', { error: String(error) });
    }
  }

  /** Another pool holds these nodes: the pool receives that fact first, then the same events again. Nothing of the refused turn was carried out. */
  async #retryWithout(nodes: readonly string[], pending: readonly Pending[]): Promise<void> {
    if (nodes.every((node) => this.#fullNodes.has(node))) {
      // The chart ignores the claims that it received. Without a pause this loop would take up the whole process.
      this.#ports.log.error('a claim is asked for again although it is known to be refused', { cell: this.id, nodes });
      await new Promise<void>((resolve) => this.#ports.clock.after(REFUSED_PAUSE_MS, resolve));
    }
    this.#fullNodes = new Set([...this.#fullNodes, ...nodes]);
    const told: Pending = {
      envelope: { to: this.id, event: { type: 'CLAIMS_OBSERVED', fullNodes: [...this.#fullNodes].sort() } },
      handled: () => {},
      refused: () => {},
    };
    this.#mailbox.putBackBehind(told, pending);
  }

  #giveUp(why: Halt, pending: readonly Pending[]): void {
    this.#mailbox.putBack(pending);
    this.stop(why);
    this.#ports.halted(this.id, why);
  }

  /** Saves. When the store does not answer, checks whether the write took effect before repeating it; the same ids make repeating harmless. */
  async #save(write: CellWrite): Promise<SaveResult> {
    this.#enter('saving');
    this.#ports.probe('beforeWrite', this.id);
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#ports.store.save(write);
      } catch (error) {
        if (!(error instanceof Unreachable)) throw error;
        this.#ports.log.warn('a turn could not be saved yet', { cell: this.id, attempt, error: error.message });
        await new Promise<void>((resolve) => this.#ports.clock.after(Math.min(100 * attempt, 1000), resolve));
        if (this.#halted) return { kind: 'stale', what: 'term' };
        if (await this.#stands(write)) return SAVED;
        // Records may have moved to another store meanwhile, where this write is not expected.
        if (this.#halted) return { kind: 'stale', what: 'term' };
      }
    }
  }

  /** Whether a write whose answer was lost took effect in the store. */
  async #stands(write: CellWrite): Promise<boolean> {
    try {
      const stored = await this.#ports.store.load(write.cell);
      return (
        write.records.length > 0 &&
        write.records.every(({ actor, record }) => {
          const now = stored?.records[actor];
          return record === null ? now === undefined : now?.version === record.version && now.term === record.term;
        })
      );
    } catch {
      return false;
    }
  }

  async #dispatch(commands: readonly Command[]): Promise<void> {
    const live = commands.filter((command) => this.#outbox.has(command.id));
    if (live.length === 0) return;
    for (const id of await this.#ports.dispatch(live)) {
      if (this.#outbox.delete(id)) this.#toClear.add(id);
    }
    this.#ports.probe('afterDispatch', this.id);
  }
}

/** An actor that waits for a job or timer of a former term requests it again on resume: the queue may have lost one that was carried out, and would run it again. A claim
 *  that its sender no longer waits for was handled, or is made again: a successor of the actor that handled it would take it for a new one. */
const isOver = (command: Command, records: StoredCell['records'], term: number): boolean =>
  command.kind === 'send'
    ? (command.event as { readonly claimId?: unknown }).claimId === command.id &&
      records[command.actor]?.waiting.claim?.commandId !== command.id
    : termOf(command.id) < term;

const SAVED: SaveResult = { kind: 'saved' };
