import type { Condition } from './types.ts';

/** What only another spec of the object ends. Whatever an administrator, the provider or the next try may end as well is none of it: whoever waits for the object would give up too soon. */
const UNTIL_EDITED: ReadonlySet<string> = new Set([
  ...['InvalidSpec', 'CreateUnknown', 'NameOutsideZone', 'UnsupportedIssuer'],
  // Of IPGroups.
  ...['InvalidSegment', 'NoAddresses'],
]);

/** The conditions, and `Stalled` beside them while the object is not ready and nothing but a change of its spec makes it so. Tools that know objects by kstatus (Flux, cli-utils)
 *  take that for a failure, and everything else that is not ready for something that goes on. */
export function withStalled(conditions: readonly Condition[]): readonly Condition[] {
  const [ready, degraded] = ['Ready', 'Degraded'].map((type) => conditions.find((condition) => condition.type === type));
  // Classes, issuers and IPGroups have no other condition than Ready.
  const why = degraded ?? ready;
  if (!ready || !why || ready.status === 'True' || why.elsewhere || !UNTIL_EDITED.has(why.reason)) return conditions;
  return [...conditions, { type: 'Stalled', status: 'True', reason: why.reason, message: why.message }];
}
