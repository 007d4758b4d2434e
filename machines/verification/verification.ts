import type { Verification } from '../jobs.ts';
import type { ActorId, Family, JobFailure } from '../model/types.ts';

/** State of the verification of one token. */
export interface VerificationContext {
  readonly id: ActorId;
  readonly provider: string;
  /** Family of the verified addresses; absent for IPv4. */
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
  /** Interval between verifications of all addresses, ms. */
  readonly verifyEveryMs: number;
}

export type VerificationEvent =
  | { readonly type: 'RESUME'; readonly at: number }
  | { readonly type: 'DELETED'; readonly at: number }
  /** Everything was listed with the current credentials. */
  | { readonly type: 'LISTED'; readonly at: number }
  | { readonly type: 'xstate.done.actor.verifyAll'; readonly output: Verification; readonly at: number }
  | { readonly type: 'xstate.error.actor.verifyAll'; readonly error: JobFailure; readonly at: number };

/** After this many failed verifications in a row it is unknown whether addresses were moved. */
const DOUBTED_AFTER = 3;

/** Why it can no longer be verified that addresses are still where they were confirmed; null while it can. */
export function doubtOf({ failure, attempts }: VerificationContext): string | null {
  if (failure && attempts >= DOUBTED_AFTER)
    return `${DOUBTED_AFTER} verifications in a row could not be made, the last one: ${failure.message}`;
  return failure?.kind === 'Unauthorized' ? `the provider refuses the token: ${failure.message}` : null;
}

/** After a rejected token, no other error restores certainty about where addresses are. */
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
