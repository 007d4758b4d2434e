import type { ClusterEvent } from '../../../actors/ports/cluster.ts';
import { SERVER_ERROR, Unreachable } from '../../../actors/ports/errors.ts';
import type { Clock } from '../../../actors/ports/records.ts';
import type { Finding } from '../../../machines/model/types.ts';
import { isForbidden, isInvalid, messageOf } from '../client/api-error.ts';
import { withinBytes } from '../client/within-bytes.ts';

/** A server may quote the whole rejected value, with the field before it and the error after it: both ends are kept. Head in bytes, tail in characters. */
const REFUSED = { head: 400, tail: 150 };

export const isServerError = (cause: unknown): boolean => cause instanceof Unreachable && cause.isAnswered;

export const textOf = (error: unknown): string => {
  const text = messageOf(error);
  return text.length > REFUSED.head + REFUSED.tail ? withinBytes(text, REFUSED.head) + text.slice(-REFUSED.tail) : text;
};

/** The Event on an object for an error that a user must fix: in the permissions, the object, or what the server depends on. */
export function refusalOf(error: unknown, action: string, what = action): ClusterEvent {
  const warning = { type: 'Warning', action } as const;
  if (isForbidden(error)) return { ...warning, reason: 'Forbidden', message: messageOf(error) };
  const cannot = `its ${what} cannot be written; all else goes on`;
  if (error instanceof Unreachable) return { ...warning, reason: SERVER_ERROR.reason, message: `${cannot}: ${serverErrorText(error)}` };
  return { ...warning, reason: 'WriteRefused', message: `${cannot}. Change what the API server names: ${textOf(error)}` };
}

const serverErrorText = (error: unknown): string => `${SERVER_ERROR.text}: ${textOf(error)}`;

/** How long the API server has responded to one retried write only with errors. */
export class Outage {
  readonly #clock: Clock;
  readonly #toldAfterMs: number;
  #since: number | null = null;
  #told: Finding | null = null;

  constructor(clock: Clock, toldAfterMs: number) {
    this.#clock = clock;
    this.#toldAfterMs = toldAfterMs;
  }

  /** The last finding reported to users; null for none. */
  get told(): Finding | null {
    return this.#told;
  }

  /** Records a failure. Returns the cause that must be reported to users: a refusal each time, a server error once, when it persists. */
  fails(causes: readonly unknown[]): unknown {
    const refusal = causes.find((cause) => isForbidden(cause) || isInvalid(cause));
    const failure = causes.find(isServerError);
    const now = this.#clock.monotonic();
    if (failure !== undefined) this.#since ??= now;
    if (failure === undefined || this.#told || now - (this.#since ?? now) < this.#toldAfterMs) return refusal;
    this.#told = { reason: SERVER_ERROR.reason, message: serverErrorText(failure) };
    return refusal ?? failure;
  }

  ends(): void {
    this.#since = null;
    this.#told = null;
  }
}
