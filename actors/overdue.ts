import type { ActorId } from '../machines/types.ts';
import { inSlices } from './ports/in-slices.ts';
import type { JobStand } from './ports/queues.ts';
import type { ActorRecord, Clock } from './ports.ts';

/** What an actor has waited for so long that the queue may have lost it. */
export interface Overdue {
  readonly actor: ActorId;
  readonly key: string;
  readonly commandId: string;
  readonly kind: 'timer' | 'job';
}

/** How much later than due a timer may come, ms. */
const LATE_TIMER_MS = 10_000;
/** How long a job is waited for before the queue is asked how it stands, and how long one start of it may take, ms. */
const LATE_JOB_MS = 300_000;

interface Wait {
  /** Monotonic, ms. */
  readonly until: number;
  /** The start of the job that was seen to run; null while none was. */
  readonly start: number | null;
}

/** Watches how long commands have been waited for, by the monotonic clock: a jump of the wall clock makes none of them late. */
export class Waits {
  readonly #clock: Clock;
  #waits = new Map<string, Wait>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What is overdue now. To be asked regularly: the time of a command counts from the first time it is seen here. */
  async overdue(records: Iterable<readonly [ActorId, ActorRecord]>): Promise<readonly Overdue[]> {
    const now = this.#clock.monotonic();
    const waits = new Map<string, Wait>();
    const overdue: Overdue[] = [];
    const look = ([actor, { waiting }]: readonly [ActorId, ActorRecord]): void => {
      for (const [key, { commandId, dueAt }] of Object.entries(waiting)) {
        const allowed = dueAt === undefined ? LATE_JOB_MS : Math.max(0, dueAt - this.#clock.now()) + LATE_TIMER_MS;
        const wait = this.#waits.get(commandId) ?? { until: now + allowed, start: null };
        waits.set(commandId, wait);
        if (wait.until <= now) overdue.push({ actor, key, commandId, kind: dueAt === undefined ? 'job' : 'timer' });
      }
    };
    await inSlices(records, this.#clock, () => false, look);
    this.#waits = waits;
    return overdue;
  }

  /** Whether a job that is overdue is still carried out, and waited for once more. What a job waits for may take as long as it likes; one start of it may not. */
  goesOn(commandId: string, stand: JobStand | null): boolean {
    const start = stand?.isRunning ? stand.starts : null;
    if (!stand || (start !== null && this.#waits.get(commandId)?.start === start)) return false;
    this.#waits.set(commandId, { until: this.#clock.monotonic() + LATE_JOB_MS, start });
    return true;
  }
}
