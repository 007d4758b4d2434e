import type { StoredService } from '../../../adapters/memory/vip-world.ts';
import { familyOf } from '../../../machines/model/address.ts';
import type { Address } from '../../../machines/model/types.ts';
import { addressOf, contains, gives, located, type ParsedGroup, parseGroup, usable } from '../../../machines/vip/ip-group.ts';
import { type IPGroupObject, isOwnedBy, type ReservedIP, VIP_FINALIZER } from '../../../machines/vip/objects.ts';
import { requestOf, type VipWish } from '../../../machines/vip/request.ts';

/** All that the API server has. */
export interface VipCluster {
  readonly services: readonly StoredService[];
  readonly ips: readonly ReservedIP[];
  readonly groups: readonly IPGroupObject[];
}

/** What is not as it must be once everything has come to rest. */
export function wrongVips(cluster: VipCluster): readonly string[] {
  const { services, ips } = cluster;
  const orphans = ips.filter(
    (ip) => ip.owner && !ip.legacy && !services.some((service) => isServed(service) && isOwnedBy(ip, service.ref)),
  );
  return [
    ...orphans.map((ip) => `${ip.address} is reserved for ${ip.owner?.name} (${ip.owner?.uid}), which does not want it`),
    ...services.flatMap((service) => (isServed(service) ? wrongsOfServed(service, cluster) : wrongsOfOther(service))),
  ];
}

const isServed = ({ type, deleting, loadBalancerClass }: StoredService): boolean =>
  type === 'LoadBalancer' && !deleting && loadBalancerClass === null;

function wrongsOfOther({ ref, deleting, finalizers, contended }: StoredService): readonly string[] {
  if (deleting) return [`${ref.name} is being deleted still`];
  return [
    ...(finalizers.includes(VIP_FINALIZER) ? [`${ref.name} has our finalizer still`] : []),
    ...(contended === undefined ? [] : [`${ref.name} is said to be contended still`]),
  ];
}

function wrongsOfServed(service: StoredService, cluster: VipCluster): readonly string[] {
  const { ref, ingress, finalizers } = service;
  const own = cluster.ips.filter((ip) => isOwnedBy(ip, ref));
  const listed = ingress.map(({ ip }) => ip ?? '-').join(' ');
  const [first, ...more] = own;
  if (service.contended !== undefined) return wrongsOfContended(service, cluster, first);
  const request = requestOf({ ...service, wanting: true, guarded: true });
  const wish = request.kind === 'wish' ? request : null;
  if (more.length > 0) return [`${ref.name} has ${own.map(({ address }) => address)}`];
  if (!first) {
    const usurped = cluster.ips.some(({ address }) => ingress.some(({ ip }) => ip === address));
    const place = wish && freeFor(wish, cluster);
    return [
      ...(usurped ? [`${ref.name} lists ${listed}, which is another's`] : []),
      ...(place ? [`${ref.name} has nothing, and ${place} is free`] : []),
    ];
  }
  const better = wish && !serves(wish, first, cluster) ? freeFor(wish, cluster) : null;
  return [
    ...(listed === first.address ? [] : [`${ref.name} lists ${listed || 'nothing'} and has ${first.address}`]),
    ...(finalizers.includes(VIP_FINALIZER) ? [] : [`${ref.name} lacks our finalizer`]),
    ...(better ? [`${ref.name} has ${first.address}, and asks for ${better}, which is free`] : []),
  ];
}

/** It says that it is left to somebody else. */
function wrongsOfContended({ ref, ingress, by }: StoredService, { ips }: VipCluster, own: ReservedIP | undefined): readonly string[] {
  const listed = ingress.map(({ ip }) => ip ?? '-').join(' ');
  const isAnothers = ips.some((ip) => !isOwnedBy(ip, ref) && ingress.some((entry) => entry.ip === ip.address));
  return [
    ...(listed !== '' && listed === own?.address && by === undefined
      ? [`${ref.name} is served, and says that somebody else serves it`]
      : []),
    ...(isAnothers ? [`${ref.name} lists ${listed}, which is another's, and is left`] : []),
    ...(listed === '' && !own ? [`${ref.name} lists nothing, and is left`] : []),
  ];
}

const validIn = ({ groups }: VipCluster): readonly ParsedGroup[] =>
  groups
    .map((group) => parseGroup(group.ref.name, group.spec))
    .filter((group) => group.kind === 'Valid')
    .sort((a, b) => (a.name < b.name ? -1 : 1));

function serves(wish: VipWish, { address, group }: ReservedIP, cluster: VipCluster): boolean {
  if (wish.address !== null && wish.address !== address) return false;
  if (wish.group === null || wish.group === group) return true;
  return validIn(cluster).some((each) => each.name === wish.group && contains(each, located(address)));
}

/** An address that the wish could have; null when there is none. Looks at every address of every group. */
function freeFor({ address, group, family }: VipWish, cluster: VipCluster): Address | null {
  const isFree = (each: Address): boolean => !cluster.ips.some((ip) => ip.address === each);
  const groups = validIn(cluster).filter(({ name }) => group === null || name === group);
  if (address === null) {
    const all = groups.flatMap((each) =>
      usable(each).flatMap(({ first, last }) =>
        Array.from({ length: Number(last - first) + 1 }, (_, n) => addressOf(first + BigInt(n), each.family)),
      ),
    );
    return all.find((each) => isFree(each) && (family === null || familyOf(each) === family)) ?? null;
  }
  const home = groups.find((each) => contains(each, located(address)));
  return home && gives(home, located(address)) && isFree(address) ? address : null;
}
