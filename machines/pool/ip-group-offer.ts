import type { Decision, GroupObserved } from '../events.ts';
import type { Address } from '../model/types.ts';
import { contains, gives, type InvalidGroup, located, type ParsedGroup } from '../vip/ip-group.ts';
import type { GroupRefusal } from '../vip/objects.ts';
import type { PoolContext } from './context.ts';

/** RoutedIPs whose class takes addresses from an IPGroup. The address of a RoutedIP is chosen among all that want one, including Services, and sent to its single-address pool;
 *  the pool reserves it instead of creating one. */

/** What a RoutedIP requests from an IPGroup. */
export interface GroupWish {
  readonly group: string;
  /** Only this one; null for any. */
  readonly address: Address | null;
  /** What it was offered before. */
  readonly preferred: readonly Address[];
  /** ms since the epoch: the oldest is served first. */
  readonly since: number;
}

/** The current request of the RoutedIP; null for none. While it reserves an address, or may have, it keeps requesting it until the address is in its status. */
export function groupWish({ spec, exposed, acquiring, deleted, query, provided, since }: PoolContext): GroupWish | null {
  const group = spec?.exposes?.group;
  if (!spec || !group || !exposed || exposed.bound !== null || spec.ips.length > 0 || deleted || exposed.deleting) return null;
  const isReserving = acquiring.intending || acquiring.intent !== null || acquiring.unpublished !== null;
  if (!isReserving && (query === null || provided === null || exposed.trouble !== null || !exposed.guarded)) return null;
  return { group: group.name, address: group.address, preferred: exposed.offer ? [exposed.offer.address] : [], since };
}

/** Takes over the chosen address, or why there is none. */
export function observeGroup(context: PoolContext, { offer, refusal }: GroupObserved): Decision<PoolContext> {
  const { exposed } = context;
  return { context: exposed ? { ...context, exposed: { ...exposed, offer, refusal } } : context, effects: [] };
}

/** The offer has changed: the wait is over. */
export const isOfferedAnew = ({ exposed }: PoolContext, { offer }: GroupObserved): boolean =>
  offer !== null && JSON.stringify(offer) !== JSON.stringify(exposed?.offer ?? null);

/** Addresses are not created for this RoutedIP, and it has been offered none. */
export const awaitsOffer = ({ spec, exposed }: PoolContext): boolean => spec?.exposes?.group !== undefined && !exposed?.offer;

/** Its addresses come from an IPGroup, according to the class. */
export const isFromGroup = ({ spec }: PoolContext): boolean => spec?.exposes?.group !== undefined;

/** Why the group has nothing to offer, when that is the case. */
export function groupRefusal({ group: name, address }: GroupWish, group: ParsedGroup | InvalidGroup | null): GroupRefusal {
  if (group === null) return { reason: 'IPGroupNotFound', message: `there is no IPGroup ${name}` };
  if (group.kind === 'Invalid') return { reason: 'IPGroupInvalid', message: `IPGroup ${name} is Invalid: ${group.message}` };
  if (group.family !== 4) return { reason: 'IPGroupInvalid', message: `IPGroup ${name} is of IPv6, and a RoutedIP has an IPv4 address` };
  if (address === null) return { reason: 'IPGroupExhausted', message: `IPGroup ${name} has no free address` };
  return { reason: 'AddressUnavailable', message: `spec.routedIP ${address} ${unavailable(group, address)}` };
}

function unavailable(group: ParsedGroup, address: Address): string {
  const at = located(address);
  if (!contains(group, at)) return `is not of IPGroup ${group.name} (${group.segment})`;
  return gives(group, at) ? `of IPGroup ${group.name} is somebody's: kubectl get ip shows whose` : `is excluded by IPGroup ${group.name}`;
}

/** Used where IPGroups cannot be observed at all. */
export const GROUPS_UNSEEN: GroupRefusal = {
  reason: 'IPGroupNotFound',
  message: 'no IPGroups are seen: their definitions are not installed, or the operator runs without the controller vip',
};
