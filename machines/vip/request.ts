import { parseAddress } from '../model/address.ts';
import type { Address, Family } from '../model/types.ts';
import { PINNED_GROUP_ANNOTATION, REQUESTED_IP_ANNOTATION, type VipService } from './objects.ts';
import { MIGRATING_ANNOTATION } from './virtualip.ts';

/** Why a Service gets no address; the reason of its Event. `AllocationFailed`: the request cannot be met, because of its form or the state of the IPGroups.
 *  `RequestedIPUnavailable`: the address is taken by another owner, or excluded. `ConflictingRequest`: it requests two things at once. `PoolExhausted`: every group that may
 *  give it an address is full, or there is none. */
export type RefusalReason = 'AllocationFailed' | 'RequestedIPUnavailable' | 'ConflictingRequest' | 'PoolExhausted';

export interface Refusal {
  readonly kind: 'refused';
  readonly reason: RefusalReason;
  /** For users, and stable: dashboards and scripts search for these texts. */
  readonly message: string;
}

/** The request of a Service. */
export interface VipWish {
  readonly kind: 'wish';
  /** Only this one; null for any. */
  readonly address: Address | null;
  /** Of this IPGroup only; null for any. */
  readonly group: string | null;
  /** Null for either. Ignored where an address is requested: a dual-stack Service may request one of its second family. */
  readonly family: Family | null;
  /** IPGroups that do not admit its namespace, sorted by name; absent for none. An address already offered or held stays. */
  readonly barred?: readonly string[];
  /** What its ingress already lists, in order: it had these, and gets one of them again while it is free. */
  readonly preferred: readonly Address[];
  /** ms since the epoch: the oldest Service is served first. */
  readonly since: number;
}

export const refusal = (reason: RefusalReason, message: string): Refusal => ({ kind: 'refused', reason, message });

export const UNPARSABLE = refusal('AllocationFailed', 'failed to allocate specific ip: the requested ip could not be parsed');

/** Where VirtualIPs are not observed, it is unknown whether a migration is still under way. */
export const unseen = (vip: string): Refusal =>
  refusal(
    'AllocationFailed',
    `VirtualIP ${vip} is being migrated to the service, and VirtualIPs cannot be seen: if their kind is gone for good take the annotation ${MIGRATING_ANNOTATION} off`,
  );

/** The request of the Service: the address in its annotation, else in `spec.loadBalancerIP`, else any. Empty strings request nothing. Both may be set if they mean the same
 *  address. If either cannot be parsed, the request is refused. */
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

/** What the Service requests of us and of no other, as one string; empty for nothing: by our annotations, by our class, or by an address that `isKnown` to be in our groups. */
export function asksOfUs({ requestedIP, pinnedGroup, loadBalancerIP, classed }: VipService, isKnown: (address: string) => boolean): string {
  const asked = [requestedIP ?? '', pinnedGroup ?? '', isKnown(loadBalancerIP) ? loadBalancerIP : '', classed ? 'class' : ''];
  return asked.some((each) => each !== '') ? asked.join(' ') : '';
}

/** The Service names a group, and requests an address that is not in that group. */
export const notOfPinned = (address: Address, group: string): Refusal =>
  refusal(
    'ConflictingRequest',
    `the requested ip ${address} is not of IPGroup ${group}, which the annotation ${PINNED_GROUP_ANNOTATION} names`,
  );
