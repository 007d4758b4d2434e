import type { ActorId } from '../machines/types.ts';
import type { ActorRecord, Clock } from './ports.ts';

/** What an actor has waited for so long that nobody will tell it any more: the queue lost it. */
export interface Lost {
  readonly actor: ActorId;
  readonly key: string;
  readonly commandId: string;
  readonly kind: 'timer' | 'job';
}

/** How much later than due a timer may come, ms. */
const LATE_TIMER_MS = 10_000;
/** Longer than any job waits for anything but a limit of the provider, ms. One that was not lost after all does no harm: it is fenced. */
const LATE_JOB_MS = 300_000;

/** Watches how long commands have been waited for, by the monotonic clock: a jump of the wall clock makes none of them late. */
export class Overdue {
  readonly #clock: Clock;
  #until = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What is overdue now. To be asked regularly: the time of a command counts from the first time it is seen here. */
  look(records: Iterable<readonly [ActorId, ActorRecord]>): readonly Lost[] {
    const now = this.#clock.monotonic();
    const until = new Map<string, number>();
    const lost: Lost[] = [];
    for (const [actor, { waiting }] of records) {
      for (const [key, { commandId, dueAt }] of Object.entries(waiting)) {
        const allowed = dueAt === undefined ? LATE_JOB_MS : Math.max(0, dueAt - this.#clock.now()) + LATE_TIMER_MS;
        const end = this.#until.get(commandId) ?? now + allowed;
        until.set(commandId, end);
        if (end <= now) lost.push({ actor, key, commandId, kind: dueAt === undefined ? 'job' : 'timer' });
      }
    }
    this.#until = until;
    return lost;
  }
}
