import type { Condition } from './types.ts';

/** Reasons that only a change of the object's spec can end. Anything that an administrator, the provider or a retry may also end is excluded: a tool that waits for the object
 *  would give up too soon. */
const UNTIL_EDITED: ReadonlySet<string> = new Set([
  ...['InvalidSpec', 'CreateUnknown', 'NameOutsideZone', 'UnsupportedIssuer'],
  // For IPGroups.
  ...['InvalidSegment', 'NoAddresses'],
]);

/** The conditions, plus `Stalled` while the object is not ready and only a change of its spec can make it so. Tools that use kstatus (Flux, cli-utils) treat Stalled as a
 *  failure, and any other object that is not ready as in progress. */
export function withStalled(conditions: readonly Condition[]): readonly Condition[] {
  const [ready, degraded] = ['Ready', 'Degraded'].map((type) => conditions.find((condition) => condition.type === type));
  // Classes, issuers and IPGroups have only the condition Ready.
  const why = degraded ?? ready;
  if (!ready || !why || ready.status === 'True' || why.elsewhere || !UNTIL_EDITED.has(why.reason)) return conditions;
  return [...conditions, { type: 'Stalled', status: 'True', reason: why.reason, message: why.message }];
}
