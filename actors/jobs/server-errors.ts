import type { Finding } from '../../machines/model/types.ts';
import { SERVER_ERROR, type Unreachable } from '../ports/errors.ts';
import type { Log } from '../ports/observers.ts';
import type { Clock } from '../ports/records.ts';

/** How soon a job that the API server has failed runs again, ms; the last one repeats. `soon` is for jobs that move an address, whatever it costs. */
const AGAIN_MS = { soon: [500], later: [500, 500, 500, 1_000, 2_000, 5_000, 10_000] } as const;
/** Users are notified once it has only answered with errors for this long, ms: one that is being replaced answers sooner. */
const TOLD_AFTER_MS = 5_000;
/** Limit of remembered commands: those whose jobs have gone to other replicas never end here. */
const MOST_COMMANDS = 10_000;

interface Errors {
  /** In a row; 0 once the job got further. */
  readonly times: number;
  /** When the first of them came, monotonic ms. */
  readonly since: number;
  readonly isTold: boolean;
}

/** For the jobs of one queue, by command: for how long the API server has answered with errors. */
export class ServerErrors {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #pace: keyof typeof AGAIN_MS;
  readonly #errors = new Map<string, Errors>();

  constructor({ clock, log }: { readonly clock: Clock; readonly log: Log }, pace: keyof typeof AGAIN_MS) {
    this.#clock = clock;
    this.#log = log;
    this.#pace = pace;
  }

  /** Returns how soon the job runs again, and what it waits for from now on, for users; null for nothing new. */
  note(
    { commandId, job: jobName, actor }: { readonly commandId: string; readonly job: string; readonly actor: string },
    { isAnswered, message }: Unreachable,
  ): { readonly afterMs: number; readonly waits: Finding | null } {
    const [first, table] = [AGAIN_MS[this.#pace][0], AGAIN_MS[this.#pace]];
    if (!isAnswered) return { afterMs: first, waits: null };
    const now = this.#clock.monotonic();
    const { times, since, isTold } = this.#errors.get(commandId) ?? { times: 0, since: now, isTold: false };
    const begun = times === 0 ? now : since;
    const isNews = !isTold && now - begun >= TOLD_AFTER_MS;
    this.#keep(commandId, { times: times + 1, since: begun, isTold: isTold || isNews });
    const afterMs = table[Math.min(times + 1, table.length) - 1] ?? first;
    if (!isNews) return { afterMs, waits: null };
    this.#log.warn('the API server fails a job, which is tried again', { job: commandId, jobName, actor, error: message });
    return { afterMs, waits: { reason: SERVER_ERROR.reason, message: `${SERVER_ERROR.text}: ${message}` } };
  }

  /** Whether users may have been notified that the job waits for the API server: by another replica, if this one has not run a job of that age before. */
  mayBeTold(commandId: string, ageMs: number): boolean {
    return this.#errors.get(commandId)?.isTold ?? ageMs >= TOLD_AFTER_MS;
  }

  /** The job gets further, and is no longer reported as waiting for the API server. */
  recovered(commandId: string): void {
    this.#keep(commandId, { times: 0, since: 0, isTold: false });
  }

  /** The job has ended. */
  ended(commandId: string): void {
    this.#errors.delete(commandId);
  }

  #keep(commandId: string, errors: Errors): void {
    if (this.#errors.size >= MOST_COMMANDS) this.#errors.clear();
    this.#errors.set(commandId, errors);
  }
}
