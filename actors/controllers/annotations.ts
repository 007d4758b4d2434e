import { MOVE_TO, UNASSIGNED } from '../../machines/model/types.ts';
import { type Marks, PAUSED } from '../../machines/pool/annotations.ts';
import type { PoolObject } from '../ports/cluster.ts';

/** `"true"`: an address that we did not make is deleted, too, where the policy deletes. */
export const DELETE_ADOPTED = 'routedip.io/delete-adopted';

/** On a FloatingIPPool: `unassigned` leaves listed addresses alone that are on machines outside of this cluster. */
const ADOPT = 'routedip.io/adopt';

/** The pool asks for that. An unknown value must not make it take more. */
export const isCareful = ({ marks }: PoolObject): boolean => (marks?.annotations[ADOPT] ?? 'any') !== 'any';

/** `"true"`: the RoutedIP is removed at once, whatever remains at the provider. */
export const FORCE_RELEASE = 'routedip.io/force-release';

/** What users request by annotations; null for nothing. */
export function marksOn({ deleting, marks }: PoolObject): Marks | null {
  const { [PAUSED]: paused, [MOVE_TO]: moveTo, [UNASSIGNED]: unassigned } = marks?.annotations ?? {};
  const asked = Object.entries({ paused, moveTo, unassigned }).filter(([, value]) => value !== undefined);
  return asked.length === 0 ? null : { ...Object.fromEntries(asked), ...(deleting && { deleting }) };
}

/** A deleted RoutedIP is released now, but not while it is paused, unless its release is forced. */
export const isReleased = (object: PoolObject): boolean => (object.deleting && !isHalted(object)) || isForced(object);

/** Removed at once, without another provider call. */
export const isForced = ({ deleting, marks }: PoolObject): boolean => deleting && marks?.annotations[FORCE_RELEASE] === 'true';

/** Paused by its annotation. */
export const isHalted = ({ marks }: PoolObject): boolean => marks?.annotations[PAUSED] === 'true';
