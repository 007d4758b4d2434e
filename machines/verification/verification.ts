import type { Verification } from '../jobs.ts';
import type { ActorId, Family, JobFailure } from '../model/types.ts';

/** What a verification of one token remembers. */
export interface VerificationContext {
  readonly id: ActorId;
  readonly provider: string;
  /** Of the addresses that it verifies; absent for IPv4. */
  readonly family?: Family;
  /** When all addresses were last read, ms since the epoch; null before the first time. */
  readonly verifiedAt: number | null;
  readonly failure: JobFailure | null;
  readonly attempts: number;
}

export interface VerificationInput {
  readonly id: ActorId;
  readonly provider: string;
  readonly family?: Family;
}

export interface VerificationSettings {
  /** From one verification of all addresses to the next, ms. */
  readonly verifyEveryMs: number;
}

export type VerificationEvent =
  | { readonly type: 'RESUME'; readonly at: number }
  | { readonly type: 'DELETED'; readonly at: number }
  /** All was listed with the present means. */
  | { readonly type: 'LISTED'; readonly at: number }
  | { readonly type: 'xstate.done.actor.verifyAll'; readonly output: Verification; readonly at: number }
  | { readonly type: 'xstate.error.actor.verifyAll'; readonly error: JobFailure; readonly at: number };

/** After so many verifications in a row that could not be made nobody knows any more whether somebody has moved an address. */
const DOUBTED_AFTER = 3;

/** Why nobody can say any more whether addresses are still where they were confirmed; null while somebody can. */
export function doubtOf({ failure, attempts }: VerificationContext): string | null {
  if (failure && attempts >= DOUBTED_AFTER)
    return `${DOUBTED_AFTER} verifications in a row could not be made, the last one: ${failure.message}`;
  return failure?.kind === 'Unauthorized' ? `the provider refuses the token: ${failure.message}` : null;
}

/** After a refused token no other error makes certain again where addresses are. */
export const withFailure = ({ failure, attempts }: VerificationContext, error: JobFailure): Partial<VerificationContext> => ({
  failure: failure?.kind === 'Unauthorized' ? failure : error,
  attempts: attempts + 1,
});

export const verificationContext = ({ id, provider, family }: VerificationInput): VerificationContext => ({
  id,
  provider,
  ...(family && { family }),
  verifiedAt: null,
  failure: null,
  attempts: 0,
});
