import { parseAddress } from '../model/address.ts';
import type { ReservedIP, VipService } from '../vip/objects.ts';
import type { VirtualIP } from '../vip/virtualip.ts';
import { isOver } from './phase.ts';

/** The IP belongs or will belong to the Service, and its VirtualIP is not migrated yet: whatever the Service looks like meanwhile, the IP is not freed.
 *  @param marked the VirtualIP that the Service names as being migrated to it
 *  @param vips all VirtualIPs; null when they cannot be read: then the Service is believed */
export function isPromised(ip: ReservedIP, marked: string | null, vips: readonly VirtualIP[] | null): boolean {
  const { owner } = ip;
  if (owner === null) return false;
  if (vips === null) return marked !== null;
  return vips.some((vip) => {
    const { ref, status } = vip;
    if (ref.namespace !== owner.namespace || isOver(vip)) return false;
    const isNamed = ref.name === marked;
    return status.ip === '' ? isNamed : (isNamed || status.service === owner.name) && mayNeed(vip, ip);
  });
}

/** The VirtualIP may serve with this address: one that does not know its own yet may have been given any. */
export const mayNeed = ({ status }: VirtualIP, { address }: ReservedIP): boolean => status.ip === '' || parseAddress(status.ip) === address;

/** An existing VirtualIP is being migrated to the Service, or the Service lists an address that still appears as that VirtualIP's: the outcome is not known yet, and the
 *  Service gets no other address meanwhile. `ipOf` is the observed IP of an address.
 *  @param vips all VirtualIPs; null when they are not observed: then the Service is believed */
export function isReceiving(
  { ref, migrating, ingress }: VipService,
  vips: readonly VirtualIP[] | null,
  ipOf: (address: string) => ReservedIP | null,
): boolean {
  if (vips === null) return migrating !== undefined;
  const own = vips.filter((vip) => vip.ref.namespace === ref.namespace);
  const isNamed = own.some((vip) => vip.ref.name === migrating && !isOver(vip));
  return isNamed || ingress.some(({ ip }) => isOfOne(own, ref.name, ip === null ? null : ipOf(ip)));
}

const isOfOne = (vips: readonly VirtualIP[], service: string, ip: ReservedIP | null): boolean =>
  ip?.legacy === true && vips.some((vip) => vip.status.service === service && vip.ref.name === ip.owner?.name);
