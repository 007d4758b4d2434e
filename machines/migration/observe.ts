import { parseAddress } from '../model/address.ts';
import type { ReservedIP } from '../vip/objects.ts';
import { cloneName, MIGRATING_ANNOTATION, type ServiceObject, type Surroundings, type VirtualIP } from '../vip/virtualip.ts';
import { groupContaining, type SegmentObject } from './group-segment-mapping.ts';
import { driftOf, isCloneOf } from './service-clone.ts';

/** The observed cluster state around a VirtualIP. */
export interface SeenAround {
  /** The Service that its spec names. */
  readonly service: ServiceObject | null;
  /** The Service with the name given by `cloneOfVirtualIP`. */
  readonly clone: ServiceObject | null;
  /** The IP of its address. */
  readonly ip: ReservedIP | null;
  readonly groups: readonly SegmentObject[];
}

/** The name of its copy: from its status, else the default name. */
export const cloneOfVirtualIP = ({ ref, status }: VirtualIP): string => status.clonedService || cloneName(ref);

/** The cluster state passed to a VirtualIP. */
export function surroundingsOf(vip: VirtualIP, { service, clone, ip, groups }: SeenAround): Surroundings {
  const address = parseAddress(vip.status.ip);
  const marked = service?.annotations[MIGRATING_ANNOTATION] ?? null;
  return {
    service: service && {
      type: typeof service.spec.type === 'string' ? service.spec.type : 'ClusterIP',
      ingress: service.ingress.map((entry) => entry.ip),
      loadBalancerIP: typeof service.spec.loadBalancerIP === 'string' ? service.spec.loadBalancerIP : '',
    },
    clone: cloneState(vip, service, clone),
    owner: ownerOf(vip, ip),
    group: address && groupContaining(groups, address),
    rival: marked === vip.ref.name ? null : marked,
  };
}

/** A copy of a missing Service counts as drifted: the attempt to make it again shows the user why that is impossible. */
function cloneState(vip: VirtualIP, service: ServiceObject | null, clone: ServiceObject | null): Surroundings['clone'] {
  if (clone === null || !isCloneOf(clone, vip.ref)) return 'missing';
  return service === null || isLeftClaimed(vip, service) || driftOf(service, clone).length > 0 ? 'drifted' : 'current';
}

/** The Service has the claim of a migration that never began and is no longer requested: a delayed write arrived. The job that makes the copy current removes it. */
const isLeftClaimed = ({ ref, asked, status }: VirtualIP, { annotations }: ServiceObject): boolean =>
  annotations[MIGRATING_ANNOTATION] === ref.name && !asked && !status.state.startsWith('Migrating: ');

function ownerOf({ ref, service }: VirtualIP, ip: ReservedIP | null): Surroundings['owner'] {
  if (ip === null) return null;
  const isNamed = (name: string): boolean => ip.owner?.namespace === ref.namespace && ip.owner.name === name;
  if (ip.legacy) return isNamed(ref.name) ? 'VirtualIP' : 'other';
  return isNamed(service) ? 'Service' : 'other';
}
