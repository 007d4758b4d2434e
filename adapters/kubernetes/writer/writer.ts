import type { ClusterEvent, ClusterWriter, HolderEffect, HolderMark, NewIntent, PoolProjection } from '../../../actors/ports/cluster.ts';
import { Fenced, Refused, Unreachable } from '../../../actors/ports/errors.ts';
import { type Log, type LogFields, objectName } from '../../../actors/ports/observers.ts';
import type { Clock } from '../../../actors/ports/records.ts';
import { TurnGate } from '../../../actors/ports/turn-gate.ts';
import type { Published } from '../../../machines/jobs.ts';
import type { Address, Condition, Evacuation, Finding, ObjectRef } from '../../../machines/model/types.ts';
import { isInvalid, messageOf } from '../client/api-error.ts';
import { type BackoffTable, backoff, type Random } from '../client/backoff.ts';
import type { Connection } from '../client/connection.ts';
import type { Seen } from '../source/source.ts';
import { tellDegraded } from './degraded.ts';
import { EvacuationMarks } from './evacuation-conditions.ts';
import { type Announced, EventWriter } from './event-writer.ts';
import { HolderMarks } from './holder-taints.ts';
import { NodeAnnotations, type Wanted } from './node-annotations.ts';
import { ObjectWriter } from './object-writer.ts';
import { Lane, type Pace } from './work-queue.ts';
import { isServerError, Outage, refusalOf, textOf } from './write-trouble.ts';

export interface WriterTimings {
  /** For each object. */
  readonly pace: Pace;
  readonly backoff: BackoffTable;
  /** How often to check whether a holder taint was removed externally, ms. */
  readonly recheckMs: number;
  /** An Event reports a write to which the server has responded only with errors for this long, ms. */
  readonly toldAfterMs: number;
}

export const WRITER_TIMINGS: WriterTimings = {
  pace: { intervalMs: 50, burst: 4, impatienceMs: 1_000 },
  backoff: { firstMs: 250, factor: 2, maxMs: 30_000 },
  recheckMs: 10_000,
  toldAfterMs: 5_000,
};

export interface WriterOptions {
  readonly connection: Connection;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly seen: Seen;
  /** Name of this process in Events, e.g. its Pod. */
  readonly instance: string;
  /** Called for each status that was written. */
  readonly shown?: ((projection: PoolProjection) => void) | undefined;
  readonly timings?: WriterTimings;
}

/** Everything written for one object. */
interface Desk {
  readonly ref: ObjectRef;
  readonly writer: ObjectWriter;
  readonly status: Lane;
  /** Created on demand: few of thousands of objects ever need these. */
  nodes: Lane | null;
  finalizer: Lane | null;
  /** Covers all writes of our finalizer, whichever caller requests them. */
  readonly guarding: Outage;
  projection: PoolProjection | null;
  /** The last projected condition of each type, since this process became leader. */
  conditions: ReadonlyMap<string, Condition>;
  shownGeneration: number | null;
  /** Why the API server rejects the status as invalid, and for which generation; null while it does not. */
  refusal: { readonly why: string; readonly generation: number } | null;
}

/** The work of a lane. */
interface Work {
  readonly what: string;
  /** For the log. */
  readonly object?: string;
  readonly run: () => Promise<void>;
  readonly refused: (error: unknown) => void;
  /** Default: its own. */
  readonly outage?: Outage;
}

/** Thousands of concurrent requests would exceed their deadlines. */
const OBJECTS_AT_ONCE = 32;

/** The kind whose objects have our finalizer. */
const GUARDED = 'RoutedIP';

/** Writes the operator's output to the cluster: status, annotations and taints of nodes, Events. Each object has its own lanes, so that none waits for
 *  another; failures are retried until they succeed or are superseded. */
export class KubernetesWriter implements ClusterWriter {
  readonly #options: WriterOptions;
  readonly #timings: WriterTimings;
  readonly #events: EventWriter;
  readonly #holders: HolderMarks;
  readonly #evacuations: EvacuationMarks;
  readonly #annotations: NodeAnnotations;
  readonly #desks = new Map<string, Desk>();
  readonly #gate: TurnGate;
  #closed = false;

  constructor(options: WriterOptions) {
    this.#options = options;
    this.#timings = options.timings ?? WRITER_TIMINGS;
    this.#gate = new TurnGate(OBJECTS_AT_ONCE, options.clock);
    this.#events = new EventWriter({ ...options, backoff: this.#timings.backoff });
    this.#annotations = new NodeAnnotations(options.connection, options.clock, options.seen);
    this.#holders = new HolderMarks({
      ...options,
      recheckMs: this.#timings.recheckMs,
      lane: (run, refused) => this.#lane({ what: 'taints', run, refused }),
      refused: (node, error) => this.#events.report(node, refusalOf(error, 'Taint', 'taints')),
    });
    this.#evacuations = new EvacuationMarks({
      ...options,
      lane: (run, refused) => this.#lane({ what: 'conditions of nodes', run, refused }),
      refused: (node, error) => this.#events.report(node, refusalOf(error, 'UpdateStatus', 'conditions')),
    });
  }

  project(projection: PoolProjection): void {
    const { ref, partial, conditions, events } = projection;
    const desk = this.#desk(ref);
    desk.writer.note(projection);
    desk.projection = projection;
    const before = desk.conditions;
    desk.conditions = new Map([...(partial ? desk.conditions : []), ...conditions.map((each) => [each.type, each] as const)]);
    // A rejected status is only retried at its own slow pace until the object changes.
    if (desk.refusal?.generation !== projection.generation) desk.status.request();
    if (!partial) this.#annotate(desk, projection);
    const told = tellDegraded(this.#options.log, { kind: ref.kind, object: objectName(ref), before, after: desk.conditions });
    for (const event of [...events, ...told]) this.#events.report(ref, event);
  }

  shownGeneration(ref: ObjectRef): number | null {
    return this.#desks.get(ref.uid)?.shownGeneration ?? null;
  }

  /** The conditions of each object, since this process became leader. */
  *shown(): Iterable<{ readonly kind: string; readonly conditions: Iterable<Condition> }> {
    for (const { ref, projection, conditions } of this.#desks.values())
      if (projection) yield { kind: ref.kind, conditions: conditions.values() };
  }

  /** The number of objects whose status the API server rejects as invalid, with an example, human-readable; null for none. */
  refused(): string | null {
    const refusals = [...this.#desks.values()].flatMap(({ ref, refusal }) => (refusal ? `${objectName(ref)}: ${refusal.why}` : []));
    return refusals.length === 0 ? null : `the status of ${refusals.length} cannot be written, such as that of ${refusals[0]}`;
  }

  async written(ref: ObjectRef): Promise<void> {
    const desk = this.#desk(ref);
    const { projection, refusal } = desk;
    if (refusal && refusal.generation === projection?.generation) throw new Refused(refusal.why);
    const overtaken = (what: string): never => {
      throw new Fenced(what);
    };
    try {
      // A newer partial projection only says why an object is not served; jobs cannot rely on it.
      await desk.writer.write(() => (desk.projection?.partial ? projection : desk.projection), overtaken);
    } catch (error) {
      if (error instanceof Fenced || error instanceof Unreachable) throw error;
      throw new Refused(messageOf(error), { cause: error });
    }
  }

  async retract(ref: ObjectRef, addresses: readonly Address[]): Promise<void> {
    const desk = this.#desk(ref);
    desk.projection = null;
    this.#annotate(desk, { annotated: {}, addresses });
    await desk.nodes?.whenIdle();
    if (ref.kind === GUARDED) await this.#holders.whenTried();
    if (ref.kind === GUARDED && !desk.projection && this.#isOpen(desk)) {
      const finalizer = this.#finalizerOf(desk);
      finalizer.request();
      await finalizer.whenIdle();
    }
    // Stopped before it was done: the new leader takes care of it.
    if (!this.#isOpen(desk)) return new Promise(() => undefined);
    // A pool that was projected again meanwhile is kept.
    if (!desk.projection) this.#close(desk);
  }

  recordIntent(owner: ObjectRef, intent: NewIntent): Promise<void> {
    return this.#desk(owner).writer.recordIntent(intent);
  }

  appendAddress(owner: ObjectRef, address: Address): Promise<Published> {
    return this.#desk(owner).writer.appendAddress(address);
  }

  guard(ref: ObjectRef): Promise<void> {
    const desk = this.#desk(ref);
    return this.#guarding(desk, () => desk.writer.guard());
  }

  unguard(ref: ObjectRef): Promise<void> {
    const desk = this.#desk(ref);
    return this.#guarding(desk, () => desk.writer.unguard());
  }

  guardTrouble({ uid }: ObjectRef): Finding | null {
    return this.#desks.get(uid)?.guarding.told ?? null;
  }

  bindAddress(owner: ObjectRef, address: Address, origin: 'Found' | 'Created'): Promise<void> {
    return this.#desk(owner).writer.bindAddress(address, origin);
  }

  markHolder(node: string, effect: HolderEffect): Promise<void> {
    return this.#holders.mark(node, effect);
  }

  markHolders(wanted: Readonly<Record<string, HolderMark>>, complete: boolean): void {
    this.#holders.want(wanted, complete);
  }

  showEvacuations(wanted: Readonly<Record<string, Evacuation>>): void {
    this.#evacuations.want(wanted);
  }

  async announce(owner: ObjectRef, event: ClusterEvent): Promise<void> {
    const { log } = this.#options;
    const fields: LogFields = { object: objectName(owner), reason: event.reason, message: event.message };
    let outcome: Announced | 'unreachable' = 'unreachable';
    try {
      outcome = await this.#events.announce(owner, event);
    } finally {
      if (outcome === 'known') log.debug('announced before', fields);
      else if (event.type === 'Warning') log.warn('announces', fields);
      else log.info('announces', fields);
    }
  }

  async flush(graceMs: number): Promise<void> {
    const lanes = [...this.#desks.values()].flatMap(lanesOf);
    const all = Promise.all([
      ...lanes.map((lane) => lane.whenIdle()),
      this.#holders.whenIdle(),
      this.#evacuations.whenIdle(),
      this.#events.whenIdle(),
    ]);
    let cancel = (): void => undefined;
    const grace = new Promise<void>((resolve) => {
      cancel = this.#options.clock.after(graceMs, resolve);
    });
    await Promise.race([all, grace]);
    cancel();
  }

  /** Another process leads now: drops all pending writes. */
  forget(): void {
    for (const desk of this.#desks.values()) this.#close(desk);
    this.#annotations.forget();
    this.#holders.forget();
    this.#evacuations.forget();
  }

  /** Stops all writes for good; pending ones are dropped. */
  close(): void {
    this.forget();
    this.#closed = true;
    this.#holders.close();
    this.#events.stop();
  }

  #close(desk: Desk): void {
    for (const lane of lanesOf(desk)) lane.stop();
    if (!this.#isOpen(desk)) return;
    this.#annotations.drop(desk.ref.uid);
    this.#desks.delete(desk.ref.uid);
  }

  #isOpen(desk: Desk): boolean {
    return !this.#closed && this.#desks.get(desk.ref.uid) === desk;
  }

  #desk(ref: ObjectRef): Desk {
    const known = this.#desks.get(ref.uid);
    if (known !== undefined) return known;
    const { connection, clock, seen } = this.#options;
    const writer = new ObjectWriter(connection, clock, seen, ref);
    const desk: Desk = {
      ref,
      writer,
      projection: null,
      conditions: new Map(),
      shownGeneration: null,
      refusal: null,
      nodes: null,
      finalizer: null,
      guarding: new Outage(clock, this.#timings.toldAfterMs),
      status: this.#laneOf(ref, 'status', 'UpdateStatus', () => this.#writeStatus(desk)),
    };
    this.#desks.set(ref.uid, desk);
    return desk;
  }

  async #writeStatus(desk: Desk): Promise<void> {
    const { projection } = desk;
    try {
      await desk.writer.write(() => desk.projection);
    } catch (error) {
      if (isInvalid(error) && projection) {
        desk.refusal = { why: textOf(error), generation: projection.generation };
        desk.shownGeneration = null;
      }
      throw error;
    }
    desk.refusal = null;
    if (projection) this.#options.shown?.(projection);
    if (projection && !projection.unserved) desk.shownGeneration = projection.generation;
  }

  #annotate(desk: Desk, wanted: Wanted): void {
    const { ref } = desk;
    this.#annotations.want(ref.uid, wanted, this.#options.seen.object(ref)?.object.status ?? null);
    if (this.#annotations.isRight(ref.uid)) return;
    desk.nodes ??= this.#laneOf(ref, 'annotations', 'Annotate', () => this.#annotations.write(ref.uid));
    desk.nodes.request();
  }

  #finalizerOf(desk: Desk): Lane {
    const run = () => desk.writer.unguard(() => desk.projection === null && this.#isOpen(desk));
    desk.finalizer ??= this.#laneOf(desk.ref, 'finalizer', 'Release', run, desk.guarding);
    return desk.finalizer;
  }

  /** The caller retries. */
  async #guarding({ ref, guarding }: Desk, run: () => Promise<void>): Promise<void> {
    try {
      await run();
      guarding.ends();
    } catch (error) {
      const refusal = guarding.fails([error]);
      if (isServerError(refusal)) this.#events.report(ref, refusalOf(refusal, 'Guard', 'finalizer'));
      throw error;
    }
  }

  #laneOf(ref: ObjectRef, what: string, action: string, run: () => Promise<void>, outage?: Outage): Lane {
    const refused = (error: unknown): void => this.#events.report(ref, refusalOf(error, action, what));
    return this.#lane({ what, object: objectName(ref), run: () => this.#inGate(run), refused, ...(outage && { outage }) });
  }

  async #inGate(run: () => Promise<void>): Promise<void> {
    await this.#gate.enter();
    try {
      await run();
    } finally {
      this.#gate.leave();
    }
  }

  #lane({ what, object, run, refused, outage }: Work): Lane {
    const { clock, log, random } = this.#options;
    const trouble = outage ?? new Outage(clock, this.#timings.toldAfterMs);
    let said: string | null = null;
    const lane = new Lane({
      clock,
      pace: this.#timings.pace,
      backoff: backoff(this.#timings.backoff, random),
      run: async () => {
        await run();
        said = null;
        trouble.ends();
      },
      failed: (error, retryInMs) => {
        const causes = error instanceof AggregateError ? error.errors : [error];
        const text = textOf(causes[0]);
        const fields: LogFields = { object, error: text, retryInMs: Math.round(retryInMs) };
        // A rejection that lasts until something is changed is logged as a warning only once.
        if (said === text && isInvalid(causes[0])) log.debug(`${what} not written`, fields);
        else log.warn(`${what} not written`, fields);
        said = text;
        const refusal = trouble.fails(causes);
        if (refusal !== undefined) refused(refusal);
      },
    });
    if (this.#closed) lane.stop();
    return lane;
  }
}

const lanesOf = ({ status, nodes, finalizer }: Desk): readonly Lane[] => [status, nodes, finalizer].filter((lane) => lane !== null);
