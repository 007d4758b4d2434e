import type { Json } from '../../../actors/ports/records.ts';
import type { Condition } from '../../../machines/model/types.ts';
import { LIMITS } from '../../../machines/spec/limits.ts';
import { wholeSeconds } from '../client/kube-time.ts';
import { isObject, type JsonObject } from '../client/merge-patch.ts';
import { withinBytes } from '../client/within-bytes.ts';

const conditionsIn = (status: Json | undefined): readonly JsonObject[] => {
  const list = isObject(status) ? status.conditions : undefined;
  return Array.isArray(list) ? list.filter(isObject) : [];
};

/** Our conditions that are removed when they no longer apply. */
const PASSING: ReadonlySet<unknown> = new Set(['Paused', 'Stalled', 'Unassigned', 'Contended', 'Conflict']);

/** A server rejects the whole status for a longer message. The limit is the same in every CRD. */
const LONGEST_MESSAGE = LIMITS.FloatingIPPool['status.conditions[].message'];

/** The conditions for the status: lastTransitionTime is kept while a condition's status is unchanged. Foreign condition types are kept; our own that no longer
 *  apply are dropped. An empty message is replaced by the reason: some servers (1.20 compiled with a newer Go) treat an empty string as null and
 *  reject the whole status. `statuses` are searched in order for previous conditions. */
export const conditionsOf = (
  conditions: readonly Condition[],
  generation: number,
  now: number,
  statuses: readonly (Json | undefined)[],
): readonly Json[] => {
  const former = statuses.flatMap(conditionsIn);
  const own = conditions.map(({ type, status, reason, message }) => {
    // A Pending condition, from before the object was processed, has no real transition time.
    const before = former.find((condition) => condition.type === type && condition.status === status && condition.reason !== 'Pending');
    const lastTransitionTime = before?.lastTransitionTime ?? wholeSeconds(now);
    return {
      type,
      status,
      reason,
      message: withinBytes(message, LONGEST_MESSAGE) || reason,
      observedGeneration: generation,
      lastTransitionTime,
    };
  });
  const foreign = conditionsIn(statuses.at(-1)).filter(
    (condition) => !PASSING.has(condition.type) && !conditions.some(({ type }) => type === condition.type),
  );
  return [...own, ...foreign];
};
