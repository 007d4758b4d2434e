import type { Verification } from '../machines/jobs.ts';
import { rememberedPool } from '../machines/rebuild.ts';
import type { ActorId, ObservedAddress } from '../machines/types.ts';
import type { ProviderFacts, ProviderRegistry } from '../machines/validate.ts';
import { Alarms } from './alarms.ts';
import { Cell, type CellPorts, type Halt } from './cell.ts';
import { type Charts, cellOf } from './charts.ts';
import { discard, dispatch, type TimerData } from './dispatch.ts';
import { Unreachable } from './errors.ts';
import { Overdue } from './overdue.ts';
import { type ObservedPools, providerOf } from './pools.ts';
import type { PoolObject } from './ports/cluster.ts';
import type {
  ActiveJob,
  ActorRecord,
  CellWrite,
  Clock,
  Command,
  Consumer,
  JobStep,
  Log,
  Observer,
  Probe,
  Provider,
  Queues,
  RecordStore,
  SavedTurn,
} from './ports.ts';
import type { Settings } from './settings.ts';
import { loadCells, type Memory, resetClaims, restoreCells } from './takeover.ts';
import { news, readUntilKnown, type Versions, versionsOf } from './truth.ts';
import type { Envelope } from './turn.ts';
import { OUTCOMES, type OutcomeData, TIMERS } from './worker.ts';

/** A provider by its name: what it can do, and the means to call it, null without credentials. */
export interface KnownProvider {
  readonly facts: ProviderFacts;
  readonly provider: Provider | null;
}

export interface LeaderPorts {
  readonly charts: Charts;
  readonly store: RecordStore;
  readonly queues: Queues;
  readonly clock: Clock;
  readonly log: Log;
  readonly probe: Probe;
  readonly observers: readonly Observer[];
  readonly providers: Readonly<Record<string, KnownProvider>>;
  readonly pools: ObservedPools;
  readonly settings: Settings;
}

/** How many outcomes and timers are handed to cells at once. */
const OUTCOMES_AT_ONCE = 256;

/** One term of leadership: owns the cells, tells them the facts, consumes outcomes and timers. Ends for good when it halts or is closed. */
export class Leader {
  readonly term: number;
  readonly #ports: LeaderPorts;
  readonly #halted: (why: Halt) => void;
  readonly #cells = new Map<ActorId, Cell>();
  /** Pools that were told everything; before, facts only wait in `pools`. */
  readonly #started = new Set<ActorId>();
  readonly #reading = new Set<string>();
  /** Record versions that stood when a verification was issued. */
  readonly #issued = new Map<string, Versions>();
  readonly #ended = new Map<ActorId, number>();
  readonly #overdue: Overdue;
  readonly #consumers: Consumer[] = [];
  readonly #alarms: Alarms;
  #closed = false;

  constructor(term: number, ports: LeaderPorts, halted: (why: Halt) => void) {
    this.term = term;
    this.#ports = ports;
    this.#alarms = new Alarms(ports.clock);
    this.#halted = halted;
    this.#overdue = new Overdue(ports.clock);
  }

  get cells(): ReadonlyMap<ActorId, Cell> {
    return this.#cells;
  }

  recordsOf(cell: ActorId): ReadonlyMap<ActorId, ActorRecord> | null {
    return this.#cells.get(cell)?.records ?? null;
  }

  /** Takes over what is stored, or what this process remembers; from then on facts, outcomes and timers are heard. @throws Unreachable */
  async open(memory: Memory | null): Promise<void> {
    const stored = memory ? await restoreCells(memory, this.#ports, this.term) : await loadCells(this.#ports, this.term);
    for (const [id, cell] of stored) this.#cells.set(id, new Cell(id, cell, this.#cellPorts()));
    await resetClaims(stored, this.#ports, this.term);
    for (const id of this.#cells.keys()) {
      if (id.startsWith('pool/') && !this.#ports.pools.all.has(id)) this.#orphan(id);
      if (id.startsWith('verify/') || id.startsWith('firewall/')) this.#tell(id, { type: 'RESUME' });
    }
    for (const pool of this.#ports.pools.all.values()) this.observePool(pool);
    this.#consumers.push(
      this.#ports.queues.queue(OUTCOMES).consume((job) => this.#heardOutcome(job), OUTCOMES_AT_ONCE),
      this.#ports.queues.queue(TIMERS).consume((job) => this.#heardTimer(job), OUTCOMES_AT_ONCE),
    );
    this.#alarms.every(this.#ports.settings.sweepEveryMs, () => {
      for (const cell of this.#cells.values()) void cell.sweep();
      this.#wakeOverdue();
    });
  }

  /** Stops. Nothing is heard any more; what was saved is with the next leader. */
  async close(why: Halt, graceMs: number): Promise<void> {
    this.#closed = true;
    this.#alarms.cancel();
    for (const cell of this.#cells.values()) cell.stop(why);
    await Promise.all(this.#consumers.map((consumer) => consumer.close(graceMs)));
    await Promise.all([...this.#cells.values()].map((cell) => cell.quiet()));
  }

  memory(): Memory {
    return new Map([...this.#cells].map(([id, cell]) => [id, cell.records]));
  }

  // ---------------------------------------------------------------- facts

  observePool(pool: PoolObject): void {
    const id = cellId(pool);
    const cell = this.#cells.get(id);
    if (!cell) {
      this.#introduce(id, pool);
      return;
    }
    if (uidOf(cell) !== null && uidOf(cell) !== pool.ref.uid) {
      // Another pool of the same name: it is introduced once the former one is gone.
      this.#tell(id, { type: 'DELETED' });
      return;
    }
    if (this.#started.has(id)) this.#tellSpec(id, pool);
    else this.#startWhenRead(id, pool);
  }

  poolGone(id: ActorId): void {
    if (this.#cells.has(id)) this.#tell(id, { type: 'DELETED' });
  }

  observeCluster(id: ActorId): void {
    const fact = this.#ports.pools.fact(id);
    if (fact && this.#started.has(id)) this.#tell(id, { type: 'CLUSTER_OBSERVED', ...fact });
  }

  #introduce(id: ActorId, pool: PoolObject): void {
    const cell = new Cell(id, null, this.#cellPorts());
    this.#cells.set(id, cell);
    const remembered = rememberedPool(pool.status, this.#ports.clock.now(), this.#ports.settings.callDeadlineMs);
    cell.spawn('pool', id, { id, ref: pool.ref, remembered }).catch(ignoreHalt);
    // Safe before the provider is read: a new pool does nothing until it is primed. An invalid one says so at once.
    this.#tellSpec(id, pool);
    this.#startWhenRead(id, pool);
  }

  /** A stored pool whose object went while nobody led. */
  #orphan(id: ActorId): void {
    this.#tell(id, { type: 'RESUME' });
    this.#tell(id, { type: 'DELETED' });
    for (const actor of this.#cells.get(id)?.records.keys() ?? []) if (actor !== id) this.#tell(actor, { type: 'RESUME' });
  }

  #startWhenRead(id: ActorId, pool: PoolObject): void {
    const name = providerOf(pool);
    const provider = this.#ports.providers[name]?.provider ?? null;
    // A pool without a usable provider has nothing to wait for: its status says what is wrong.
    if (!provider) {
      this.#tellSpec(id, pool);
      return;
    }
    void this.#read(name, provider);
  }

  /** As after a load: a pool that is to resume has to be told everything. */
  #restart(id: ActorId): void {
    const pool = this.#ports.pools.all.get(id);
    if (pool) this.#startWhenRead(id, pool);
  }

  /** Everything a pool has to know, in an order in which nothing is decided on what is out of date. */
  #start(id: ActorId, pool: PoolObject, truth: readonly ObservedAddress[]): void {
    const cell = this.#cells.get(id);
    if (!cell || this.#started.has(id)) return;
    this.#started.add(id);
    // From here on the pool takes nothing that it remembers of its nodes for true: it decides once they are told.
    this.#tell(id, { type: 'RESUME' });
    this.#tellAddresses(cell, truth, null);
    for (const actor of cell.records.keys()) {
      if (actor !== id) this.#tell(actor, { type: 'RESUME' });
      // The provider has just answered: whatever credentials were refused before, the present ones are good.
      this.#tell(actor, { type: 'SECRET_OBSERVED' });
    }
    this.#tell(id, { type: 'CLAIMS_OBSERVED', fullNodes: [] });
    this.#tell(id, { type: 'PROVIDER_OBSERVED', addresses: truth });
    this.#tellSpec(id, pool);
  }

  #tellSpec(id: ActorId, { spec, generation }: PoolObject): void {
    this.#tell(id, { type: 'SPEC_OBSERVED', spec, generation, registry: this.#registry(), conflicts: this.#ports.pools.conflicts(id) });
    // Tolerations are no part of the selectors: the same nodes may match differently now.
    this.observeCluster(id);
  }

  #registry(): ProviderRegistry {
    return Object.fromEntries(Object.entries(this.#ports.providers).map(([name, { facts }]) => [name, facts]));
  }

  // ---------------------------------------------------------------- the provider

  /** Reads all addresses of a provider, then starts its pools; looks once more when a call of an earlier leader can have no more effect. */
  async #read(name: string, provider: Provider): Promise<void> {
    if (this.#reading.has(name)) return;
    this.#reading.add(name);
    const { clock, log, settings, pools } = this.#ports;
    const truth = await readUntilKnown(provider, { clock, log, isClosed: () => this.#closed });
    this.#reading.delete(name);
    if (truth === null || this.#closed) return;
    for (const [id, pool] of pools.all) if (providerOf(pool) === name) this.#start(id, pool, truth);
    this.#verifyRegularly(name);
    const versions = versionsOf(this.#cells.values());
    this.#alarms.after(settings.callDeadlineMs, () => void this.#lookAgain(name, provider, versions));
  }

  async #lookAgain(name: string, provider: Provider, versions: Versions): Promise<void> {
    try {
      this.#handOn(name, await provider.listRoutedIPs({ purpose: 'verify' }), versions);
    } catch (error) {
      this.#ports.log.info('the second look at a provider failed; the next verification makes up for it', {
        provider: name,
        error: String(error),
      });
    }
  }

  #verifyRegularly(name: string): void {
    const id = `verify/${name}`;
    if (this.#cells.has(id)) return;
    const cell = new Cell(id, null, this.#cellPorts());
    this.#cells.set(id, cell);
    cell.spawn('verification', id, { id, provider: name }).catch(ignoreHalt);
  }

  /** Tells every address of a provider what a complete list said of it, unless it changed since the list was asked for. */
  #handOn(name: string, addresses: readonly ObservedAddress[], versions: Versions): void {
    for (const [id, cell] of this.#cells) {
      const pool = this.#ports.pools.all.get(id);
      if (!pool || providerOf(pool) !== name || !this.#started.has(id)) continue;
      this.#tellAddresses(cell, addresses, versions);
      this.#tell(id, { type: 'PROVIDER_OBSERVED', addresses });
    }
  }

  #tellAddresses(cell: Cell, addresses: readonly ObservedAddress[], versions: Versions | null): void {
    for (const { to, observed } of news(cell.records, addresses, versions)) this.#tell(to, { type: 'ADDRESS_OBSERVED', observed });
  }

  // ---------------------------------------------------------------- cells

  #cellPorts(): CellPorts {
    const { charts, store, clock, log, probe, observers, queues } = this.#ports;
    return {
      charts,
      store,
      clock,
      log,
      probe,
      observers: [...observers, { turnSaved: (turn) => this.#dropIfGone(turn) }],
      term: () => this.term,
      dispatch: (commands) => this.#dispatch(commands),
      discard: (obsolete, records) => discard(obsolete, records, { queues }),
      ended: this.#ended,
      claimsChanged: (claims) => this.#claimsChanged(claims),
      halted: (cell, why) => {
        log.warn('a cell halted', { cell, why });
        if (!this.#closed) this.#halted(why);
      },
    };
  }

  #dispatch(commands: readonly Command[]): Promise<readonly string[]> {
    for (const command of commands)
      if (command.kind === 'job' && command.job === 'verifyAll') this.#issued.set(command.id, versionsOf(this.#cells.values()));
    return dispatch(commands, {
      queues: this.#ports.queues,
      log: this.#ports.log,
      now: () => this.#ports.clock.now(),
      term: () => this.term,
      deliver: (envelope) => this.deliver(envelope),
      arrived: (sender, id) => this.#cells.get(cellOf(sender))?.arrived(id),
    });
  }

  /** Resolves once the turn that heard it is saved; at once for an actor that is not there. */
  async deliver(envelope: Envelope): Promise<void> {
    const id = cellOf(envelope.to);
    if (id.startsWith('firewall/') && !this.#cells.has(id)) this.#openFirewall(id);
    await this.#cells.get(id)?.send(envelope);
  }

  /** A firewall's cell begins with the first claim on it. */
  #openFirewall(id: ActorId): void {
    const [, provider = '', ...name] = id.split('/');
    const cell = new Cell(id, null, this.#cellPorts());
    this.#cells.set(id, cell);
    cell.spawn('firewall', id, { id, provider, firewall: name.join('/') }).catch(ignoreHalt);
  }

  #tell(to: ActorId, event: Envelope['event']): void {
    this.deliver({ to, event }).catch(ignoreHalt);
  }

  #dropIfGone({ cell: id, transitions }: SavedTurn): void {
    if (!transitions.some(({ actor, after }) => actor === id && after === null)) return;
    this.#cells.delete(id);
    this.#started.delete(id);
    void this.#ports.store
      .drop(id, this.term)
      .catch((error) => this.#ports.log.warn('records of a deleted pool remain', { cell: id, error: String(error) }));
    const successor = this.#ports.pools.all.get(id);
    if (successor) this.#introduce(id, successor);
  }

  /** A claim was freed: pools of that provider that were told the node is taken hear that it is not any more. */
  #claimsChanged({ free }: CellWrite['claims']): void {
    const freed = new Set(free.map(({ node }) => node));
    if (freed.size === 0) return;
    for (const [id, cell] of this.#cells) {
      if (![...cell.fullNodes].some((node) => freed.has(node))) continue;
      this.#tell(id, { type: 'CLAIMS_OBSERVED', fullNodes: [...cell.fullNodes].filter((node) => !freed.has(node)).sort() });
    }
  }

  // ---------------------------------------------------------------- outcomes and timers

  async #heardOutcome(job: ActiveJob): Promise<JobStep> {
    const { actor, invokeId, commandId, outcome } = job.data as unknown as OutcomeData;
    const event =
      'error' in outcome
        ? { type: `xstate.error.actor.${invokeId}`, error: outcome.error }
        : { type: `xstate.done.actor.${invokeId}`, output: outcome.output };
    const awaited = this.recordsOf(cellOf(actor))?.get(actor)?.waiting[invokeId]?.commandId === commandId;
    const step = await this.#hear({ to: actor, event, fence: { key: invokeId, commandId } });
    const versions = this.#issued.get(commandId);
    this.#issued.delete(commandId);
    if (step.kind === 'done' && awaited && versions && 'output' in outcome) {
      this.#handOn(actor.slice('verify/'.length), (outcome.output as unknown as Verification).addresses, versions);
    }
    return step;
  }

  #heardTimer(job: ActiveJob): Promise<JobStep> {
    const { actor, sendId, commandId } = job.data as unknown as TimerData;
    return this.#hear({ to: actor, event: { type: sendId }, fence: { key: sendId, commandId } });
  }

  /** What the queue has lost comes all the same: a timer at once, a job by being asked for again. */
  #wakeOverdue(): void {
    const records = [...this.#cells].flatMap(([id, cell]) => (this.#started.has(id) || !id.startsWith('pool/') ? [...cell.records] : []));
    for (const { actor, key, commandId, kind } of this.#overdue.look(records)) {
      this.#ports.log.warn('what was waited for did not come in time', { actor, key, kind });
      if (kind === 'timer') void this.#hear({ to: actor, event: { type: key }, fence: { key, commandId } });
      else if (this.#started.delete(actor)) this.#restart(actor);
      else this.#tell(actor, { type: 'RESUME' });
    }
  }

  /** The job of an outcome or a timer ends only after the turn that heard it is saved. */
  async #hear(envelope: Envelope): Promise<JobStep> {
    if (this.#closed) return { kind: 'again', afterMs: 100, progress: null };
    try {
      await this.deliver(envelope);
      return { kind: 'done' };
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error;
      return { kind: 'again', afterMs: 250, progress: null };
    }
  }
}

const cellId = ({ ref }: PoolObject): ActorId => `pool/${ref.namespace}/${ref.name}`;

const uidOf = (cell: Cell): string | null => {
  const context = cell.records.get(cell.id)?.snapshot.context as { readonly ref?: { readonly uid?: string } } | undefined;
  return context?.ref?.uid ?? null;
};

/** A halted cell refuses; whoever leads next tells every fact again. */
const ignoreHalt = (error: unknown): void => {
  if (!(error instanceof Unreachable)) throw error;
};
