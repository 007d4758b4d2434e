import type { Verification } from './jobs.ts';
import type { ActorId, JobFailure } from './types.ts';

/** What a verification of one token remembers. */
export interface VerificationContext {
  readonly id: ActorId;
  readonly provider: string;
  /** When all addresses were last read, ms since the epoch; null before the first time. */
  readonly verifiedAt: number | null;
  readonly failure: JobFailure | null;
  readonly attempts: number;
}

export interface VerificationInput {
  readonly id: ActorId;
  readonly provider: string;
}

export interface VerificationSettings {
  /** From one verification of all addresses to the next, ms. */
  readonly verifyEveryMs: number;
}

export type VerificationEvent =
  | { readonly type: 'RESUME'; readonly at: number }
  | { readonly type: 'DELETED'; readonly at: number }
  | { readonly type: 'xstate.done.actor.verifyAll'; readonly output: Verification; readonly at: number }
  | { readonly type: 'xstate.error.actor.verifyAll'; readonly error: JobFailure; readonly at: number };

export const verificationContext = ({ id, provider }: VerificationInput): VerificationContext => ({
  id,
  provider,
  verifiedAt: null,
  failure: null,
  attempts: 0,
});
