import { withStalled } from '../../machines/model/stalled.ts';
import type { Condition, Finding } from '../../machines/model/types.ts';
import type { PoolView } from '../../machines/pool/view.ts';
import { termIn } from '../../machines/status/restore-pool.ts';
import type { PoolObject, PoolProjection } from '../ports/cluster.ts';

/** What an object's status has to say beyond its records. */
export interface Notices {
  /** Why it is not served as it is now; null when it is. */
  readonly unserved: Finding | null;
  /** What is wrong with the turns of its cell, or of one that works for it; null for nothing. */
  readonly trouble: Finding | null;
}

export const NO_NOTICES: Notices = { unserved: null, trouble: null };

/** Whether too little is known of a pool to write its status: what stands there is the only memory of it. */
export const isUnknown = ({ context: { spec, error }, state }: PoolView): boolean =>
  (spec === null && error === null) || state === 'Priming';

/** The conditions with the notices, and `Stalled` where that applies. What the records find wrong comes first: users can act on it. */
export const withNotices = (conditions: readonly Condition[], { unserved, trouble }: Notices): readonly Condition[] =>
  withStalled(
    conditions.map((condition) => {
      if (unserved && condition.type === 'Ready') return { ...condition, status: 'Unknown', ...unserved };
      const wrong = trouble ?? degradedBy(unserved);
      if (wrong && condition.type === 'Degraded' && condition.status === 'False') return { ...condition, status: 'True', ...wrong };
      return condition;
    }),
  );

/** Why an unserved object is degraded, too: what the status said may no longer hold, and this does not end by itself. */
const degradedBy = (unserved: Finding | null): Finding | null => (unserved?.reason === 'ProviderUnread' ? unserved : null);

/** Says why an object is not served, and leaves the rest of its status as it is. `term`: of the reporting leader, 0 while there is none. */
export const unservedProjection = ({ ref, generation, status }: PoolObject, unserved: Finding, term: number): PoolProjection => {
  const shown = Math.max(term, termIn(status));
  const degraded = degradedBy(unserved);
  return {
    ref,
    generation,
    partial: true,
    unserved: true,
    status: { ...(shown > 0 && { term: shown }), ...(degraded && { error: degraded.message }) },
    conditions: [
      { type: 'Ready', status: 'Unknown', ...unserved },
      ...(degraded ? [{ type: 'Degraded' as const, status: 'True' as const, ...degraded }] : []),
    ],
    annotated: {},
    addresses: [],
    events: [],
  };
};

/** Without the fields that would overwrite what the status remembers. */
export function partially({ status: { term = 0, error }, ...projection }: PoolProjection): PoolProjection {
  return { ...projection, partial: true, status: { term, ...(error !== undefined && { error }) }, annotated: {}, addresses: [] };
}
