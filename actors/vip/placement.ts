import { familyOf } from '../../machines/model/address.ts';
import type { Address, Family } from '../../machines/model/types.ts';
import { contains, gives, located } from '../../machines/vip/ip-group.ts';
import { notOfPinned, type Refusal, refusal } from '../../machines/vip/request.ts';
import type { GroupIndex, Place } from './group-index.ts';
import type { VipRequest } from './wait-queue.ts';

/** What a request asks for, without the asker. */
type Wanted = Pick<VipRequest, 'address' | 'group' | 'family' | 'barred'>;

const EXHAUSTED = refusal('PoolExhausted', 'no IP could be allocated');
const NO_GROUP = refusal('AllocationFailed', 'failed to allocate specific ip: IPGroup not found for the requested ip');
const UNAVAILABLE = refusal('RequestedIPUnavailable', 'failed to allocate specific ip: the requested ip is not available');

/** The free place that the request gets; null when there is none.
 *  One address: of the group that it is pinned to, else of the first by name whose segment the address is in, even if that group excludes it and a later one does not.
 *  Any: the lowest free address of the first group by name that has one. */
export function placeFor(groups: GroupIndex, wanted: Wanted): Place | null {
  const { address, group, barred } = wanted;
  if (address === null) return groups.lowest(wanted);
  const home = groups.valid(group ?? openAround(groups, address, wanted)[0] ?? null);
  return home && !barred?.includes(home.name) && gives(home, located(address)) && groups.isFree(address)
    ? { address, group: home.name }
    : null;
}

/** The same for a request whose Service had some addresses: one of these, in their order. */
export function formerPlaceFor(groups: GroupIndex, request: VipRequest): Place | null {
  const { address: asked, preferred } = request;
  if (asked !== null) return preferred.includes(asked) ? placeFor(groups, request) : null;
  for (const address of preferred) {
    const giver = groups.isFree(address) ? groups.giver(address, request) : null;
    if (giver !== null) return { address, group: giver.name };
  }
  return null;
}

/** The place that the Service's own address is for its request, or null if it does not serve that. `label` is the group that its IP object names. That group may have been
 *  shrunk or deleted since: it serves still. */
export function ownPlaceFor(groups: GroupIndex, request: VipRequest, address: Address, label: string | null): Place | null {
  if (request.address !== null ? address !== request.address : !isOf(request.family, address)) return null;
  const around = groups.around(address);
  const pin = request.group;
  if (pin !== null) return pin === label || around.includes(pin) ? { address, group: pin } : null;
  const group = label !== null && around.includes(label) ? label : (around[0] ?? label);
  return group === null ? null : { address, group };
}

/** The place serves the request as it is now. */
export const isServedBy = ({ address, group, family }: Wanted, place: Place): boolean =>
  (address === null ? isOf(family, place.address) : address === place.address) && (group === null || group === place.group);

/** Why a request gets no place. */
export function refusalOf(groups: GroupIndex, wanted: Wanted): Refusal {
  const { address, group, barred = [] } = wanted;
  if (group !== null && barred.includes(group)) return notFor([group]);
  if (group !== null) return refusalOfPinned(groups, group, wanted);
  if (address === null) return barred.length > 0 ? refusal('PoolExhausted', `${EXHAUSTED.message}; ${textOf(barred)}`) : EXHAUSTED;
  const around = groups.around(address);
  if (around.length > 0 && openAround(groups, address, wanted).length === 0) return notFor(around);
  return around.length > 0 ? UNAVAILABLE : NO_GROUP;
}

/** The groups whose segment the address is in, except those barred for this request. */
const openAround = (groups: GroupIndex, address: Address, { barred }: Wanted): readonly string[] =>
  groups.around(address).filter((name) => !barred?.includes(name));

const textOf = (barred: readonly string[]): string => `not for this namespace (namespaceSelector): IPGroup ${barred.join(', ')}`;
const notFor = (barred: readonly string[]): Refusal => refusal('AllocationFailed', `${EXHAUSTED.message}: ${textOf(barred)}`);

function refusalOfPinned(groups: GroupIndex, pin: string, { address, family }: Omit<Wanted, 'group'>): Refusal {
  const group = groups.get(pin);
  if (group?.kind !== 'Valid') {
    if (address !== null) return NO_GROUP;
    return refusal(
      'AllocationFailed',
      `${EXHAUSTED.message}: ${group === null ? `there is no IPGroup ${pin}` : `IPGroup ${pin} is Invalid`}`,
    );
  }
  if (address !== null) return contains(group, located(address)) ? UNAVAILABLE : notOfPinned(address, pin);
  if (family === null || family === group.family) return EXHAUSTED;
  return refusal('ConflictingRequest', `${EXHAUSTED.message}: IPGroup ${pin} is of IPv${group.family}, the Service of IPv${family}`);
}

const isOf = (family: Family | null, address: Address): boolean => family === null || family === familyOf(address);
