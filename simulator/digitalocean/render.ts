import { heldBy } from './addresses.ts';
import { diskInfo, imageObject, regionObject, sizeObject } from './catalogue.ts';
import type { Cloud } from './cloud.ts';
import type { Action, Droplet, ReservedIP } from './model.ts';

/** ISO 8601 in whole seconds, as the API writes times. */
export const isoTime = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

export function renderDroplet(cloud: Cloud, droplet: Droplet): Record<string, unknown> {
  const regions = [...cloud.regions];
  const addresses = [
    { ip_address: droplet.privateIPv4, netmask: '255.255.0.0', gateway: 'nil', type: 'private' },
    { ip_address: droplet.publicIPv4, netmask: '255.255.240.0', gateway: droplet.publicIPv4.replace(/\d+$/, '1'), type: 'public' },
  ];
  const reserved = heldBy(cloud, droplet.id, 4);
  if (reserved !== undefined) {
    addresses.push({ ip_address: reserved.ip, netmask: '255.255.240.0', gateway: reserved.ip.replace(/\d+$/, '1'), type: 'public' });
  }
  return {
    id: droplet.id,
    name: droplet.name,
    memory: 4096,
    vcpus: 2,
    disk: 80,
    disk_info: diskInfo(),
    locked: false,
    status: cloud.now() >= droplet.activeAt ? 'active' : 'new',
    kernel: null,
    created_at: isoTime(droplet.createdAt),
    features: droplet.features,
    backup_ids: [],
    next_backup_window: null,
    snapshot_ids: [],
    image: imageObject(droplet.image, regions),
    volume_ids: [],
    size: sizeObject(droplet.size, regions),
    size_slug: droplet.size,
    networks: { v4: addresses, v6: networksIPv6(cloud, droplet) },
    region: regionObject(droplet.region),
    tags: droplet.tags,
    vpc_uuid: `00000000-0000-4000-8000-${droplet.region.padStart(12, '0').replace(/[^0-9a-f]/g, '0')}`,
  };
}

/** A reserved IPv6 stands among the droplet's own networks, with netmask 0. */
function networksIPv6(cloud: Cloud, { id, publicIPv6 }: Droplet): readonly Record<string, unknown>[] {
  const gateway = '2001:db8:d::1';
  const own = publicIPv6 === null ? [] : [{ ip_address: publicIPv6, netmask: 64, gateway, type: 'public' }];
  const reserved = heldBy(cloud, id, 6);
  return reserved === undefined ? own : [...own, { ip_address: reserved.ip, netmask: 0, gateway, type: 'public' }];
}

/** What a read shows of an address besides what never changes. */
export interface AddressView {
  readonly dropletId: number | null;
  readonly locked: boolean;
}

export const present = (address: ReservedIP): AddressView => ({
  dropletId: address.dropletId,
  locked: address.pendingActionId !== null,
});

function holderObject(cloud: Cloud, view: AddressView): Record<string, unknown> | null {
  const holder = view.dropletId === null ? undefined : cloud.droplets.get(view.dropletId);
  return holder === undefined ? null : renderDroplet(cloud, holder);
}

export function renderReservedIP(cloud: Cloud, address: ReservedIP, view: AddressView): Record<string, unknown> {
  return {
    ip: address.ip,
    droplet: holderObject(cloud, view),
    region: regionObject(address.region),
    locked: view.locked,
    project_id: address.projectId,
  };
}

export function renderReservedIPv6(cloud: Cloud, address: ReservedIP, view: AddressView): Record<string, unknown> {
  return {
    ip: address.ip,
    region_slug: address.region,
    reserved_at: isoTime(address.createdAt),
    droplet: holderObject(cloud, view),
  };
}

export function renderAction(action: Action, resourceType: string = action.resourceType): Record<string, unknown> {
  return {
    id: action.id,
    status: action.status,
    type: action.type,
    started_at: isoTime(action.startedAt),
    completed_at: action.completedAt === null ? null : isoTime(action.completedAt),
    resource_id: action.resourceId,
    resource_type: resourceType,
    region: regionObject(action.region),
    region_slug: action.region,
  };
}
