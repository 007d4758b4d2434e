import type { Address, JobFailure } from './types.ts';

/** What people are told of a failure. */

/** The reason of a condition or an Event for a failure: one word for each thing that can be done about it. */
export function failureReason({ kind, reason }: Pick<JobFailure, 'kind' | 'reason'>): string {
  // Refused credentials and a limit are mended in the same way, whatever was asked for with them.
  if (reason && !(reason === 'FirewallNotReady' && (kind === 'Unauthorized' || kind === 'RateLimited'))) return reason;
  switch (kind) {
    case 'NotFound':
      return 'AddressNotFound';
    case 'NodeInUse':
      return 'NodeInUse';
    case 'Unauthorized':
      return 'Unauthorized';
    case 'RateLimited':
      return 'RateLimited';
    case 'InProgress':
    case 'Conflict':
    case 'Invalid':
    case 'Unavailable':
    case 'Unsupported':
      return 'AssignFailed';
  }
}

/** A text that says which address it is about, as most do by themselves. */
export const textAbout = (address: Address, text: string): string =>
  text.split(/[\s,;]+/).some((word) => word.replace(/:$/, '') === address) ? text : `${address}: ${text}`;
