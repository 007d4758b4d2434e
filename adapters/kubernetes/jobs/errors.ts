import { ProviderError } from '../../../actors/ports/errors.ts';
import type { JobRequest } from '../../../actors/ports/job-driver.ts';
import type { JobFailure } from '../../../machines/model/types.ts';
import { ApiError, isRightMissing } from '../client/api-error.ts';
import type { Hide } from './reading.ts';

interface Refused {
  readonly what: string;
  readonly reason?: JobFailure['reason'];
  /** A refusal may quote what was sent. */
  readonly hide: Hide;
}

/** Translates a refusal of the API server into an error of the Job. A refused request had no effect. Other errors are returned unchanged. */
export const refused = (error: unknown, { what, reason, hide }: Refused): unknown => {
  if (!(error instanceof ApiError)) return error;
  const of = (kind: JobFailure['kind'], conditionReason = reason): ProviderError =>
    new ProviderError(kind, `${what}: ${hide(error.message)}`, { cause: error, conditionReason });
  switch (error.kind) {
    case 'Invalid':
      return of('Invalid');
    case 'Forbidden':
      // A quota may become free by itself; a permission must be granted.
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

/** Returns the result of `call`; refusals of the API server are thrown as classified by `refused`. */
export const classified = async <T>({ purpose, action }: JobRequest, hide: Hide, call: () => Promise<T>): Promise<T> => {
  try {
    return await call();
  } catch (error) {
    const reason = purpose === 'updateRoutedIP' ? 'RoutedIPJobFailed' : 'FirewallJobFailed';
    throw refused(error, { what: `${purpose} Job (${action})`, reason, hide });
  }
};
