import type { Effect } from '../events.ts';
import { type Address, type Finding, UNASSIGNED } from '../model/types.ts';
import { isPaused } from './annotations.ts';
import type { Member } from './assignment.ts';
import { entries, type Next, next, type PoolContext, tell } from './context.ts';
import type { Park } from './parks.ts';

/** Addresses requested to be on no node until that is withdrawn: UnassignRoutedIP of an issuer's verbs, which only users request. */

/** Why the annotation has no effect here; null where it has. */
const unable = ({ spec }: PoolContext): string | null =>
  spec?.exposes?.subject ? 'its addresses are moved by Jobs, or are those of an IPGroup, and neither can leave one on no node' : null;

const parkOf = ({ marks }: PoolContext, address: Address): Park | undefined =>
  marks?.parks?.parked.find((park) => park.address === null || park.address === address);

/** The address was requested to be on no node, and that is possible. */
const isWanted = (context: PoolContext, address: Address): boolean => parkOf(context, address) !== undefined && unable(context) === null;
/** The same, unless the pool is paused: then each address stays where it is. */
export const isParked = (context: PoolContext, address: Address): boolean => isWanted(context, address) && !isPaused(context);

/** Notifies addresses that they were requested to be on no node, or that this was withdrawn. */
export function tellParks(given: Next): Next {
  const { context } = given;
  const members: Record<Address, Member> = { ...context.members };
  const effects: Effect[] = [];
  for (const [address, member] of entries(context.members)) {
    const parked = isParked(context, address);
    if (member.retiring || parked === (member.parked ?? false)) continue;
    const { parked: _, ...others } = member;
    members[address] = parked ? { ...others, parked } : others;
    effects.push(tell(context, address, { type: 'PARK', parked }));
  }
  return effects.length > 0 ? next({ ...context, members }, [...given.effects, ...effects]) : given;
}

/** In the status only while the annotation is present. */
export interface UnassignedCondition {
  readonly type: 'Unassigned';
  readonly status: 'True' | 'False';
  readonly reason: 'Unassigned' | 'InvalidAnnotation';
  readonly message: string;
}

/** Its lastTransitionTime shows since when. */
export function unassignedCondition(context: PoolContext): readonly UnassignedCondition[] {
  const { parks } = context.marks ?? {};
  if (!parks) return [];
  const why = unable(context) ?? parks.wrong;
  const found = parkedFinding(context);
  if (found)
    return [{ type: 'Unassigned', status: 'True', reason: 'Unassigned', message: why ? `${found.message}; ${why}` : found.message }];
  return [
    { type: 'Unassigned', status: 'False', reason: 'InvalidAnnotation', message: why ?? `${UNASSIGNED} names no address of this object` },
  ];
}

/** Addresses on no node by request; null for none. */
export function parkedFinding(context: PoolContext): Finding | null {
  const wanted = (Object.keys(context.members) as Address[]).filter((address) => isWanted(context, address)).sort();
  if (wanted.length === 0) return null;
  const { true: done = [], false: open = [] } = Object.groupBy(wanted, (address) => `${isOnNone(context, address)}`);
  const parts = [
    ...(done.length > 0 ? [`${named(context, done)} on no node`] : []),
    ...(open.length > 0 ? [`${named(context, open)} wanted on no node`] : []),
  ];
  return { reason: 'Unassigned', message: `${parts.join(', ')}, as ${UNASSIGNED} asks, until that is taken off` };
}

const isOnNone = ({ members }: PoolContext, address: Address): boolean => {
  const { heard = false, holder = null, node = null } = members[address] ?? {};
  return heard && holder === null && node === null;
};

/** Some addresses are on no node by request. */
export const isAnyLetGo = (context: PoolContext): boolean =>
  (Object.keys(context.members) as Address[]).some((address) => isWanted(context, address) && isOnNone(context, address));

function named(context: PoolContext, addresses: readonly Address[]): string {
  const all = addresses.map((address) => {
    const by = parkOf(context, address)?.by ?? null;
    return by === null ? address : `${address} (${by})`;
  });
  return `${all.join(', ')} ${all.length === 1 ? 'is' : 'are'}`;
}
