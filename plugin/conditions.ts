import { PAUSED } from '../machines/pool/annotations.ts';
import type { Next } from './row.ts';

/** A condition, the same for all our kinds. */
export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
  readonly observedGeneration?: number;
}

interface Observed {
  readonly metadata: { readonly generation?: number; readonly annotations?: Readonly<Record<string, string>> };
  readonly status?: { readonly observedGeneration?: number; readonly error?: string; readonly conditions?: readonly Condition[] };
}

export const conditionOf = ({ status }: Observed, type: string): Condition | null =>
  status?.conditions?.find((condition) => condition.type === type) ?? null;

export const pausedOf = ({ metadata }: Observed): Next | null =>
  metadata.annotations?.[PAUSED] === 'true' ? { what: 'paused', at: null } : null;

export const IN_DOUBT = 'whether the last assignment took effect is not known yet';

export const joined = (...texts: readonly (string | null | undefined)[]): string => texts.filter((text) => text).join('; ');

/** Whether a text for users is about that address. */
export const mentions = (text: string, address: string): boolean =>
  text.split(/[\s,;()]+/).some((word) => word.replace(/[.:]+$/, '') === address);

/** Why the status does not reflect the object as it is now; null when it does. For an unserved object only Ready does: the rest of its status is from before. */
export function unseen(object: Observed): string | null {
  const { generation = 0 } = object.metadata;
  const looks = [object.status?.observedGeneration, conditionOf(object, 'Ready')?.observedGeneration];
  const last = Math.max(...looks.map((each) => each ?? -1));
  if (last < 0) return 'no operator has looked at it yet';
  return last < generation ? 'no operator has looked at its last change yet' : null;
}

/** The state of an object, or of an address of it, without one in its status. */
export function stateless(object: Observed): 'unseen' | 'unserved' | 'wanted' {
  if (unseen(object) !== null) return 'unseen';
  return conditionOf(object, 'Ready')?.status === 'Unknown' ? 'unserved' : 'wanted';
}

/** What is wrong with a ready object; null for nothing. */
export function troubleOf(object: Observed): Condition | null {
  const degraded = conditionOf(object, 'Degraded');
  return conditionOf(object, 'Ready')?.status === 'True' && degraded?.status === 'True' ? degraded : null;
}

/** Why the object is in its state: the reason of one of its conditions. */
export const reasonOf = (object: Observed): string => (troubleOf(object) ?? conditionOf(object, 'Ready'))?.reason ?? '';

/** What is wrong with the object, in words, beginning with what its reason is about; empty for nothing. An error stays in the status while the object is not served, and may
 *  be outdated. */
export function wrongWith(object: Observed): string {
  const ready = conditionOf(object, 'Ready');
  if (ready?.status === 'True') return troubleOf(object)?.message ?? '';
  const said = ready?.message ?? '';
  const error = ready?.status === 'Unknown' ? '' : (object.status?.error ?? '');
  return said.includes(error) ? said : joined(said, error);
}
