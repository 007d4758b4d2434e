import { ProviderError } from '../../actors/ports/errors.ts';
import type { ErrorKind } from '../../machines/model/types.ts';

/** What goes wrong with a call. */
export type Fault =
  /** Fails with an error, without effect. `Unavailable` leaves a write in doubt, as a 503 does: with `effectAfterMs`, of two seconds at most, it still takes
   *  effect that much later. */
  | {
      readonly kind: 'refuse';
      readonly error: ErrorKind;
      readonly message?: string;
      readonly retryAfterMs?: number;
      readonly effectAfterMs?: number;
    }
  /** The connection is refused: nothing was sent, and the caller knows it. */
  | { readonly kind: 'noConnection' }
  /** The connection breaks before the request arrived: no effect, but the caller cannot know that. */
  | { readonly kind: 'loseRequest' }
  /** The connection breaks after the request arrived: it takes effect, but the caller cannot know that. */
  | { readonly kind: 'loseReply' }
  /** No reply until the call deadline. With `effectAfterMs` the request still takes effect that much later. */
  | { readonly kind: 'hang'; readonly effectAfterMs?: number };

export interface Faults<Verb extends string> {
  /** The next `times` calls of a verb, or of `any`, meet this fault; later ones queue behind earlier ones. */
  next(verb: Verb | 'any', fault: Fault, times?: number): void;
  /** Every call of a verb, or of `any`, meets this fault until `clear`. */
  always(verb: Verb | 'any', fault: Fault): void;
  clear(): void;
  take(verb: Verb): Fault | null;
}

export const faultPlan = <Verb extends string>(): Faults<Verb> => {
  const planned = new Map<Verb | 'any', Fault[]>();
  const constant = new Map<Verb | 'any', Fault>();
  return {
    next: (verb, fault, times = 1) => {
      planned.set(verb, [...(planned.get(verb) ?? []), ...Array.from({ length: times }, () => fault)]);
    },
    always: (verb, fault) => void constant.set(verb, fault),
    clear: () => {
      planned.clear();
      constant.clear();
    },
    take: (verb) => planned.get(verb)?.shift() ?? planned.get('any')?.shift() ?? constant.get(verb) ?? constant.get('any') ?? null,
  };
};

/** How long an assign can still take effect after a 500 from the API itself, ms. */
export const ANSWERED_MS = 2_000;

/** The error that a fault causes for the caller of `about`; only a write can be in doubt. */
export const faultError = (about: string, fault: Fault, isWrite: boolean): ProviderError => {
  const unknown = { unknownOutcome: isWrite };
  switch (fault.kind) {
    case 'refuse': {
      const retryAfter = fault.retryAfterMs === undefined ? {} : { retryAfterMs: fault.retryAfterMs };
      const doubt = fault.error === 'Unavailable' ? { ...unknown, effectWithinMs: ANSWERED_MS } : {};
      return new ProviderError(fault.error, fault.message ?? `${about}: refused by plan`, { ...retryAfter, ...doubt });
    }
    case 'noConnection':
      return new ProviderError('Unavailable', `${about}: connection refused`);
    case 'loseRequest':
    case 'loseReply':
      return new ProviderError('Unavailable', `${about}: connection reset`, unknown);
    case 'hang':
      return new ProviderError('Unavailable', `${about}: no answer within the deadline`, unknown);
  }
};
