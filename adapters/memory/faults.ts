import { ProviderError } from '../../actors/errors.ts';
import type { ErrorKind } from '../../machines/types.ts';

/** What goes wrong with a call. */
export type Fault =
  /** Answered by an error; without effect. */
  | { readonly kind: 'refuse'; readonly error: ErrorKind; readonly message?: string; readonly retryAfterMs?: number }
  /** The connection breaks before the request arrived: no effect, which the caller cannot know. */
  | { readonly kind: 'loseRequest' }
  /** The connection breaks after the request arrived: it takes effect, which the caller cannot know. */
  | { readonly kind: 'loseReply' }
  /** Nothing is answered until the call deadline. With `effectAfterMs` the request takes effect that late all the same. */
  | { readonly kind: 'hang'; readonly effectAfterMs?: number };

export interface Faults<Verb extends string> {
  /** The next `times` calls of a verb meet this fault; later ones queue behind earlier ones. */
  next(verb: Verb, fault: Fault, times?: number): void;
  /** Every call of a verb meets this fault until `clear`. */
  always(verb: Verb, fault: Fault): void;
  clear(): void;
  take(verb: Verb): Fault | null;
}

export const faultPlan = <Verb extends string>(): Faults<Verb> => {
  const planned = new Map<Verb, Fault[]>();
  const constant = new Map<Verb, Fault>();
  return {
    next: (verb, fault, times = 1) => {
      planned.set(verb, [...(planned.get(verb) ?? []), ...Array.from({ length: times }, () => fault)]);
    },
    always: (verb, fault) => void constant.set(verb, fault),
    clear: () => {
      planned.clear();
      constant.clear();
    },
    take: (verb) => planned.get(verb)?.shift() ?? constant.get(verb) ?? null,
  };
};

export const refusal = (about: string, { error, message, retryAfterMs }: Extract<Fault, { kind: 'refuse' }>): ProviderError =>
  new ProviderError(error, message ?? `${about}: refused by plan`, retryAfterMs === undefined ? {} : { retryAfterMs });

export const unknownOutcome = (about: string, what: string): ProviderError =>
  new ProviderError('Unavailable', `${about}: ${what}`, { unknownOutcome: true });
