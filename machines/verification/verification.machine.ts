import { assign, setup } from 'xstate';
import { durable } from '../durable.machine.ts';
import {
  type VerificationContext,
  type VerificationEvent,
  type VerificationInput,
  type VerificationSettings,
  verificationContext,
  withFailure,
} from './verification.ts';

/** Reads all addresses of one token and family with list calls, periodically: manual changes are found, at the cost of one call per 200 addresses. */
export const verificationMachine = (settings: VerificationSettings) =>
  setup({
    types: {} as { context: VerificationContext; events: VerificationEvent; input: VerificationInput },
    actors: { verifyAll: durable('verifyAll') },
    actions: {
      noteVerified: assign(({ event }) => ({ verifiedAt: event.at, failure: null, attempts: 0 })),
      noteFailure: assign(({ context, event }) => ('error' in event ? withFailure(context, event.error) : {})),
      forgetFailure: assign({ failure: null, attempts: 0 }),
    },
    delays: { interval: settings.verifyEveryMs },
  }).createMachine({
    id: 'verification',
    context: ({ input }) => verificationContext(input),
    initial: 'Waiting',
    on: { DELETED: '.Ended', LISTED: { actions: 'forgetFailure' } },
    states: {
      Waiting: {
        description: 'Until the next verification.',
        after: { interval: 'Verifying' },
        on: { RESUME: { target: 'Waiting', reenter: true } },
      },
      Verifying: {
        description: 'Reads all addresses. Differences are told to the addresses, which look for themselves before they act.',
        invoke: {
          src: 'verifyAll',
          id: 'verifyAll',
          input: ({ context: { provider, family } }) => ({ provider, ...(family && { family }) }),
          onDone: { target: 'Waiting', actions: 'noteVerified' },
          onError: { target: 'Waiting', actions: 'noteFailure' },
        },
        on: { RESUME: { target: 'Verifying', reenter: true } },
      },
      Ended: { type: 'final', description: 'Nobody uses the token any more; its record goes.' },
    },
  });
