import { DEFAULT_SETTINGS, type Settings } from '../actors/ports/settings.ts';
import type { Options } from '../adapters/cli/options.ts';

/** Runtime settings: command line options, and defaults for the rest. */
export const settingsOf = (options: Options): Settings => ({
  ...DEFAULT_SETTINGS,
  backoff: { fast: options.backoffFast ?? DEFAULT_SETTINGS.backoff.fast, slow: options.backoffSlow ?? DEFAULT_SETTINGS.backoff.slow },
  pollSteps: options.pollSteps ?? DEFAULT_SETTINGS.pollSteps,
  assignSteps: options.pollSteps ?? DEFAULT_SETTINGS.assignSteps,
  verifyEveryMs: options.verifyInterval ?? DEFAULT_SETTINGS.verifyEveryMs,
  resyncEveryMs: options.resyncInterval ?? DEFAULT_SETTINGS.resyncEveryMs,
  // As long as other replicas would wait for a leader that is gone.
  storePatienceMs: options.leaseDuration,
  maxAddressesPerNamespace: options.maxAddressesPerNamespace ?? null,
  operatorCredentials: options.allowOperatorCredentials ?? null,
  adopt: options.adopt,
  callDeadlineMs: options.callDeadline ?? DEFAULT_SETTINGS.callDeadlineMs,
});
