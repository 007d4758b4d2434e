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
/** Nothing is wrong and nothing is under way that would be told, but the record set does not stand. */
export const WAITING = 'Waiting';

/** The spec cannot be served; its text says why. */
export const INVALID_SPEC = 'InvalidSpec';
/** No address is there to list: the last records stay. */
export const NO_ADDRESS = 'NoAddress';
/** Some matching nodes bear no address of the wanted type, and are not listed. */
export const NODES_WITHOUT_ADDRESS = 'NodesWithoutAddress';
/** The provider knows no such zone, or the token may not see it. */
export const ZONE_NOT_FOUND = 'ZoneNotFound';
/** Something else has the name: a CNAME record, or another object that has it. */
export const RECORD_CONFLICT = 'RecordConflict';
/** The name lies outside of the zone. */
export const NAME_OUTSIDE_ZONE = 'NameOutsideZone';
/** The provider refuses the token, or what it wants to do. */
export const UNAUTHORIZED = 'Unauthorized';
/** The provider's limit is reached in a way that a job could not wait out. */
export const RATE_LIMITED = 'RateLimited';
/** The provider refuses the record, for its TTL for example. */
export const RECORD_REFUSED = 'RecordRefused';
/** The update failed for another reason, such as an outage. */
export const UPDATE_FAILED = 'UpdateFailed';

/** The reason of a condition or an Event for a failure: one word for each thing that can be done about it. */
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
