import type { ActorId } from '../machines/types.ts';
import type { Cells } from './cells.ts';
import { cellOf, termOf } from './charts.ts';
import type { TimerData } from './dispatch.ts';
import { Unreachable } from './errors.ts';
import { Overdue } from './overdue.ts';
import type { Log } from './ports/observers.ts';
import type { ActiveJob, Consumer, JobStep, Queues } from './ports/queues.ts';
import type { Clock } from './ports.ts';
import type { Envelope } from './turn.ts';
import { OUTCOMES, type OutcomeData, TIMERS } from './worker.ts';

export interface InboxPorts {
  readonly term: number;
  readonly cells: Cells;
  readonly queues: Queues;
  readonly clock: Clock;
  readonly log: Log;
  /** The cell was told to resume in this term: what it waits for is its own. */
  readonly hasResumed: (cell: ActorId) => boolean;
  /** Has the actor ask again for what it waits for. */
  readonly resume: (actor: ActorId) => void;
  /** A job's turn is saved; `output` is null when the job failed or was not waited for. */
  readonly answered: (actor: ActorId, commandId: string, output: unknown) => void;
}

/** How long a timer waits for its cell to resume before it is looked at again, ms. */
const UNRESUMED_MS = 5000;

/** How long what another leader waits for is left to that one, ms. */
const OTHERS_MS = 250;

/** How many outcomes and timers are handed to cells at once. */
const OUTCOMES_AT_ONCE = 256;

/** Hears outcomes and timers for the cells of one term, and misses those that the queues have lost. */
export class Inbox {
  readonly #ports: InboxPorts;
  readonly #overdue: Overdue;
  readonly #consumers: Consumer[] = [];

  constructor(ports: InboxPorts) {
    this.#ports = ports;
    this.#overdue = new Overdue(ports.clock);
  }

  open(): void {
    const { queues } = this.#ports;
    this.#consumers.push(
      queues.queue(OUTCOMES).consume((job) => this.#heardOutcome(job), OUTCOMES_AT_ONCE),
      queues.queue(TIMERS).consume((job) => this.#heardTimer(job), OUTCOMES_AT_ONCE),
    );
  }

  /** Hears nothing any more; what is being heard may end, for at most `graceMs`. */
  async close(graceMs: number): Promise<void> {
    await Promise.all(this.#consumers.map((consumer) => consumer.close(graceMs)));
  }

  /** What the queue has lost comes all the same: a timer at once, a job by being asked for again. To be called regularly. */
  wakeOverdue(): void {
    const { cells, log, hasResumed, resume } = this.#ports;
    const records = [...cells.all].flatMap(([id, cell]) => (hasResumed(id) ? [...cell.records] : []));
    for (const { actor, key, commandId, kind } of this.#overdue.look(records)) {
      log.warn('what was waited for did not come in time', { actor, key, kind });
      if (kind === 'timer') void this.#hear({ to: actor, event: { type: key }, fence: { key, commandId } });
      else resume(actor);
    }
  }

  async #heardOutcome(job: ActiveJob): Promise<JobStep> {
    const { actor, invokeId, commandId, outcome } = job.data as unknown as OutcomeData;
    if (this.#isOthers(commandId)) return { kind: 'again', afterMs: OTHERS_MS, progress: null };
    if ('waits' in outcome) {
      const { waits, of } = outcome;
      return this.#hear({ to: actor, event: { type: 'WAITS' }, fence: { key: of, commandId }, waits });
    }
    const event =
      'error' in outcome
        ? { type: `xstate.error.actor.${invokeId}`, error: outcome.error }
        : { type: `xstate.done.actor.${invokeId}`, output: outcome.output };
    const isAwaited = this.#ports.cells.recordsOf(cellOf(actor))?.get(actor)?.waiting[invokeId]?.commandId === commandId;
    const step = await this.#hear({ to: actor, event, fence: { key: invokeId, commandId } });
    this.#ports.answered(actor, commandId, step.kind === 'done' && isAwaited && 'output' in outcome ? outcome.output : null);
    return step;
  }

  /** A timer that ended before its cell resumes would have it decide on what it remembers: resuming sets it anew, and this one is void then. */
  async #heardTimer(job: ActiveJob): Promise<JobStep> {
    const { actor, sendId, commandId } = job.data as unknown as TimerData;
    if (this.#isOthers(commandId)) return { kind: 'again', afterMs: OTHERS_MS, progress: null };
    const { cells, hasResumed } = this.#ports;
    const cell = cellOf(actor);
    if (cells.all.has(cell) && !hasResumed(cell)) return { kind: 'again', afterMs: UNRESUMED_MS, progress: null };
    return this.#hear({ to: actor, event: { type: sendId }, fence: { key: sendId, commandId } });
  }

  /** Somebody leads under a later term, and this process has not heard of it yet: what that one waits for is not to be lost here. */
  #isOthers(commandId: string): boolean {
    return termOf(commandId) > this.#ports.term;
  }

  /** The job of an outcome or a timer ends only after the turn that heard it is saved. */
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
