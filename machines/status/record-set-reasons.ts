import type { RecordsFailure } from '../events.ts';

/** The record set lists exactly the wanted addresses. */
export const PUBLISHED = 'Published';
/** The nodes, the pods or the spec were not read yet. */
export const PRIMING = 'Priming';
/** The zone is being written. */
export const PUBLISHING = 'Publishing';
/** Nothing is under way. */
export const IDLE = 'Idle';
/** Nothing is wrong. */
export const AS_EXPECTED = 'AsExpected';
/** Nothing is wrong and nothing reportable is under way, but the record set is not published. */
export const WAITING = 'Waiting';

/** The spec cannot be served; the message says why. */
export const INVALID_SPEC = 'InvalidSpec';
/** There is no address to list: the last records stay. */
export const NO_ADDRESS = 'NoAddress';
/** Some matching nodes have no address of the wanted type, and are not listed. */
export const NODES_WITHOUT_ADDRESS = 'NodesWithoutAddress';
/** The provider knows no such zone, or the token may not see it. */
export const ZONE_NOT_FOUND = 'ZoneNotFound';
/** The name is taken by a CNAME record or another object. */
export const RECORD_CONFLICT = 'RecordConflict';
/** The name lies outside the zone. */
export const NAME_OUTSIDE_ZONE = 'NameOutsideZone';
/** The provider rejects the token, or its permissions. */
export const UNAUTHORIZED = 'Unauthorized';
/** The provider's rate limit is reached for longer than a job can wait. */
export const RATE_LIMITED = 'RateLimited';
/** The provider rejects the record, for its TTL for example. */
export const RECORD_REFUSED = 'RecordRefused';
/** The update failed for another reason, such as an outage. */
export const UPDATE_FAILED = 'UpdateFailed';

/** The reason of a condition or an Event for a failure: one word for each possible remedy. */
export function recordsReason({ kind, outsideZone }: Omit<RecordsFailure, 'message'>): string {
  if (outsideZone) return NAME_OUTSIDE_ZONE;
  switch (kind) {
    case 'NotFound':
      return ZONE_NOT_FOUND;
    case 'Conflict':
      return RECORD_CONFLICT;
    case 'Unauthorized':
      return UNAUTHORIZED;
    case 'RateLimited':
      return RATE_LIMITED;
    case 'Invalid':
    case 'Unsupported':
      return RECORD_REFUSED;
    case 'InProgress':
    case 'NodeInUse':
    case 'Unavailable':
      return UPDATE_FAILED;
  }
}
