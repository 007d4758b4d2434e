import { parseAddress } from '../model/address.ts';
import type { ReservedIP } from '../vip/objects.ts';
import { cloneName, MIGRATING_ANNOTATION, type ServiceObject, type Surroundings, type VirtualIP } from '../vip/virtualip.ts';
import { groupContaining, type SegmentObject } from './group-segment-mapping.ts';
import { driftOf, isCloneOf } from './service-clone.ts';

/** What is seen of the cluster around a VirtualIP. */
export interface SeenAround {
  /** The Service that its spec names. */
  readonly service: ServiceObject | null;
  /** The Service of the name that `cloneOfVirtualIP` gives. */
  readonly clone: ServiceObject | null;
  /** The IP of its address. */
  readonly ip: ReservedIP | null;
  readonly groups: readonly SegmentObject[];
}

/** The name of its copy: as its status says, else as it is to be called. */
export const cloneOfVirtualIP = ({ ref, status }: VirtualIP): string => status.clonedService || cloneName(ref);

/** What a VirtualIP is told of the cluster. */
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

/** A copy of what is not there is like nothing: that it is to be made again tells its user why it cannot be. */
function cloneState(vip: VirtualIP, service: ServiceObject | null, clone: ServiceObject | null): Surroundings['clone'] {
  if (clone === null || !isCloneOf(clone, vip.ref)) return 'missing';
  return service === null || isLeftClaimed(vip, service) || driftOf(service, clone).length > 0 ? 'drifted' : 'current';
}

/** The Service bears the claim of a migration that was never begun and is asked for no more: a write that was on its way came late. Whoever makes the copy current takes it off. */
const isLeftClaimed = ({ ref, asked, status }: VirtualIP, { annotations }: ServiceObject): boolean =>
  annotations[MIGRATING_ANNOTATION] === ref.name && !asked && !status.state.startsWith('Migrating: ');

function ownerOf({ ref, service }: VirtualIP, ip: ReservedIP | null): Surroundings['owner'] {
  if (ip === null) return null;
  const isNamed = (name: string): boolean => ip.owner?.namespace === ref.namespace && ip.owner.name === name;
  if (ip.legacy) return isNamed(ref.name) ? 'VirtualIP' : 'other';
  return isNamed(service) ? 'Service' : 'other';
}
