import { ProviderError } from '../../../actors/ports/errors.ts';
import type { JobRequest } from '../../../actors/ports/job-driver.ts';
import type { JobFailure } from '../../../machines/model/types.ts';
import { ApiError, isRightMissing } from '../client/api-error.ts';
import type { Hide } from './reading.ts';

interface Refused {
  readonly what: string;
  readonly reason?: JobFailure['reason'];
  /** A refusal may repeat what was to be written. */
  readonly hide: Hide;
}

/** What a refusal of the API server means for a Job. None of them had an effect. Anything but a refusal is answered as it is. */
export const refused = (error: unknown, { what, reason, hide }: Refused): unknown => {
  if (!(error instanceof ApiError)) return error;
  const of = (kind: JobFailure['kind'], conditionReason = reason): ProviderError =>
    new ProviderError(kind, `${what}: ${hide(error.message)}`, { cause: error, conditionReason });
  switch (error.kind) {
    case 'Invalid':
      return of('Invalid');
    case 'Forbidden':
      // A quota frees itself; a permission has to be given.
      if (/exceeded quota/.test(error.message)) return of('Unavailable');
      return isRightMissing(error) ? of('Unsupported', 'Forbidden') : of('Unsupported');
    case 'NotFound':
      return of('Unsupported');
    case 'Unauthorized':
    case 'Conflict':
    case 'Gone':
      return of('Unavailable');
  }
};

/** Answers what `call` does; what the API server refuses is thrown as what can be done about it. */
export const classified = async <T>({ purpose, action }: JobRequest, hide: Hide, call: () => Promise<T>): Promise<T> => {
  try {
    return await call();
  } catch (error) {
    const reason = purpose === 'updateRoutedIP' ? 'RoutedIPJobFailed' : 'FirewallJobFailed';
    throw refused(error, { what: `${purpose} Job (${action})`, reason, hide });
  }
};
