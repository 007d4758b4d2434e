import { zoneInput } from '../../machines/dns/zone.ts';
import type { FirewallMachineInput } from '../../machines/firewall/context.ts';
import { cellOf, isVip, isVirtualIP } from '../../machines/model/actor-id.ts';
import type { ActorId } from '../../machines/model/types.ts';
import { CREATE_CLAIM } from '../../machines/pool/context.ts';
import { Unreachable } from '../ports/errors.ts';
import { inSlices } from '../ports/in-slices.ts';
import type { SavedTurn } from '../ports/observers.ts';
import type { Queues } from '../ports/queues.ts';
import type { ActorRecord, CellWrite, Command, StoredCell } from '../ports/records.ts';
import { TurnGate } from '../ports/turn-gate.ts';
import { beside } from './beside.ts';
import { Cell, type CellPorts, type Halt, type TurnPorts } from './cell.ts';
import { discard, dispatch } from './dispatch.ts';
import { NamespaceTurns } from './namespace-turns.ts';
import { isSameJson } from './same-json.ts';
import { InTurn } from './serial-queue.ts';
import { Sharing, sharesNodes } from './shared-state.ts';
import type { Envelope } from './turn.ts';

export interface CellsPorts extends TurnPorts {
  readonly queues: Queues;
  readonly settings: { readonly callDeadlineMs: number };
  /** This command is about to list all addresses of a provider. */
  readonly listAsked: (actor: ActorId, commandId: string) => void;
  /** The initial input of a firewall. */
  readonly firewallInput: (id: ActorId) => FirewallMachineInput;
  /** A cell has ended, and with it what was done for the object with this uid; null when it belonged to no object. */
  readonly gone: (cell: ActorId, uid: string | null) => void;
  /** The names of the nodes that are observed for a pool; empty while none are known. */
  readonly nodesOf: (pool: ActorId) => readonly string[];
  /** A cell takes no more turns: the term is over. */
  readonly halted: (why: Halt) => void;
}

/** How many turns of Services and VirtualIPs are saved at a time, and as many of all other cells: enough to keep the store busy. */
const TURNS_AT_ONCE = 64;

/** A wall clock that is off by this much was set, ms. */
const CLOCK_SET_MS = 1000;
/** A cell that could not begin is begun again after this time, ms. */
const BEGUN_AGAIN_MS = 30_000;

/** All cells of one term: delivers events to them, dispatches their commands to the queues, and notifies waiting pools of freed claims. */
export class Cells {
  readonly #term: number;
  readonly #ports: CellsPorts;
  readonly #all = new Map<ActorId, Cell>();
  /** No actor of this term has ended at a higher version. */
  #endedAt = 0;
  readonly #inTurn = new InTurn();
  readonly #turns = new NamespaceTurns();
  readonly #sharing = new Sharing();
  /** By cell, then by type: the facts last sent to it. */
  readonly #told = new Map<ActorId, Map<string, Envelope['event']>>();
  /** There may be thousands of Services and VirtualIPs: a failover must not wait behind them. */
  readonly #ofServices: CellPorts;
  readonly #ofOthers: CellPorts;
  /** Offset from the monotonic clock to the wall clock, ms. */
  #clockOffset = 0;
  /** From this time on no former term can send anything, monotonic ms. */
  readonly #begunAt: number;
  #isLoaded = false;
  #stopped: Halt | null = null;

  constructor(term: number, ports: CellsPorts) {
    this.#term = term;
    this.#ports = ports;
    this.#begunAt = ports.clock.monotonic();
    this.#ofServices = this.#cellPorts(new TurnGate(TURNS_AT_ONCE, ports.clock));
    this.#ofOthers = this.#cellPorts(new TurnGate(TURNS_AT_ONCE, ports.clock));
  }

  get all(): ReadonlyMap<ActorId, Cell> {
    return this.#all;
  }

  get stopped(): boolean {
    return this.#stopped !== null;
  }

  /** All stored cells are loaded. */
  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  /** All stored cells are loaded and the term lasts. Nothing may be sent earlier: an actor that is not loaded yet would start over. */
  get isOpen(): boolean {
    return this.#isLoaded && !this.#stopped;
  }

  recordsOf(cell: ActorId): ReadonlyMap<ActorId, ActorRecord> | null {
    return this.#all.get(cell)?.records ?? null;
  }

  /** Resumes all stored cells, each transformed by `asLoaded`. Completes even if the term ends meanwhile: what this process remembers of it has to be complete. */
  async loadAll(stored: ReadonlyMap<ActorId, StoredCell>, asLoaded: (cell: StoredCell) => StoredCell): Promise<void> {
    await inSlices(
      stored,
      this.#ports.clock,
      () => false,
      ([id, cell]) => this.load(id, asLoaded(cell)),
    );
  }

  /** Resumes a stored cell. */
  load(id: ActorId, stored: StoredCell): void {
    this.#sharing.load(Object.entries(stored.records));
    const cell = new Cell(id, stored, this.#portsOf(id));
    if (this.#stopped) cell.stop(this.#stopped);
    this.#all.set(id, cell);
  }

  /** Called when all stored cells are loaded. Saved sends that may not have been handled go first: their sender may be about to end, and unsent commands are deleted with
   *  its records. */
  open(): void {
    this.#isLoaded = true;
    for (const cell of this.#all.values()) void cell.sweep();
  }

  /** A new cell with the actor that it is named after. */
  begin(chart: string, id: ActorId, input: unknown): void {
    const cell = new Cell(id, null, this.#portsOf(id));
    this.#told.delete(id);
    this.#all.set(id, cell);
    cell.spawn(chart, id, input).then(() => {
      if (cell.records.size === 0) this.#ports.clock.after(BEGUN_AGAIN_MS, () => this.#dropUnbegun(id, cell));
    }, ignoreHalt);
  }

  /** Its first event was set aside: the cell is begun again when it is next needed. */
  #dropUnbegun(id: ActorId, cell: Cell): void {
    if (this.#stopped || this.#all.get(id) !== cell || cell.records.size > 0) return;
    this.#all.delete(id);
    this.#ports.gone(id, null);
  }

  /** Resolves once the turn that handled it is saved; at once for an actor that does not exist. @throws Unreachable when its cell is halted before that */
  async deliver(envelope: Envelope): Promise<void> {
    const id = cellOf(envelope.to);
    if (!this.#all.has(id)) this.#beginShared(id);
    await this.#all.get(id)?.send(envelope);
  }

  /** Delivers without waiting. A halted cell misses the event: the next leader sends every fact again. */
  tell(to: ActorId, event: Envelope['event']): void {
    this.deliver({ to, event }).catch(ignoreHalt);
  }

  /** Sends a fact to a cell unless it equals the last one of its type. A new spec may make the cell discard what it knew of the cluster. */
  tellFact(id: ActorId, fact: Envelope['event']): void {
    this.#heedClock();
    const told = this.#told.get(id) ?? new Map<string, Envelope['event']>();
    if (isSameJson(told.get(fact.type), fact)) return;
    if (fact.type === 'SPEC_OBSERVED') told.delete('CLUSTER_OBSERVED');
    this.#told.set(id, told.set(fact.type, fact));
    this.tell(id, fact);
  }

  /** Work that waits for a wall-clock time is re-evaluated with the next fact: after a clock change every fact counts as new. */
  #heedClock(): void {
    const { clock } = this.#ports;
    const offset = clock.now() - clock.monotonic();
    if (Math.abs(offset - this.#clockOffset) < CLOCK_SET_MS) return;
    this.#clockOffset = offset;
    this.#told.clear();
  }

  /** Resumes an actor after a load. Every fact will be sent to its cell again. */
  resume(actor: ActorId): void {
    this.#told.delete(cellOf(actor));
    this.tell(actor, { type: 'RESUME' });
  }

  /** Retries failed dispatches, and forgets senders that are gone. */
  sweep(): void {
    const maySend = (actor: ActorId): boolean => this.#all.get(cellOf(actor))?.maySend(actor) ?? false;
    for (const cell of this.#all.values()) {
      void cell.sweep();
      cell.forgetSenders(maySend);
    }
  }

  stop(why: Halt): void {
    this.#stopped = why;
    for (const cell of this.#all.values()) cell.stop(why);
  }

  /** Resolves once no turn is running; while the term lasts, once each cell has been idle for a moment. */
  async quiet(): Promise<void> {
    await Promise.all([...this.#all.values()].map((cell) => cell.quiet()));
  }

  #portsOf(id: ActorId): CellPorts {
    return isVip(id) || isVirtualIP(id) ? this.#ofServices : this.#ofOthers;
  }

  #cellPorts(gate: TurnGate): CellPorts {
    const { charts, store, clock, log, probe, observers, queues } = this.#ports;
    return {
      charts,
      store,
      clock,
      log,
      probe,
      gate,
      observers: [
        this.#sharing,
        ...observers,
        { turnSaved: (turn) => this.#dropIfGone(turn), eventSetAside: ({ actor }) => void this.#told.delete(cellOf(actor)) },
      ],
      term: () => this.#term,
      dispatch: (commands) => this.#dispatch(commands),
      discard: (obsolete) => discard(obsolete, { queues }),
      endedAt: () => this.#endedAt,
      ended: (version) => {
        this.#endedAt = Math.max(this.#endedAt, version) + 1;
      },
      claimsChanged: (claims) => this.#claimsChanged(claims),
      unheard: (cell, envelope) => (this.#all.get(cell.id) === cell ? Promise.resolve() : this.deliver(envelope)),
      halted: (cell, why) => {
        log.warn('a cell halted', { cell, reason: why });
        if (!this.#stopped) this.#ports.halted(why);
      },
    };
  }

  #dispatch(commands: readonly Command[]): Promise<readonly string[]> {
    const { queues, log, clock, listAsked } = this.#ports;
    for (const command of commands) if (command.kind === 'job' && command.job === 'verifyAll') listAsked(command.actor, command.id);
    return dispatch(commands, {
      queues,
      log,
      now: () => clock.now(),
      term: () => this.#term,
      beside: (cell) => beside(cell, this.#all),
      deliver: (envelope) => this.deliver(envelope),
      arrived: (sender, id) => this.#all.get(cellOf(sender))?.arrived(id),
    });
  }

  /** A shared resource, a firewall or a zone, begins with the first claim on it. */
  #beginShared(id: ActorId): void {
    const [kind] = id.split('/');
    if (kind === 'firewall') this.begin('firewall', id, this.#ports.firewallInput(id));
    if (kind === 'zone') this.begin('dns-zone', id, { ...zoneInput(id), ...this.#unheard() });
  }

  /** Sends of former terms to a zone that begins now may be unknown: their records may be lost. */
  #unheard(): { readonly unheardUntil?: number } {
    const { clock, settings } = this.#ports;
    const leftMs = this.#begunAt + settings.callDeadlineMs - clock.monotonic();
    return leftMs > 0 ? { unheardUntil: clock.now() + leftMs } : {};
  }

  #dropIfGone({ cell: id, transitions }: SavedTurn): void {
    const end = transitions.find(({ actor, after }) => actor === id && after === null);
    if (!end) return;
    this.#all.delete(id);
    this.#told.delete(id);
    const { store, log, gone } = this.#ports;
    void store.drop(id, this.#term).catch((error) => log.warn('records of a deleted pool remain', { cell: id, error: String(error) }));
    const { ref } = (end.before?.snapshot.context ?? {}) as { readonly ref?: { readonly uid?: string } };
    gone(id, ref?.uid ?? null);
  }

  /** A claim was freed: pools of that provider that had observed the node as taken are notified that it is free. The right to create rotates between namespaces: however
   *  many pools of one namespace wait, another namespace is served next. */
  #claimsChanged({ free }: CellWrite['claims']): void {
    const freed = new Set(free.map(({ node }) => node));
    if (freed.size === 0) return;
    const waiting = [...this.#all].filter(([, cell]) => [...cell.fullNodes].some((node) => freed.has(node)));
    const creator = free.find(({ node }) => node === CREATE_CLAIM)?.owner;
    for (const [id, cell] of creator === undefined ? waiting : this.#turns.next(creator, waiting)) {
      this.tellClaims(
        id,
        [...cell.fullNodes].filter((node) => !freed.has(node)),
      );
    }
  }

  /** Sends a pool the nodes that others hold, and what it has to know of the pools that share a turn or nodes with it. */
  tellClaims(id: ActorId, fullNodes: Iterable<string>): void {
    const shared = this.#sharing.sharedBy(id, this.recordsOf(id), this.#ports.nodesOf(id));
    this.tell(id, { type: 'CLAIMS_OBSERVED', fullNodes: [...fullNodes].sort(), ...(shared && { shared }) });
  }

  /** Sends a fact to a cell. Cells that share nodes are served one at a time, with fresh claims, after those before them have decided: otherwise addresses that may share
   *  nodes would all take the same one. */
  tellInTurn(id: ActorId, fact: () => Envelope['event'] | null): void {
    const cell = this.#all.get(id);
    if (cell && sharesNodes(id, cell.records)) {
      this.#inTurn.add(id, async () => {
        if (sharesNodes(id, cell.records)) this.tellClaims(id, cell.fullNodes);
        const event = fact();
        if (event) await this.deliver({ to: id, event }).catch(ignoreHalt);
      });
      return;
    }
    const event = fact();
    if (event) this.tellFact(id, event);
  }
}

const ignoreHalt = (error: unknown): void => {
  if (!(error instanceof Unreachable)) throw error;
};
