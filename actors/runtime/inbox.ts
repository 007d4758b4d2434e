import type { JobName } from '../../machines/jobs.ts';
import { cellOf } from '../../machines/model/actor-id.ts';
import { type ActorId, fieldsOf, type ObservedAddress } from '../../machines/model/types.ts';
import { Unreachable } from '../ports/errors.ts';
import type { Log, Observer, SetAside } from '../ports/observers.ts';
import type { ActiveJob, Consumer, JobStep, Queues } from '../ports/queues.ts';
import type { ActorRecord, Clock, Waiting } from '../ports/records.ts';
import type { Cells } from './cell-registry.ts';
import { termOf } from './charts.ts';
import { isDoomed } from './doomed.ts';
import { type Overdue, Waits } from './lost-commands.ts';
import type { TimerData } from './queue-data.ts';
import { assertCommand, OUTCOMES, type OutcomeData, outcomeId, TIMERS } from './queue-data.ts';
import type { Envelope } from './turn.ts';

export interface InboxPorts {
  readonly term: number;
  readonly cells: Cells;
  readonly queues: Queues;
  readonly clock: Clock;
  readonly log: Log;
  readonly observers: readonly Observer[];
  /** Where a job found an address, resolved against the nodes of the cluster. */
  readonly placed: (observed: ObservedAddress) => ObservedAddress;
  /** The cell was resumed in this term: what it waits for was issued by this term. */
  readonly hasResumed: (cell: ActorId) => boolean;
  /** Makes the actor request again what it waits for. */
  readonly resume: (actor: ActorId) => void;
  /** A job's turn is saved; `output` is null when the job failed or was not waited for. */
  readonly answered: (actor: ActorId, commandId: string, output: unknown) => void;
}

/** How long a timer waits for its cell to resume before it is checked again, ms. */
const UNRESUMED_MS = 5000;

/** How long an outcome or timer of a later leader is left alone before it is checked again, ms. */
const OTHERS_MS = 250;

/** How long after its outcome, or the answer to its claim, was set aside an actor requests it again, ms. Grows each time; the last one repeats. */
const ASKED_AGAIN_MS = [1000, 5000, 30_000, 300_000] as const;

const OUTCOME_KEYS = ['output', 'error', 'waits'];

/** How many outcomes and timers are delivered to cells at once. */
const OUTCOMES_AT_ONCE = 256;

/** Receives outcomes and timers for the cells of one term, and detects those that the queues have lost. */
export class Inbox {
  readonly #ports: InboxPorts;
  readonly #waits: Waits;
  #isLooking = false;
  readonly #consumers: Consumer[] = [];
  /** By actor and key: how many times in a row what it waits for was set aside, and when last, monotonic ms. */
  readonly #setAside = new Map<string, { readonly times: number; readonly at: number }>();

  constructor(ports: InboxPorts) {
    this.#ports = ports;
    this.#waits = new Waits(ports.clock);
  }

  open(): void {
    const { queues } = this.#ports;
    this.#consumers.push(
      queues.queue(OUTCOMES).consume((job) => this.#heard(OUTCOMES, job, (each) => this.#heardOutcome(each)), OUTCOMES_AT_ONCE),
      queues.queue(TIMERS).consume((job) => this.#heard(TIMERS, job, (each) => this.#heardTimer(each)), OUTCOMES_AT_ONCE),
    );
  }

  /** Stops consuming; deliveries under way may finish, for at most `graceMs`. */
  async close(graceMs: number): Promise<void> {
    await Promise.all(this.#consumers.map((consumer) => consumer.close(graceMs)));
  }

  /** Replaces what the queue has lost: a timer fires at once, a job is requested again. Call it regularly. */
  wakeOverdue(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    void this.#lookAfterOverdue().finally(() => (this.#isLooking = false));
  }

  async #lookAfterOverdue(): Promise<void> {
    const { log, resume } = this.#ports;
    for (const overdue of await this.#waits.overdue(this.#resumed())) {
      const { actor, key, commandId, kind } = overdue;
      if (kind === 'job' && (await this.#goesOn(overdue))) continue;
      log.warn('what was waited for did not come in time', { actor, awaited: `${kind} ${key}` });
      if (kind === 'timer') void this.#hear({ to: actor, event: { type: key }, fence: { key, commandId } });
      else resume(actor);
    }
  }

  *#resumed(): Iterable<readonly [ActorId, ActorRecord]> {
    const { cells, hasResumed } = this.#ports;
    for (const [id, cell] of cells.all) if (hasResumed(id)) yield* cell.records;
  }

  /** Makes an actor request again what was set aside; a timer fires again by itself. */
  setAside({ awaited }: SetAside): void {
    const waiting = awaited && this.#waitingOf(awaited);
    if (!waiting || waiting.dueAt !== undefined) return;
    const { cells, clock, log, resume } = this.#ports;
    const now = clock.monotonic();
    const { actor, key, commandId } = awaited;
    const [id, last] = [`${actor} ${key}`, ASKED_AGAIN_MS.length];
    for (const [each, { at }] of this.#setAside) if (now - at > 2 * ASKED_AGAIN_MS[3]) this.#setAside.delete(each);
    const times = Math.min((this.#setAside.get(id)?.times ?? 0) + 1, last);
    this.#setAside.set(id, { times, at: now });
    const afterMs = ASKED_AGAIN_MS[times - 1] ?? 0;
    this.#waits.putOff(commandId, afterMs);
    clock.after(afterMs, () => {
      if (cells.stopped || !this.#waitingOf(awaited)) return;
      log.warn('what was set aside is asked for again', { actor, awaited: `job ${key}`, attempt: times });
      resume(actor);
    });
  }

  /** Null once the actor waits for something else. */
  #waitingOf({ actor, key, commandId }: NonNullable<SetAside['awaited']>): Waiting | null {
    const waiting = this.#ports.cells.recordsOf(cellOf(actor))?.get(actor)?.waiting[key];
    return waiting?.commandId === commandId ? waiting : null;
  }

  /** Whether the job is still being carried out, or is no longer waited for. Assumed while the queue cannot be reached. */
  async #goesOn({ actor, key, commandId, queue }: Overdue): Promise<boolean> {
    const { queues } = this.#ports;
    const told = () => queues.queue(OUTCOMES).standOf(outcomeId({ commandId }));
    try {
      const stand = queue === undefined ? null : ((await queues.queue(queue).standOf(commandId)) ?? (await told()));
      return this.#waits.goesOn(commandId, stand) || this.#waitingOf({ actor, key, commandId }) === null;
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error;
      return true;
    }
  }

  /** An outcome that kills the process handling it is dropped: it becomes overdue, and is requested again. */
  async #heard(queue: string, job: ActiveJob, hear: (job: ActiveJob) => Promise<JobStep>): Promise<JobStep> {
    return isDoomed(queue, job, this.#ports) ? { kind: 'done' } : hear(job);
  }

  async #heardOutcome(job: ActiveJob): Promise<JobStep> {
    assertCommand(job.data, (data) => typeof data.invokeId === 'string' && OUTCOME_KEYS.some((key) => key in fieldsOf(data.outcome)));
    const { actor, invokeId, commandId, outcome } = job.data as unknown as OutcomeData;
    if (this.#isOthers(commandId)) return { kind: 'again', afterMs: OTHERS_MS, progress: null };
    if ('waits' in outcome) {
      const { waits, of } = outcome;
      return this.#hear({ to: actor, event: { type: 'WAITS' }, fence: { key: of, commandId }, waits });
    }
    const event =
      'error' in outcome
        ? { type: `xstate.error.actor.${invokeId}`, error: outcome.error }
        : { type: `xstate.done.actor.${invokeId}`, output: this.#outputOf(invokeId, outcome.output) };
    const isAwaited = this.#ports.cells.recordsOf(cellOf(actor))?.get(actor)?.waiting[invokeId]?.commandId === commandId;
    const step = await this.#hear({ to: actor, event, fence: { key: invokeId, commandId } });
    this.#ports.answered(actor, commandId, step.kind === 'done' && isAwaited && 'output' in outcome ? outcome.output : null);
    return step;
  }

  #outputOf(invokeId: string, output: unknown): unknown {
    return invokeId === ('find' satisfies JobName) ? this.#ports.placed(output as ObservedAddress) : output;
  }

  /** A timer that fires before its cell resumes would make it decide on remembered state. Resuming sets the timer again, which voids this one. */
  async #heardTimer(job: ActiveJob): Promise<JobStep> {
    assertCommand(job.data, ({ sendId }) => typeof sendId === 'string');
    const { actor, sendId, commandId } = job.data as unknown as TimerData;
    if (this.#isOthers(commandId)) return { kind: 'again', afterMs: OTHERS_MS, progress: null };
    const { cells, hasResumed } = this.#ports;
    const cell = cellOf(actor);
    if (cells.all.has(cell) && !hasResumed(cell)) return { kind: 'again', afterMs: UNRESUMED_MS, progress: null };
    return this.#hear({ to: actor, event: { type: sendId }, fence: { key: sendId, commandId } });
  }

  /** Another replica leads under a later term that this process has not observed yet: what that leader waits for must not be lost here. */
  #isOthers(commandId: string): boolean {
    return termOf(commandId) > this.#ports.term;
  }

  /** The job of an outcome or a timer completes only after the turn that handled it is saved. */
  async #hear(envelope: Envelope): Promise<JobStep> {
    if (this.#ports.cells.stopped) return { kind: 'again', afterMs: 100, progress: null };
    try {
      await this.#ports.cells.deliver(envelope);
      return { kind: 'done' };
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error;
      return { kind: 'again', afterMs: 250, progress: null };
    }
  }
}
