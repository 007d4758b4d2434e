import type { Address, JobFailure } from './types.ts';

/** How failures are reported to users. */

/** The reason of a condition or an Event for a failure: one word for each possible remedy. */
export function failureReason({ kind, reason }: Pick<JobFailure, 'kind' | 'reason'>): string {
  // Refused credentials and a limit are fixed in the same way, whatever the request was.
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

/** The text, prefixed with the address unless it already contains it, as most do. */
export const textAbout = (address: Address, text: string): string =>
  text.split(/[\s,;]+/).some((word) => word.replace(/:$/, '') === address) ? text : `${address}: ${text}`;
