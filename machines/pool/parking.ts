import type { Effect } from '../events.ts';
import { type Address, type Finding, UNASSIGNED } from '../model/types.ts';
import { isPaused } from './annotations.ts';
import type { Member } from './assignment.ts';
import { entries, type Next, next, type PoolContext, tell } from './context.ts';
import type { Park } from './parks.ts';

/** Addresses that people want on no node, until they take that back: UnassignRoutedIP of an issuer's verbs, which is only ever asked for by a person. */

/** Why the annotation counts for nothing here; null where it does. */
const unable = ({ spec }: PoolContext): string | null =>
  spec?.exposes?.subject ? 'its addresses are moved by Jobs, or are those of an IPGroup, and neither can leave one on no node' : null;

const parkOf = ({ marks }: PoolContext, address: Address): Park | undefined =>
  marks?.parks?.parked.find((park) => park.address === null || park.address === address);

/** Somebody wants it on no node, and may have that. */
const isWanted = (context: PoolContext, address: Address): boolean => parkOf(context, address) !== undefined && unable(context) === null;
/** The same, while the pool decides anything: during a pause each address stays where it is. */
export const isParked = (context: PoolContext, address: Address): boolean => isWanted(context, address) && !isPaused(context);

/** Tells addresses that somebody wants them on no node, or not any more. */
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

/** Stands in the status only while the annotation does. */
export interface UnassignedCondition {
  readonly type: 'Unassigned';
  readonly status: 'True' | 'False';
  readonly reason: 'Unassigned' | 'InvalidAnnotation';
  readonly message: string;
}

/** When it became True is since when. */
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

/** What is on no node because somebody wants that; null for nothing. */
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

/** Some are on no node because somebody wants that. */
export const isAnyLetGo = (context: PoolContext): boolean =>
  (Object.keys(context.members) as Address[]).some((address) => isWanted(context, address) && isOnNone(context, address));

function named(context: PoolContext, addresses: readonly Address[]): string {
  const all = addresses.map((address) => {
    const by = parkOf(context, address)?.by ?? null;
    return by === null ? address : `${address} (${by})`;
  });
  return `${all.join(', ')} ${all.length === 1 ? 'is' : 'are'}`;
}
