import type { ActorId } from '../../machines/model/types.ts';
import { inSlices } from '../ports/in-slices.ts';
import type { JobStand } from '../ports/queues.ts';
import type { ActorRecord, Clock } from '../ports/records.ts';

/** A command that an actor has waited for so long that the queue may have lost it. */
export interface Overdue {
  readonly actor: ActorId;
  readonly key: string;
  readonly commandId: string;
  readonly kind: 'timer' | 'job';
  /** The queue of a job; absent for an answer to a send. */
  readonly queue?: string;
}

/** How late a timer may come, and how long a job is waited for before its state is queried in its queue, ms. The interval to the next query is the time waited so far, up
 *  to LONGEST_MS: a loss costs no more than has been waited anyway, and long waits cause few queries. */
const LATE_MS = 10_000;
/** How long one start of a job, or the answer to a send, may take, ms. */
const LONGEST_MS = 300_000;

/** Monotonic, ms. */
interface Wait {
  readonly since: number;
  readonly until: number;
  /** The start of the job that was observed running, and since when; null while none was. */
  readonly start: { readonly number: number; readonly since: number } | null;
}

/** Tracks how long commands have been waited for, by the monotonic clock: a jump of the wall clock makes none of them late. */
export class Waits {
  readonly #clock: Clock;
  readonly #waits = new Map<string, Wait>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What is overdue now. Call it regularly: the wait for a command is measured from the first time it is seen here. */
  async overdue(records: Iterable<readonly [ActorId, ActorRecord]>): Promise<readonly Overdue[]> {
    const now = this.#clock.monotonic();
    const seen = new Set<string>();
    const overdue: Overdue[] = [];
    const look = ([actor, { waiting }]: readonly [ActorId, ActorRecord]): void => {
      for (const [key, { commandId, dueAt, queue }] of Object.entries(waiting)) {
        const dueMs = Math.max(0, (dueAt ?? 0) - this.#clock.now());
        const isAnswer = dueAt === undefined && queue === undefined;
        const until = now + (isAnswer ? LONGEST_MS : dueMs + LATE_MS);
        const wait = this.#waits.get(commandId) ?? { since: now, until, start: null };
        this.#waits.set(commandId, wait);
        seen.add(commandId);
        const kind = dueAt === undefined ? 'job' : 'timer';
        if (wait.until <= now) overdue.push({ actor, key, commandId, kind, ...(queue !== undefined && { queue }) });
      }
    };
    await inSlices(records, this.#clock, () => false, look);
    for (const commandId of this.#waits.keys()) if (!seen.has(commandId)) this.#waits.delete(commandId);
    return overdue;
  }

  /** What will be requested again after `ms` is not overdue before that. */
  putOff(commandId: string, ms: number): void {
    const now = this.#clock.monotonic();
    this.#waits.set(commandId, { since: now, until: now + ms + LATE_MS, start: null });
  }

  /** Whether an overdue job is still being carried out, and gets more time. What a job waits for may take any time; one start of it may not. */
  goesOn(commandId: string, stand: JobStand | null): boolean {
    const now = this.#clock.monotonic();
    const { since = now, start: before = null } = this.#waits.get(commandId) ?? {};
    if (!stand) return false;
    const isSame = stand.isRunning && before?.number === stand.starts;
    if (isSame && now - before.since >= LONGEST_MS) return false;
    const start = isSame ? before : stand.isRunning ? { number: stand.starts, since: now } : null;
    this.#waits.set(commandId, { since, until: now + Math.min(LONGEST_MS, now - since), start });
    return true;
  }
}
