import { PAUSED } from '../machines/marks.ts';
import type { Next } from './row.ts';

/** A condition as every kind of ours has it. */
export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
}

interface Observed {
  readonly metadata: { readonly generation?: number; readonly annotations?: Readonly<Record<string, string>> };
  readonly status?: { readonly observedGeneration?: number; readonly conditions?: readonly Condition[] };
}

export const conditionOf = ({ status }: Observed, type: string): Condition | null =>
  status?.conditions?.find((condition) => condition.type === type) ?? null;

export const pausedOf = ({ metadata }: Observed): Next | null =>
  metadata.annotations?.[PAUSED] === 'true' ? { what: 'paused', at: null } : null;

export const IN_DOUBT = 'whether the last assignment took effect is not known yet';

/** Why the status does not tell of the object as it is now; null when it does. */
export function unseen({ metadata: { generation = 0 }, status }: Observed): string | null {
  if (status?.observedGeneration === undefined) return 'no operator has looked at it yet';
  return status.observedGeneration < generation ? 'no operator has looked at its last change yet' : null;
}
