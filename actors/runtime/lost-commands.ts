import type { ActorId } from '../../machines/model/types.ts';
import { inSlices } from '../ports/in-slices.ts';
import type { JobStand } from '../ports/queues.ts';
import type { ActorRecord, Clock } from '../ports/records.ts';

/** What an actor has waited for so long that the queue may have lost it. */
export interface Overdue {
  readonly actor: ActorId;
  readonly key: string;
  readonly commandId: string;
  readonly kind: 'timer' | 'job';
  /** Of a job; absent for an answer to a send. */
  readonly queue?: string;
}

/** How much later than due a timer may come, and how long a job is waited for before its queue is asked how it stands, ms. The next time it is asked after as long again
 *  as the job was waited for by then, but for the longest time: what is lost costs no more than has been waited for anyway, and what waits for long costs little. */
const LATE_MS = 10_000;
/** How long one start of a job may take, and the answer to a send, ms. */
const LONGEST_MS = 300_000;

/** Monotonic, ms. */
interface Wait {
  readonly since: number;
  readonly until: number;
  /** The start of the job that was seen to run, and since when; null while none was. */
  readonly start: { readonly number: number; readonly since: number } | null;
}

/** Watches how long commands have been waited for, by the monotonic clock: a jump of the wall clock makes none of them late. */
export class Waits {
  readonly #clock: Clock;
  readonly #waits = new Map<string, Wait>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What is overdue now. To be asked regularly: the time of a command counts from the first time it is seen here. */
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

  /** What was heard and is asked for again after `ms` is not missed before. */
  putOff(commandId: string, ms: number): void {
    const now = this.#clock.monotonic();
    this.#waits.set(commandId, { since: now, until: now + ms + LATE_MS, start: null });
  }

  /** Whether a job that is overdue is still carried out, and waited for once more. What a job waits for may take as long as it likes; one start of it may not. */
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
