import type { Difference, ErrorKind, JobFailure, ObservedAddress } from '../../machines/model/types.ts';
import { visible } from '../../machines/model/visible.ts';

/** Limits of a message, in characters: most of it may come from another program and is not read. The reason for a refusal is often at its end. */
const LONGEST_MESSAGE = { head: 1_500, tail: 500 };

/** Fit for a log, a condition and a terminal. */
export function readable(message: string): string {
  const { head, tail } = LONGEST_MESSAGE;
  return visible(message.length > head + tail ? `${message.slice(0, head)}…${message.slice(-tail)}` : message);
}

interface ProviderErrorFields {
  readonly retryAfterMs?: number | undefined;
  readonly unknownOutcome?: boolean;
  readonly effectWithinMs?: number | undefined;
  readonly conditionReason?: JobFailure['reason'];
  readonly cause?: unknown;
}

/** A provider call failed. `kind` says what can be done about it; `unknownOutcome` whether it may have taken effect anyway. Thrown by provider adapters only; messages
 *  contain no secrets. */
export class ProviderError extends Error {
  readonly kind: ErrorKind;
  /** How long the provider asked to wait, ms; null when it said nothing. */
  readonly retryAfterMs: number | null;
  /** True only when the request was sent and its effect is not known (time-out, reset, 5xx on a write); false for a refused connection or a 4xx. */
  readonly unknownOutcome: boolean;
  /** How long a call of unknown outcome may still take effect, ms; undefined: until the call deadline. */
  readonly effectWithinMs: number | undefined;
  /** The reason for a condition, where the kind says too little; undefined otherwise. */
  readonly conditionReason: JobFailure['reason'] | undefined;

  constructor(kind: ErrorKind, message: string, fields: ProviderErrorFields = {}) {
    super(readable(message), fields.cause === undefined ? undefined : { cause: fields.cause });
    this.name = 'ProviderError';
    this.kind = kind;
    this.retryAfterMs = fields.retryAfterMs ?? null;
    this.unknownOutcome = fields.unknownOutcome ?? false;
    this.effectWithinMs = fields.effectWithinMs;
    this.conditionReason = fields.conditionReason;
  }
}

/** A list of addresses has fewer than it announces, or changed while it was read. Listed addresses exist; nothing is known of the others. */
export class PartialList extends ProviderError {
  readonly addresses: readonly ObservedAddress[];

  constructor(message: string, addresses: readonly ObservedAddress[], options: { readonly cause?: unknown } = {}) {
    super('Unavailable', message, options);
    this.name = 'PartialList';
    this.addresses = addresses;
  }
}

/** Another writer has changed the object since it was read: nothing was written. Read it again before the next write. */
export class Overtaken extends ProviderError {
  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super('Unavailable', message, options);
    this.name = 'Overtaken';
  }
}

/** The VirtualIP is gone, or its kind is not served at present: the next observation shows which. */
export class VirtualIPNotFound extends ProviderError {
  constructor(name: string) {
    super('NotFound', `VirtualIP "${name}" not found`);
    this.name = 'VirtualIPNotFound';
  }
}

/** When a withheld change is decided again, unless a fact arrives earlier, ms. */
const WITHHELD_MS = 300_000;

/** This operator only observes: nothing was sent. */
export class Withheld extends ProviderError {
  readonly difference: Difference;

  constructor(difference: Difference) {
    const { what, subject, from, to } = difference;
    const text = [what, subject, ...(from === null ? [] : ['from', from]), ...(to === null ? [] : ['to', to])].join(' ');
    super('Unavailable', `${text}: withheld, since this operator only observes`, {
      retryAfterMs: WITHHELD_MS,
      conditionReason: 'Withheld',
    });
    this.name = 'Withheld';
    this.difference = difference;
  }
}

/** This process may not send for this command. Nothing was sent. */
export class Fenced extends Error {
  /** `superseded`: the command is no longer waited for, for good. `stale`: what this process knows is too old to decide; checking again may help. */
  readonly why: 'superseded' | 'stale';

  constructor(message: string, why: Fenced['why'] = 'superseded') {
    super(message);
    this.name = 'Fenced';
    this.why = why;
  }
}

/** The address is retained by now: the call that would have deleted it was not sent. */
export class Retained extends Fenced {}

/** What users are shown while the API server answers with errors. */
export const SERVER_ERROR = { reason: 'APIServerError', text: 'the API server answers with an error' } as const;

/** The record store, the job queue or the API server cannot be reached now. It is right to retry later; nothing is known to have happened. */
export class Unreachable extends Error {
  /** The API server is reachable and answers with a failure, of another party's webhook or of a full store, for example. Waiting alone may not help. */
  readonly isAnswered: boolean;

  constructor(message: string, { isAnswered = false, ...options }: { readonly cause?: unknown; readonly isAnswered?: boolean } = {}) {
    super(readable(message), options);
    this.name = 'Unreachable';
    this.isAnswered = isAnswered;
  }
}

/** The API server refuses the write itself: a retry helps only once the object, or what is allowed, has been changed. */
export class Refused extends Unreachable {
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = 'Refused';
  }
}

/** `error` as the data that a chart receives. An error that no adapter classified counts as unavailable with unknown outcome, to be on the safe side. */
export function failureOf(error: unknown): JobFailure {
  if (error instanceof ProviderError) {
    const { kind, message, retryAfterMs, unknownOutcome, effectWithinMs, conditionReason: reason } = error;
    return {
      kind,
      message,
      retryAfterMs,
      unknownOutcome,
      ...(effectWithinMs !== undefined && { effectWithinMs }),
      ...(reason && { reason }),
      ...(error instanceof VirtualIPNotFound && { objectNotFound: true }),
      ...(error instanceof Withheld && { withheld: error.difference }),
    };
  }
  const message = readable(error instanceof Error ? error.message : String(error));
  return { kind: 'Unavailable', message, retryAfterMs: null, unknownOutcome: true };
}
