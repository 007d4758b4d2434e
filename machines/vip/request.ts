import { parseAddress } from '../model/address.ts';
import type { Address, Family } from '../model/types.ts';
import { PINNED_GROUP_ANNOTATION, REQUESTED_IP_ANNOTATION, type VipService } from './objects.ts';
import { MIGRATING_ANNOTATION } from './virtualip.ts';

/** Why a Service gets no address; the reason of its Event.
 *  `AllocationFailed`: what it asks for cannot be, as it is said or as the IPGroups are. `RequestedIPUnavailable`: the address is another's, or excluded.
 *  `ConflictingRequest`: it asks for two things at once. `PoolExhausted`: every group that it may have an address of is full, or there is none. */
export type RefusalReason = 'AllocationFailed' | 'RequestedIPUnavailable' | 'ConflictingRequest' | 'PoolExhausted';

export interface Refusal {
  readonly kind: 'refused';
  readonly reason: RefusalReason;
  /** For people, and stable: dashboards and scripts look for these texts. */
  readonly message: string;
}

/** What a Service asks for. */
export interface VipWish {
  readonly kind: 'wish';
  /** This one and no other; null for any. */
  readonly address: Address | null;
  /** Of this IPGroup only; null for any. */
  readonly group: string | null;
  /** Null for either. Says nothing where an address is asked for: a Service of two families may ask for one of its second. */
  readonly family: Family | null;
  /** IPGroups that are not for its namespace, by name ascending; absent for none. What it was offered, or has, stays. */
  readonly barred?: readonly string[];
  /** What its ingress lists already, in that order: it had these, and gets one of them again while it is free. */
  readonly preferred: readonly Address[];
  /** ms since the epoch: the oldest Service is served first. */
  readonly since: number;
}

export const refusal = (reason: RefusalReason, message: string): Refusal => ({ kind: 'refused', reason, message });

export const UNPARSABLE = refusal('AllocationFailed', 'failed to allocate specific ip: the requested ip could not be parsed');

/** Whether a migration is under way still cannot be told where VirtualIPs are not seen. */
export const unseen = (vip: string): Refusal =>
  refusal(
    'AllocationFailed',
    `VirtualIP ${vip} is being migrated to the service, and VirtualIPs cannot be seen: if their kind is gone for good take the annotation ${MIGRATING_ANNOTATION} off`,
  );

/** What the Service asks for: the address of its annotation, else of `spec.loadBalancerIP`, else any. Empty texts ask for nothing. Both may be said if they mean
 *  the same address. What does not parse refuses, whichever of the two it is. */
export function requestOf(service: VipService): VipWish | Refusal {
  const asked = [service.requestedIP ?? '', service.loadBalancerIP].filter((text) => text !== '').map(parseAddress);
  if (asked.includes(null)) return UNPARSABLE;
  const [address = null, other = address] = asked;
  if (address !== other)
    return refusal(
      'ConflictingRequest',
      `the annotation ${REQUESTED_IP_ANNOTATION} asks for ${address}, spec.loadBalancerIP for ${other}; they must be the same, or one of them empty`,
    );
  return {
    kind: 'wish',
    address,
    group: service.pinnedGroup === '' ? null : service.pinnedGroup,
    family: service.family,
    preferred: service.ingress.flatMap(({ ip }) => parseAddress(ip ?? '') ?? []),
    since: service.createdAt,
  };
}

/** What the Service asks of us and of no other, as one text; empty for nothing: by our annotations, by our class, or by an address that `isKnown` to be of our groups. */
export function asksOfUs({ requestedIP, pinnedGroup, loadBalancerIP, classed }: VipService, isKnown: (address: string) => boolean): string {
  const asked = [requestedIP ?? '', pinnedGroup ?? '', isKnown(loadBalancerIP) ? loadBalancerIP : '', classed ? 'class' : ''];
  return asked.some((each) => each !== '') ? asked.join(' ') : '';
}

/** The Service asks for an address of one group by name, and by number for one that is not the group's. */
export const notOfPinned = (address: Address, group: string): Refusal =>
  refusal(
    'ConflictingRequest',
    `the requested ip ${address} is not of IPGroup ${group}, which the annotation ${PINNED_GROUP_ANNOTATION} names`,
  );
