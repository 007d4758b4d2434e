import type { MemoryVipCluster } from '../../../adapters/memory/vip-cluster.ts';
import type { StoredService } from '../../../adapters/memory/vip-world.ts';
import { STATES } from '../../../machines/migration/phase.ts';
import { cloneName, MIGRATING_ANNOTATION, type VirtualIP } from '../../../machines/vip/virtualip.ts';
import { wrongVips } from './vips-end.ts';

const CLONE = /-keepalived-clone$/;

/** What is not as it must be once everything has come to rest, and every Service that a VirtualIP names is there. */
export function wrongVirtualIPs(cluster: MemoryVipCluster): readonly string[] {
  const services = cluster.services();
  const vips = cluster.virtualIPs.all();
  return [
    ...vips.flatMap((vip) => wrongsOf(vip, cluster)),
    ...services
      .filter(({ ref }) => CLONE.test(ref.name) && !vips.some((vip) => hasClone(vip, ref.name)))
      .map(({ ref }) => `${ref.name} is left`),
    ...services.flatMap((service) => wrongMark(service, vips)),
    ...cluster
      .ips()
      .filter(({ legacy, owner, address }) => legacy && !vips.some(({ ref, status }) => ref.name === owner?.name && status.ip === address))
      .map(({ address, owner }) => `${address} is left of ${owner?.name}`),
    ...wrongVips({ services, ips: cluster.ips(), groups: cluster.groups() }),
  ];
}

const hasClone = ({ ref, status }: VirtualIP, name: string): boolean => status.state !== STATES.migrated && cloneName(ref) === name;

function wrongMark({ ref, more }: StoredService, vips: readonly VirtualIP[]): readonly string[] {
  const marked = more?.annotations?.[MIGRATING_ANNOTATION];
  if (marked === undefined) return [];
  const vip = vips.find((each) => each.ref.name === marked);
  return vip?.status.state.startsWith('Migrating')
    ? []
    : [`${ref.name} says that ${marked} is being migrated to it, which is ${vip?.status.state}`];
}

function wrongsOf(vip: VirtualIP, cluster: MemoryVipCluster): readonly string[] {
  const { ref, deleting, asked, status, service } = vip;
  const about = `${ref.name} says ${status.state}, ${status.message}`;
  if (deleting) return [`${about}, and is being deleted still`];
  if (status.state === STATES.migrated) return wrongMigrated(vip, cluster).map((text) => `${about}${text}`);
  if (asked && !isBlocked(vip, cluster)) return [about];
  if (isUnavailable(vip, cluster)) return status.state === 'Error' ? [] : [`${about}, and its address is another’s`];
  // The Service may have got its address when the claim had been taken: until its own is handed over the VirtualIP serves as before.
  const wanted = asked ? [STATES.preparing, STATES.reassociating] : [STATES.valid];
  return [
    ...(wanted.includes(status.state) ? [] : [`${about}, not ${wanted.join(' or ')}`]),
    ...(status.service === service ? [] : [`${about}, and exposes ${status.service}, not ${service}`]),
    ...wrongServing(vip, cluster),
  ];
}

function wrongMigrated({ ref, finalizers, status, service }: VirtualIP, cluster: MemoryVipCluster): readonly string[] {
  return [
    ...(finalizers.length > 0 ? [`, and bears ${finalizers}`] : []),
    ...(cluster.service('default', cloneName(ref)) ? [', and has a copy still'] : []),
    ...(status.service === service ? [] : [` to ${status.service}, not ${service}`]),
  ];
}

function wrongServing({ ref, status }: VirtualIP, cluster: MemoryVipCluster): readonly string[] {
  const externals = cluster.service('default', cloneName(ref))?.more?.spec?.externalIPs;
  const ip = cluster.ips().find(({ address }) => address === status.ip);
  return [
    ...(Array.isArray(externals) && externals.join() === status.ip ? [] : [`the copy of ${ref.name} has ${externals}, not ${status.ip}`]),
    ...(ip?.legacy && ip.owner?.name === ref.name ? [] : [`${status.ip} of ${ref.name} is ${ip?.owner?.name ?? 'nobody'}’s`]),
  ];
}

/** The Service has an address of its own, or is going to have that of another VirtualIP. One that it says is being migrated to it is not hindered by any other address. */
function isBlocked({ ref, status }: VirtualIP, cluster: MemoryVipCluster): boolean {
  const service = cluster.service('default', status.service);
  const marked = service?.more?.annotations?.[MIGRATING_ANNOTATION];
  if (marked !== undefined) return marked !== ref.name;
  return service?.type === 'LoadBalancer' || service?.ingress.length !== 0;
}

/** It asks for an address that somebody else has. */
function isUnavailable({ ref, ip }: VirtualIP, cluster: MemoryVipCluster): boolean {
  const found = cluster.ips().find(({ address }) => address === ip);
  return found !== undefined && !(found.legacy && found.owner?.name === ref.name);
}
