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

/** Conditions of ours that stand only for a time. */
const PASSING: ReadonlySet<unknown> = new Set(['Paused', 'Stalled', 'Unassigned', 'Contended', 'Conflict']);

/** A server refuses the whole status for a longer message. It is the same in every definition. */
const LONGEST_MESSAGE = LIMITS.FloatingIPPool['status.conditions[].message'];

/** The conditions as they are to stand in status: the time of the last transition is kept while a condition's status stays, and conditions of
 *  other types, which others wrote, stay, but for those of ours that are over. An empty message becomes the reason: there are servers (1.20 compiled by
 *  a newer Go) that take an empty text for null and refuse the whole status. `statuses` are searched in order for the former ones. */
export const conditionsOf = (
  conditions: readonly Condition[],
  generation: number,
  now: number,
  statuses: readonly (Json | undefined)[],
): readonly Json[] => {
  const former = statuses.flatMap(conditionsIn);
  const own = conditions.map(({ type, status, reason, message }) => {
    // What an object says before anybody has looked at it has begun at no time.
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
